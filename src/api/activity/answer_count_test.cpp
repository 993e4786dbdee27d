#include "api/activity/answer_count.h"

#include <gtest/gtest.h>

#include "protocol/answers/chunks.h"

namespace corral::api {
namespace {

using protocol::ChunkWriter;

const protocol::AnswerHead kHead{.id = "chatcmpl-1", .model = "m", .created = 1};
const protocol::Timings kTimings{.cache_n = 3, .prompt_n = 4, .predicted_n = 5};

std::string role(const protocol::Usage* usage = nullptr) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kHead).role(text, usage);
  return text;
}
std::string delta(protocol::ChatDelta what) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kHead).delta(text, what);
  return text;
}
std::string finish(const protocol::Timings* timings) {
  std::string text;
  ChunkWriter(ChunkWriter::Shape::chat, kHead).finish(text, "stop", {}, timings);
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
  const protocol::Usage known{.prompt_tokens = 9},
      usage{.prompt_tokens = 9, .cached_tokens = 2, .completion_tokens = 6};
  AnswerCount count;
  std::string last;
  ChunkWriter(ChunkWriter::Shape::chat, kHead).usage(last, usage, &kTimings);
  count.feed(role(&known) + delta({.content = "a"}) + finish(&kTimings) + last);
  EXPECT_EQ(count.tokens().prompt, 9u);
  EXPECT_EQ(count.tokens().cached, 2u);
  EXPECT_EQ(count.tokens().output, 6u);
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
  const protocol::ChatAnswer answer{.message = {.content = std::string(10'000, 'x')}, .finish_reason = "stop"};
  chat.whole(protocol::chat_completion(kHead, {&answer, 1},
                                       {.prompt_tokens = 8, .cached_tokens = 1, .completion_tokens = 2}, kTimings));
  EXPECT_EQ(chat.tokens().prompt, 8u);
  EXPECT_EQ(chat.tokens().cached, 1u);
  EXPECT_EQ(chat.tokens().output, 2u);
  AnswerCount embedding;
  const std::vector<float> vector(5'000, 0.5f);
  embedding.whole(protocol::embeddings("m", {&vector, 1}, false, 12));
  EXPECT_EQ(embedding.tokens().prompt, 12u);
  EXPECT_EQ(embedding.tokens().output, std::nullopt);
  AnswerCount other;
  other.whole("{}");
  EXPECT_EQ(other.tokens().output, std::nullopt);
}

}  // namespace
}  // namespace corral::api
