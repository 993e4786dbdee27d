// A temporary home directory and an environment for tests; the destructor removes the directory.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "config/load.h"

namespace corral::config {

class HomeForTests : public testing::Test {
 protected:
  HomeForTests() {
    std::filesystem::remove_all(home_);
    std::filesystem::create_directories(home_ / ".config/corral");
    variables_["HOME"] = home_.string();
    inputs_.environment = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  ~HomeForTests() override { std::filesystem::remove_all(home_); }

  void write_file(const std::string& text) const { std::ofstream(home_ / ".config/corral/config.toml") << text; }

  const std::filesystem::path home_ = std::filesystem::path(testing::TempDir()) / ("corral-" + test_name());
  std::map<std::string, std::string, std::less<>> variables_;
  Inputs inputs_;

 private:
  static std::string test_name() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->test_suite_name()) + "-" + test->name();
  }
};

}  // namespace corral::config
