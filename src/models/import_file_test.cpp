#include "models/import_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

class ImportFile : public testing::Test {
 protected:
  ImportFile() { GgufWriter::model("llama").save(dir_ / "x.gguf"); }
  const TempDir dir_;
};

TEST_F(ImportFile, ALinkTakesNoRoom) {
  const auto model = import_file({.file = dir_ / "x.gguf", .folder = dir_ / "own"});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->name, "x");
  EXPECT_TRUE(model->linked);
  EXPECT_TRUE(fs::equivalent(dir_ / "x.gguf", model->files.front()));
  // Once more it is the same.
  EXPECT_TRUE(import_file({.file = dir_ / "x.gguf", .folder = dir_ / "own"}));
}

TEST_F(ImportFile, ACopyIsAnotherFile) {
  std::uint64_t reported = 0;
  const auto model = import_file({.file = dir_ / "x.gguf", .folder = dir_ / "own", .name = "y", .copy = true},
                                 [&](std::uint64_t done, std::uint64_t) {
                                   reported = done;
                                   return true;
                                 });
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->files.front(), dir_ / "own/y.gguf");
  EXPECT_FALSE(fs::equivalent(dir_ / "x.gguf", model->files.front()));
  EXPECT_EQ(reported, model->bytes);
  EXPECT_EQ(fs::file_size(model->files.front()), fs::file_size(dir_ / "x.gguf"));
}

TEST_F(ImportFile, ACopyThatEndsLeavesNothing) {
  const ImportRequest request{.file = dir_ / "x.gguf", .folder = dir_ / "own", .name = {}, .copy = true};
  const auto model = import_file(request, [](std::uint64_t, std::uint64_t) { return false; });
  ASSERT_FALSE(model);
  EXPECT_TRUE(fs::is_empty(dir_ / "own"));
}

TEST_F(ImportFile, WhatIsNoModelOrTakenIsRefused) {
  std::ofstream(dir_ / "text.gguf") << "no model";
  EXPECT_EQ(import_file({.file = dir_ / "text.gguf", .folder = dir_ / "own"}).error().code, errc::not_gguf);
  EXPECT_EQ(import_file({.file = dir_ / "no.gguf", .folder = dir_ / "own"}).error().code, errc::file_not_found);
  EXPECT_EQ(import_file({.file = dir_ / "x.gguf", .folder = dir_ / "own", .name = "../y"}).error().code,
            errc::malformed);
  GgufWriter::model("qwen3").save(dir_ / "own/x.gguf");
  EXPECT_EQ(import_file({.file = dir_ / "x.gguf", .folder = dir_ / "own"}).error().code, errc::name_in_use);
  GgufWriter::model("llama").save(dir_ / "big-00001-of-00002.gguf");
  EXPECT_EQ(import_file({.file = dir_ / "big-00001-of-00002.gguf", .folder = dir_ / "own"}).error().code,
            errc::missing_shard);
}

TEST_F(ImportFile, AllPartsOfASetCome) {
  GgufWriter::model("llama").save(dir_ / "big-00001-of-00002.gguf");
  GgufWriter::model("llama").save(dir_ / "big-00002-of-00002.gguf");
  const auto model = import_file({.file = dir_ / "big-00002-of-00002.gguf", .folder = dir_ / "own", .name = "huge"});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->files.front(), dir_ / "own/huge-00001-of-00002.gguf");
  EXPECT_TRUE(fs::exists(dir_ / "own/huge-00002-of-00002.gguf"));
}

}  // namespace
}  // namespace corral::models
