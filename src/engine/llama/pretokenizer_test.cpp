// Texts whose pre-tokenizer takes more stack than a thread has, or time that grows with the square of a run.
#include "engine/llama/pretokenizer.h"

#include <gmock/gmock.h>

#include "base/large_stack.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::unique_ptr<InferenceEngine> load_with(const std::string& pre) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path =
      with_meta("tiny-llama", pre, [&](gguf_context* to) { gguf_set_val_str(to, "tokenizer.ggml.pre", pre.c_str()); });
  return load(options);
}

// One run of 50,000 took more than the 8 MiB of an ordinary thread, which ended the process.
TEST(Pretokenizer, ALongRunBecomesTokens) {
  for (const std::string pre : {"gpt-4o", "deepseek-v3", "tekken", "exaone-moe", "falcon"}) {
    const auto service = load_with(pre);
    for (const std::string_view one : {"A", " ", "-", "漢"}) {
      const auto text = repeated(one, 60'000);
      const auto tokens = service->tokenize(text, false, false);
      ASSERT_TRUE(tokens) << pre << " '" << one << "' " << tokens.error().message;
      EXPECT_EQ(service->detokenize(*tokens, false), text) << pre;
    }
  }
}

TEST(Pretokenizer, AMillionOfOneLetterBecomeTokens) {
  const auto service = load_with("gpt-4o");
  const std::string text(1'000'000, 'A');
  const auto tokens = service->tokenize(text, false, false);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(service->detokenize(*tokens, false), text);
}

TEST(Pretokenizer, RunsThatTakeTheSquareOfTheirLengthAreRefused) {
  struct Row {
    std::string pre, text;
    std::string_view message;  // empty: it becomes tokens
  };
  const Row rows[] = {
      {"superbpe", std::string(20'000, '7'), "a run of 20000 digits"},
      {"superbpe", repeated(std::string(1000, '7') + "x", 200), "a run of 1000 digits"},
      {"superbpe", std::string(1000, '7'), {}},
      {"superbpe", repeated("1764183600 ", 20'000), {}},
      {"superbpe", std::string(20'000, 'A') + std::string(20'000, ' '), {}},
      {"deepseek-llm", std::string(20'000, ' ') + "1", "a run of 20000 spaces"},
      {"deepseek-llm", repeated("\u3000", 20'000) + "1", "a run of 20000 spaces"},
      {"deepseek-llm", std::string(20'000, '7'), {}},
      {"jais-2", std::string(150'000, ' ') + "1", "a run of 150000 spaces"},
      {"jais-2", std::string(20'000, ' ') + "1", {}},
      {"gpt-4o", std::string(20'000, '7'), {}},
  };
  for (const auto& row : rows) {
    const auto tokens = load_with(row.pre)->tokenize(row.text, false, false);
    ASSERT_EQ(tokens.has_value(), row.message.empty()) << row.pre << ' ' << row.text.size();
    if (tokens) continue;
    EXPECT_EQ(tokens.error().code, errc::input_too_long);
    EXPECT_THAT(tokens.error().message, HasSubstr(row.message));
    EXPECT_LT(tokens.error().message.size(), 300u);
  }
}

TEST(Pretokenizer, AStretchEndsWithALineThatALetterFollows) {
  EXPECT_EQ(longest_stretch(""), 0u);
  EXPECT_EQ(longest_stretch("abc"), 3u);
  EXPECT_EQ(longest_stretch("abc\nde"), 4u);
  EXPECT_EQ(longest_stretch("a\nbcde"), 4u);
  EXPECT_EQ(longest_stretch("a\n\n\n b"), 6u) << "spaces go on over lines";
  EXPECT_EQ(longest_stretch("!\n/\n/\nb"), 6u) << "and slashes behind lines, for some";
  EXPECT_EQ(longest_stretch("a\n\u00a0b"), 5u) << "so may spaces that are not ASCII";
}

TEST(Pretokenizer, StackFollowsTheStretchAndNotTheText) {
  const Pretokenizer one("gpt-4o");
  EXPECT_EQ(*one.stack_for("short"), kOrdinaryStack);
  EXPECT_EQ(*one.stack_for(repeated("a line\n", 1'000'000)), kOrdinaryStack);
  EXPECT_GE(*one.stack_for(std::string(1'000'000, 'A')), 350'000'000u);
  EXPECT_EQ(*Pretokenizer().stack_for(std::string(1'000'000, 'A')), kOrdinaryStack) << "reads without std::regex";
  const auto refused = one.stack_for(std::string((2 << 20) + 1, 'A'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::input_too_long);
  EXPECT_THAT(refused.error().message, HasSubstr("2097153 bytes"));
}

}  // namespace
}  // namespace corral::engine::test
