// A user's own table of known models, in a folder that its destructor removes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace corral::cli {

class KnownForTests {
 public:
  explicit KnownForTests(const std::string& rows)
      : home_(std::filesystem::path(testing::TempDir()) /
              ("corral-known-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::create_directories(home_ / "corral");
    std::ofstream(home_ / "corral/known-models.toml") << "only_these = true\n" << rows;
  }
  ~KnownForTests() { std::filesystem::remove_all(home_); }
  KnownForTests(const KnownForTests&) = delete;
  KnownForTests& operator=(const KnownForTests&) = delete;

  // For XDG_CONFIG_HOME.
  std::string home() const { return home_.native(); }

  static std::string row(const std::string& name, const std::string& repository, const std::string& quantisation,
                         const std::string& parameters, const std::string& label = "chat") {
    return "[[model]]\nname = \"" + name + "\"\ntype = \"llm\"\nlabels = [\"" + label + "\"]\nrepository = \"" +
           repository + "\"\nquantisation = \"" + quantisation + "\"\nparameters = " + parameters +
           "\nlicence = \"mit\"\n";
  }

 private:
  const std::filesystem::path home_;
};

}  // namespace corral::cli
