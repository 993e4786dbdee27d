// Numbers of tokens in answers of other servers, in their usual shapes, however they come.
#include "backends/external/answer_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::backends {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers told(const std::string& text, bool events, std::size_t step) {
  AnswerUsage usage(events);
  for (std::size_t at = 0; at < text.size(); at += step) usage.feed(std::string_view(text).substr(at, step));
  const auto tokens = usage.tokens();
  return {tokens.input, tokens.output, tokens.cached};
}

TEST(AnswerUsage, IsReadOfWholeAnswers) {
  const std::string usage = R"("usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10})";
  const std::string vector = "[" + std::string(100'000, '1') + "]";
  for (const std::size_t step : {1u, 7u, 1'000'000u}) {
    EXPECT_EQ(told("{\"choices\":[]," + usage + "}", false, step), (Numbers{7, 3, 0}));
    EXPECT_EQ(told("{" + usage + ",\"data\":" + vector + "}", false, step), (Numbers{7, 3, 0}));
    EXPECT_EQ(told("{\"data\":" + vector + "," + usage + "}", false, step), (Numbers{7, 3, 0}));
    EXPECT_EQ(told(R"({"usage":{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":4}}})",
                   false, step),
              (Numbers{5, 1, 4}));
    EXPECT_EQ(told(R"({"timings":{"cache_n":4,"prompt_n":5,"predicted_n":6,"predicted_per_second":1.5}})", false, step),
              (Numbers{9, 6, 4}));
    EXPECT_EQ(told(R"({"text":"\"usage\":{\"prompt_tokens\":1}"})", false, step), (Numbers{0, 0, 0}));
    EXPECT_EQ(told(R"({"usage":{"prompt_tokens":-1,"completion_tokens":"x"}})", false, step), (Numbers{0, 0, 0}));
    EXPECT_EQ(told(R"({"usage":null})", false, step), (Numbers{0, 0, 0}));
    EXPECT_EQ(told(R"({"usage":{"prompt_tokens":1)", false, step), (Numbers{0, 0, 0}));
  }
}

TEST(AnswerUsage, IsReadOfStreamsAndElseTheirTextsAreCounted) {
  const std::string texts =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"usage\":null}\n\n"
      "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}],\"usage\":null}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\": \"a\"}}],\"usage\":null}\n\n"
      ": ping\n\n"
      "data: {\"choices\":[{\"text\":\"b\"}]}\n\n";
  const std::string end = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n";
  for (const std::size_t step : {1u, 7u, 1'000'000u}) {
    EXPECT_EQ(told(texts + "data: [DONE]\n\n", true, step), (Numbers{0, 3, 0}));
    EXPECT_EQ(told(texts + end + "data: [DONE]\n\n", true, step), (Numbers{7, 9, 0}));
  }
}

}  // namespace
}  // namespace corral::backends
