// whisper.cpp's files among others that are called .bin.
#include "models/gguf/whisper_facts.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/registry.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

std::vector<std::byte> whisper_file(std::vector<std::uint32_t> head, std::size_t size) {
  std::vector<std::byte> bytes(std::max(size, head.size() * 4));
  std::memcpy(bytes.data(), head.data(), head.size() * 4);
  return bytes;
}

// Of whisper's base.en.
const std::vector<std::uint32_t> kBase = {0x67676d6c, 51864, 1500, 512, 8, 6, 448, 512, 8, 6, 80, 1};

Result<GgufFacts> facts_of(const std::vector<std::byte>& bytes) {
  const auto source = memory_source(bytes);
  return read_whisper_facts(*source);
}

TEST(WhisperFacts, AWhisperFileTranscribes) {
  const auto facts = facts_of(whisper_file(kBase, 51864 * 512));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kind, FileKind::model);
  EXPECT_EQ(facts->type, ModelType::transcription);
  EXPECT_EQ(facts->recipe, "whispercpp");
  EXPECT_EQ(facts->traits.architecture, "whisper");
  EXPECT_EQ(facts->traits.quantisation, "F16");
  EXPECT_EQ(facts->traits.layers, 6u);
  auto multilingual = kBase;
  multilingual[1] = 51866;
  multilingual[11] = 2007;  // Q8_0 of the second version
  const auto large = facts_of(whisper_file(multilingual, 51866 * 512));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->traits.quantisation, "Q8_0");
}

TEST(WhisperFacts, OtherFilesAreNobodysFault) {
  for (std::size_t field = 0; field < kBase.size() - 1; ++field) {
    for (const std::uint32_t value : {0u, 0xffffffffu}) {
      auto head = kBase;
      head[field] = value;
      const auto facts = facts_of(whisper_file(head, 51864 * 512));
      ASSERT_TRUE(facts) << field;
      EXPECT_EQ(facts->kind, FileKind::other) << field;
    }
  }
  for (const std::size_t size : {0u, 3u, 4u, 47u}) {
    const auto whole = whisper_file(kBase, 48);
    const auto facts = facts_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->kind, FileKind::other) << size;
  }
}

TEST(WhisperFacts, ADownloadThatBrokeOffIsTold) {
  const auto facts = facts_of(whisper_file(kBase, 100'000));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, errc::truncated);
}

TEST(WhisperFacts, TheRegistryListsThemBesideGgufFiles) {
  const TempDir dir;
  GgufWriter::model("llama").save(dir / "chat.gguf");
  const auto save = [&](const char* name, const std::vector<std::byte>& bytes) {
    std::ofstream(dir / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  save("ggml-base.en.bin", whisper_file(kBase, 51864 * 512));
  save("ggml-broken.bin", whisper_file(kBase, 1000));
  save("pytorch_model.bin", {std::byte{'P'}, std::byte{'K'}});
  Registry registry({.models_dirs = {dir.path()}, .hub_cache = {}});
  const auto catalog = registry.rescan();
  ASSERT_EQ(catalog->models().size(), 2u);
  const auto found = catalog->find("ggml-base.en");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->recipe, "whispercpp");
  EXPECT_EQ((*found)->type, ModelType::transcription);
  EXPECT_THAT((*found)->labels, testing::ElementsAre("transcription"));
  EXPECT_EQ(*catalog->find("whisper-base.en"), *found) << "what people call it";
  ASSERT_EQ(catalog->problems().size(), 1u);
  EXPECT_THAT(catalog->problems()[0].cause.message, testing::HasSubstr("ggml-broken.bin"));
  EXPECT_THAT(catalog->not_models(), testing::IsEmpty()) << "files of other programs aren't spoken of";
}

}  // namespace
}  // namespace corral::models
