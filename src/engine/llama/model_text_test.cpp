// Texts that have no token list, or a longer one than the text. (Ordinary ones: Text.* in limits_test.cpp.)
#include <fmt/core.h>
#include <sys/mman.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

// A copy of tiny-llama whose vocabulary is taken for a SentencePiece one, in which text is spelled with "▁" for a
// space. It has no such token; where `bytes`, each single byte is one.
std::string with_pieces(const std::string& suffix, bool bytes) {
  return with_meta("tiny-llama", suffix, [bytes](gguf_context* to) {
    const char* const kTokens = "tokenizer.ggml.tokens";
    gguf_set_val_str(to, "tokenizer.ggml.model", "llama");
    gguf_set_val_bool(to, "tokenizer.ggml.add_space_prefix", false);
    if (!bytes) return;
    const std::int64_t key = gguf_find_key(to, kTokens);
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < gguf_get_arr_n(to, key); ++i) tokens.emplace_back(gguf_get_arr_str(to, key, i));
    for (std::uint32_t byte = 0; byte < 256; ++byte) tokens[600 + byte] = fmt::format("<0x{:02X}>", byte);
    std::vector<const char*> texts;
    for (const std::string& token : tokens) texts.push_back(token.c_str());
    gguf_set_arr_str(to, kTokens, texts.data(), texts.size());
  });
}

// libllama threw, and so did the engine.
TEST(ModelText, WhatTheVocabularyCannotSpellIsAnError) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_pieces("no-bytes", false);
  const auto service = load(options);
  const SessionId session = *service->create_session();
  for (const std::string text : {"two words", "\xE4\xBD\xA0", "\x01"}) {
    const auto tokens = service->tokenize(text, true, true);
    const auto appended = service->append_input(session, text);
    ASSERT_TRUE(!tokens && !appended) << text;
    EXPECT_EQ(tokens.error().code, errc::tokenize_failed);
    EXPECT_EQ(appended.error().code, errc::tokenize_failed);
    EXPECT_NE(tokens.error().message.find(std::to_string(text.size()) + " bytes"), std::string::npos);
  }
  EXPECT_TRUE(service->append_input(session, "words"));
  EXPECT_EQ(generate(*service, session, endless(5)).finish.usage.prompt_tokens,
            service->tokenize("words", false, false)->size());
}

// The exception left the session busy for good.
TEST(ModelText, BreakersTheVocabularyCannotSpellAreRefused) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_pieces("breakers", false);
  const auto service = load(options);
  const SessionId session = session_with(*service, "words");
  GenerateOptions dry = endless(5);
  dry.sampling.dry_multiplier = 1;
  dry.sampling.dry_sequence_breakers = {"d b"};  // behind a token that ends in "d" comes what can't be spelled
  const auto refused = service->generate_stream(session, dry);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_EQ(refused.error().param, "dry_sequence_breakers");
  EXPECT_EQ(generate(*service, session, endless(5)).tokens.size(), 5u);
}

TEST(ModelText, MayHaveMoreTokensThanBytes) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_pieces("bytes", true);
  const auto service = load(options);
  const auto tokens = service->tokenize(std::string(40, ' '), false, false);
  ASSERT_TRUE(tokens);
  std::vector<Token> expected;  // "▁" byte by byte
  for (int i = 0; i < 40; ++i) expected = expected + std::vector<Token>{600 + 0xE2, 600 + 0x96, 600 + 0x81};
  EXPECT_EQ(*tokens, expected);
}

// Nothing is there to be read: its length alone decides.
TEST(ModelText, TooLongATextIsAnError) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  void* const nothing = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  const auto service = load(load_options("tiny-llama"));
  const auto failed = service->tokenize({static_cast<const char*>(nothing), kBytes}, true, false);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::tokenize_failed);
  EXPECT_NE(failed.error().message.find(std::to_string(kBytes - 1)), std::string::npos) << "the limit";
  munmap(nothing, kBytes);
}

}  // namespace
}  // namespace corral::engine::test
