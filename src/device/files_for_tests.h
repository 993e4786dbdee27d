// A made-up /proc and /sys, gone with its object.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace corral::device {

class FilesForTests : public testing::Test {
 protected:
  FilesForTests() { std::filesystem::remove_all(root_); }
  ~FilesForTests() override { std::filesystem::remove_all(root_); }
  void write(const std::filesystem::path& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("corral-device-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace corral::device
