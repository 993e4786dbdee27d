// The generator itself: cuts, scripts, and that the files' bytes depend on nothing but version and seed.
#include <algorithm>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../byte_level.h"
#include "../manifest.h"
#include "../scripted.h"
#include "../version.h"
#include "../vocabulary.h"
#include "models_fixture.h"

namespace corral::test_models {
namespace {

// The digests of one version, seed 1. Other bytes? Then raise kGeneratorVersion (version.h) and write the new value
// here.
constexpr int kDigestVersion = 8;
constexpr std::string_view kDigest = "4f3df2a570e5157cc046730e0f3eefc87c0199c34d4af44ea3dd8af7de3af9c502ccfc08b1858291";

const Vocabulary& qwen2() {
  static const Vocabulary kWhole =
      read_vocabulary(std::filesystem::path(CORRAL_VOCABULARIES) / "ggml-vocab-qwen2.gguf");
  return kWhole;
}

TEST(ByteLevel, SpellsEveryByteAndReadsItBack) {
  std::set<std::string> spellings;
  for (int b = 0; b < 256; ++b) {
    const std::string byte(1, static_cast<char>(b));
    const std::string spelling = token_spelling(byte);
    EXPECT_EQ(token_bytes(spelling), byte);
    spellings.insert(spelling);
  }
  EXPECT_EQ(spellings.size(), 256U);
  EXPECT_EQ(token_bytes("Ġthe"), " the");
  EXPECT_EQ(token_bytes("ðŁ"), "\xf0\x9f");
}

TEST(ByteLevel, PlainTextIsWholeUtf8WithoutControls) {
  for (const char* plain : {" the", "\n", "é", "你好", "🐎", "#include"}) EXPECT_TRUE(is_plain_text(plain)) << plain;
  for (const char* other : {"", "\t", "\n\n", "  ", "\xf0\x9f", "\x80", "a\r", "\xc0\xaf", "\xed\xa0\x80"}) {
    EXPECT_FALSE(is_plain_text(other)) << token_spelling(other);
  }
}

TEST(Vocabulary, TheCutHasEveryByteAndOnlyMergesThatStayInside) {
  const Vocabulary cut = cut_bpe(qwen2());
  EXPECT_EQ(cut.size() % 32, 0);
  const std::set<std::string> inside(cut.tokens.begin(), cut.tokens.end());
  EXPECT_EQ(inside.size(), cut.tokens.size()) << "a token occurs twice";
  for (int b = 0; b < 256; ++b) EXPECT_TRUE(inside.contains(token_spelling(std::string(1, static_cast<char>(b)))));
  for (const std::string& merge : cut.merges) {
    const std::size_t space = merge.find(' ', 1);
    EXPECT_TRUE(inside.contains(merge.substr(0, space) + merge.substr(space + 1))) << merge;
  }
  EXPECT_EQ(cut.types[static_cast<std::size_t>(cut.id("<|im_end|>"))], kControl);
  EXPECT_EQ(cut.types[static_cast<std::size_t>(cut.id("<tool_call>"))], kUserDefined);
}

TEST(Vocabulary, ExtraTokensBringTheirMerges) {
  const Vocabulary cut = cut_bpe(qwen2(), {"Ġscripted"});
  EXPECT_GT(cut.id("Ġscripted"), 0);
  EXPECT_THAT(cut.merges, testing::Contains("Ġscript ed"));
}

TEST(Script, UsesNoTokenTwice) {
  std::vector<std::string> used;
  const auto tokens = cut_script("so so so", false, qwen2(), used);
  std::string text;
  for (const std::string& token : tokens) text += token_bytes(token);
  EXPECT_EQ(text, "so so so");
  EXPECT_EQ(std::set(tokens.begin(), tokens.end()).size(), tokens.size());
  EXPECT_EQ(used, tokens);
}

TEST(Script, SplitsCharactersWhenAsked) {
  std::vector<std::string> used;
  const auto tokens = cut_script("你好 🐎", true, qwen2(), used);
  const auto fragments =
      std::ranges::count_if(tokens, [](const std::string& t) { return !is_plain_text(token_bytes(t)); });
  EXPECT_GE(fragments, 6);
}

TEST(Script, RefusesWhatDistinctTokensCannotSpell) {
  std::vector<std::string> used;
  EXPECT_THROW(cut_script(std::string(12, '~') + "\x01\x01\x01\x01", false, qwen2(), used), std::runtime_error);
}

TEST(Generator, SameSeedSameBytesOtherSeedOthers) {
  const TemporaryFolder again;
  const TemporaryFolder other;
  make_into(again.path(), 1);
  make_into(other.path(), 2);
  for (const auto& entry : read_manifest(shared_models()).at("models").as_array()) {
    const std::string file(entry.at("file").as_string());
    const std::string bytes = read_file(shared_models() / file);
    EXPECT_EQ(bytes, read_file(again.path() / file)) << file;
    EXPECT_NE(bytes, read_file(other.path() / file)) << file;
    EXPECT_LT(bytes.size(), 1000000U) << file;
    EXPECT_EQ(bytes.size(), entry.at("size").to_number<std::size_t>());
  }
}

TEST(Generator, TheVersionChangesWithTheBytes) {
  std::string digests;
  for (const auto& entry : read_manifest(shared_models()).at("models").as_array()) {
    digests += std::string(entry.at("sha256").as_string()).substr(0, 4);
  }
  EXPECT_EQ(kDigestVersion, kGeneratorVersion);
  EXPECT_EQ(digests, kDigest);
}

TEST(Generator, LeavesOtherFilesAloneAndNoWorkBehind) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "mine");
  make_into(folder.path(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "mine"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

}  // namespace
}  // namespace corral::test_models
