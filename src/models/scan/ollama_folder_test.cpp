#include "models/scan/ollama_folder.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gguf/gguf_test_writer.h"
#include "models/registry.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

class OllamaFolder : public testing::Test {
 protected:
  std::string blob(char digit, GgufWriter content) {
    const std::string hex(64, digit);
    content.save(dir_ / "blobs" / ("sha256-" + hex));
    return "sha256:" + hex;
  }
  void manifest(const std::string& place, const std::string& text) {
    const fs::path file = dir_ / "manifests" / place;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static std::string layer(std::string_view kind, const std::string& digest) {
    return fmt::format(R"({{"mediaType":"application/vnd.ollama.image.{}","digest":"{}"}})", kind, digest);
  }
  std::shared_ptr<const Catalog> look() {
    RegistryOptions options;
    options.ollama_dirs = {dir_.path()};
    return scan(options, nullptr).catalog;
  }

  const TempDir dir_;
};

TEST_F(OllamaFolder, ModelsHaveTheNamesThatTheirProgramGivesThem) {
  const auto weights = blob('a', GgufWriter::model("llama"));
  const auto projector = blob('b', GgufWriter::model("clip").flag("clip.has_vision_encoder", true));
  manifest("registry.ollama.ai/library/llama3.2/1b",
           fmt::format(R"({{"layers":[{},{},{}]}})", layer("model", weights), layer("projector", projector),
                       layer("license", weights)));
  manifest("registry.ollama.ai/me/mine/latest",
           fmt::format(R"({{"layers":[{}]}})", layer("model", blob('c', GgufWriter::model("qwen3")))));
  const auto catalog = look();
  const auto model = catalog->find("llama3.2:1b");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->paths.front(), dir_ / ("blobs/sha256-" + std::string(64, 'a')));
  EXPECT_EQ((*model)->mmproj, dir_ / ("blobs/sha256-" + std::string(64, 'b')));
  EXPECT_TRUE(catalog->find("me/mine:latest"));
  EXPECT_EQ(catalog->models().size(), 2u);
}

TEST_F(OllamaFolder, TagsOfOneFileAreNamesOfOneModel) {
  const auto text = fmt::format(R"({{"layers":[{}]}})", layer("model", blob('a', GgufWriter::model("llama"))));
  manifest("registry.ollama.ai/library/x/1b", text);
  manifest("hf.co/org/repo/Q8_0", text);
  const auto catalog = look();
  EXPECT_EQ(catalog->models().size(), 1u);
  EXPECT_TRUE(catalog->find("x:1b"));
  EXPECT_TRUE(catalog->find("hf.co/org/repo:Q8_0"));
}

TEST_F(OllamaFolder, NoManifestLeadsOutOfTheFolder) {
  for (const std::string digest : {"sha256:../../etc/passwd", "sha256:", "md5:00", ""}) {
    const auto model = read_ollama_manifest(fmt::format(R"({{"layers":[{}]}})", layer("model", digest)), "/x");
    EXPECT_TRUE(model.weights.empty()) << digest;
  }
  for (const char* text : {"", "[", "[]", "{}", R"({"layers":7})", R"({"layers":[7,{}]})"})
    EXPECT_TRUE(read_ollama_manifest(text, "/x").weights.empty()) << text;
}

TEST_F(OllamaFolder, WhatIsMissingIsAProblemOfThatName) {
  manifest("registry.ollama.ai/library/gone/1b",
           fmt::format(R"({{"layers":[{}]}})", layer("model", "sha256:" + std::string(64, 'd'))));
  const auto found = look()->find("gone:1b");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace corral::models
