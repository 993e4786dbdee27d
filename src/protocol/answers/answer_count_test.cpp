#include "protocol/answers/answer_count.h"

#include <gtest/gtest.h>

#include "protocol/answers/chunks.h"

namespace corral::protocol {
namespace {

const AnswerHead kCountedHead{.id = "chatcmpl-1", .model = "m", .created = 1};
const Timings kTimings{.cache_n = 3, .prompt_n = 4, .predicted_n = 5};

std::string role(const Usage* usage = nullptr) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kCountedHead).role(text, usage);
  return text;
}
std::string delta(ChatDelta what) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kCountedHead).delta(text, what);
  return text;
}
std::string finish(const Timings* timings) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kCountedHead).finish(text, "stop", {}, timings);
  return text;
}

TEST(AnswerCount, PiecesAreWhatTheModelSays) {
  AnswerCount count;
  EXPECT_FALSE(count.feed(": ping\n\n"));
  EXPECT_FALSE(count.feed(role()));
  EXPECT_TRUE(count.feed(delta({.content = "a"}) + delta({.reasoning_content = "b"})));
  EXPECT_FALSE(count.feed(delta({.tool_index = 0, .tool = {.arguments = "{}"}})));
  count.feed(finish(nullptr) + "data: [DONE]\n\n");
  EXPECT_EQ(count.pieces(), 3u);
  EXPECT_EQ(count.tokens().output, 3u) << "of a stream that doesn't say";
  EXPECT_EQ(count.tokens().prompt, std::nullopt);
}

TEST(AnswerCount, TimingsOfAllAnswersCountTogether) {
  AnswerCount count;
  count.feed(role() + delta({.content = "a"}) + finish(&kTimings) + finish(&kTimings) + "data: [DONE]\n\n");
  EXPECT_EQ(count.tokens().prompt, 7u);
  EXPECT_EQ(count.tokens().cached, 3u);
  EXPECT_EQ(count.tokens().output, 10u);
}

TEST(AnswerCount, UsageCountsMoreThanTimings) {
  const Usage known{.prompt_tokens = 9}, usage{.prompt_tokens = 9, .cached_tokens = 2, .completion_tokens = 6};
  AnswerCount count;
  std::string last;
  ChunkWriter(ChunkWriter::Shape::chat, kCountedHead).usage(last, usage, &kTimings);
  count.feed(role(&known) + delta({.content = "a"}) + finish(&kTimings) + last);
  EXPECT_EQ(count.tokens().prompt, 9u);
  EXPECT_EQ(count.tokens().cached, 2u);
  EXPECT_EQ(count.tokens().output, 6u);
}

// Python's servers do, and some report the usage with the last text.
TEST(AnswerCount, SpacesAroundColonsChangeNothing) {
  AnswerCount stream;
  stream.feed("data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}], \"usage\": null}\n\n");
  EXPECT_EQ(stream.pieces(), 1u);
  EXPECT_EQ(stream.tokens().output, 1u);
  stream.feed(
      "data: {\"choices\": [{\"delta\": {\"content\": \"b\"}}], \"usage\": {\"prompt_tokens\": 7, "
      "\"completion_tokens\" : 5}}\n\n");
  EXPECT_EQ(stream.pieces(), 2u);
  EXPECT_EQ(stream.tokens().prompt, 7u);
  EXPECT_EQ(stream.tokens().output, 5u);
  AnswerCount whole;
  whole.whole("{\"choices\": [], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4}}");
  EXPECT_EQ(whole.tokens().prompt, 3u);
  EXPECT_EQ(whole.tokens().output, 4u);
}

// As llama-server, vLLM and others write them, in streams and in whole answers.
TEST(AnswerCount, NumbersOfOtherServers) {
  struct Row {
    std::string text;
    std::optional<std::uint64_t> prompt, cached, output;
    std::optional<double> per_second = {};
  };
  const Row rows[] = {
      {R"({"usage" :{"prompt_tokens":7,"total_tokens":10, "completion_tokens": 3}})", 7, {}, 3},
      {R"({"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens":1}})", 5, 4, 1},
      {R"({"timings":{"cache_n":4,"prompt_n":5,"predicted_n":6,"predicted_per_second":1.5}})", 9, 4, 6, 1.5},
      {R"({"usage":{"prompt_tokens":2,"completion_tokens":3},"timings":{"prompt_n":1,"predicted_per_second": 20}})",
       2,
       {},
       3,
       20},
      {R"({"usage":null,"timings":{"predicted_per_second":null}})", {}, {}, {}},
      {R"({"usage":{"prompt_tokens":-1,"completion_tokens":"x"}})", {}, {}, {}},
      {R"({"timings":{"predicted_per_second":Infinity}})", {}, {}, {}},
      {R"({"usage":{"prompt_tokens":1,"completion_tokens":2},"usage":"none"})", 1, {}, 2},
      {R"("usage")", {}, {}, {}},
  };
  for (const auto& [text, prompt, cached, output, per_second] : rows) {
    AnswerCount stream, whole;
    stream.feed("data:" + text + "\n\n");
    whole.whole(text);
    for (const auto& counted : {stream.tokens(), whole.tokens()}) {
      EXPECT_EQ(counted.prompt, prompt) << text;
      EXPECT_EQ(counted.cached, cached) << text;
      EXPECT_EQ(counted.output, output) << text;
      EXPECT_EQ(counted.per_second, per_second) << text;
    }
  }
}

TEST(AnswerCount, TextsOfOtherServers) {
  AnswerCount count;
  count.feed(
      "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n"
      "data: {\"choices\":[{\"text\" : \"b\"}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\": \"\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\": \"{\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":null}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\": \"\"}}]}\n\n");
  EXPECT_EQ(count.pieces(), 3u);
}

// What a model says isn't what the answer says of itself.
TEST(AnswerCount, TextsAreNoNumbers) {
  AnswerCount count;
  count.feed(delta({.content = R"("usage":{"prompt_tokens":999,"completion_tokens":999})"}));
  count.feed(delta({.content = "\n\ndata: {"}));
  EXPECT_EQ(count.pieces(), 2u);
  EXPECT_EQ(count.tokens().prompt, std::nullopt);
}

TEST(AnswerCount, WholeAnswers) {
  AnswerCount chat;
  const ChatAnswer answer{.message = {.content = std::string(10'000, 'x')}, .finish_reason = "stop"};
  chat.whole(chat_completion(kCountedHead, {&answer, 1},
                             {.prompt_tokens = 8, .cached_tokens = 1, .completion_tokens = 2}, kTimings));
  EXPECT_EQ(chat.tokens().prompt, 8u);
  EXPECT_EQ(chat.tokens().cached, 1u);
  EXPECT_EQ(chat.tokens().output, 2u);
  AnswerCount embedding;
  const std::vector<float> vector(5'000, 0.5f);
  embedding.whole(embeddings("m", {&vector, 1}, false, 12));
  EXPECT_EQ(embedding.tokens().prompt, 12u);
  EXPECT_EQ(embedding.tokens().output, std::nullopt);
  AnswerCount other;
  other.whole("{}");
  EXPECT_EQ(other.tokens().output, std::nullopt);
}

}  // namespace
}  // namespace corral::protocol
