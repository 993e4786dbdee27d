#include "app/hub_model.h"

#include <fstream>

#include <gtest/gtest.h>

#include "models/gguf/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::app {
namespace {

class HubModelTest : public testing::Test {
 protected:
  HubModelTest() {
    std::filesystem::create_directories(snapshot_);
    std::filesystem::create_directories(repo_ / "refs");
    std::ofstream(repo_ / "refs/main") << "new";
  }
  std::filesystem::path add(const char* file) {
    models::GgufWriter::model("llama").text("general.name", file).save(snapshot_ / file);
    return snapshot_ / file;
  }

  const models::TempDir dir_;
  const std::filesystem::path repo_ = dir_ / "models--org--repo", snapshot_ = repo_ / "snapshots/new";
};

TEST_F(HubModelTest, IsFoundInTheCacheByItsName) {
  const auto file = add("x-Q8_0.gguf");
  add("x-Q4_K_M.gguf");
  const auto found = find_in_hub_cache(dir_.path(), "org/repo:Q8_0");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name, "org/repo:Q8_0");
  EXPECT_EQ(found->file, file);
}

TEST_F(HubModelTest, WithoutAQuantisationTheUsualOneThatIsThereIsMeant) {
  add("x-Q8_0.gguf");
  EXPECT_EQ(find_in_hub_cache(dir_.path(), "org/repo")->name, "org/repo:Q8_0");
  add("x-Q4_K_M.gguf");
  EXPECT_EQ(find_in_hub_cache(dir_.path(), "org/repo")->name, "org/repo:Q4_K_M");
}

TEST_F(HubModelTest, WhatIsNotThereIsNotFound) {
  add("x-Q8_0.gguf");
  for (const auto* name : {"org/repo:Q2_K", "org/other", "org"})
    EXPECT_FALSE(find_in_hub_cache(dir_.path(), name)) << name;
  EXPECT_FALSE(find_in_hub_cache(dir_ / "nowhere", "org/repo"));
}

}  // namespace
}  // namespace corral::app
