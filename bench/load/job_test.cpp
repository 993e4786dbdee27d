#include "job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"

namespace corral::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome outcome_of(std::string_view head, std::initializer_list<std::string_view> pieces) {
  EventReader reader;
  EXPECT_TRUE(reader.feed(head, 0));
  double now = 0;
  for (const auto piece : pieces) EXPECT_TRUE(reader.feed(piece, ++now));
  Outcome outcome;
  read_answer(reader, outcome);
  return outcome;
}

constexpr std::string_view kStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

TEST(Job, TextPiecesAreCountedAndTheirTimesKept) {
  const auto outcome =
      outcome_of(kStream, {"data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n",
                           "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":null}]}\n\n",
                           "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}\n\n",
                           "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n",
                           "data: {\"choices\":[],\"usage\":{\"completion_tokens\":3,\"prompt_tokens\":9,"
                           "\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\ndata: [DONE]\n\n"});
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_THAT(outcome.pieces, ElementsAre(1, 3));
  EXPECT_EQ(outcome.text, "ab");
  EXPECT_EQ(outcome.finish_reason, "length");
  EXPECT_EQ(outcome.tokens, 3);
  EXPECT_EQ(outcome.prompt_tokens, 9);
  EXPECT_EQ(outcome.cached_tokens, 8);
}

TEST(Job, ErrorsAreSeenInAStreamAndInsteadOfOne) {
  EXPECT_THAT(outcome_of(kStream, {"data: {\"error\":{\"message\":\"too much\"}}\n\n"}).error, HasSubstr("too much"));
  EXPECT_THAT(outcome_of("HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\n", {"busy"}).error, HasSubstr("503: busy"));
}

TEST(Job, ReadsItsOptionsAndWritesWhatCameOut) {
  const auto job = parse_job(R"({"port":80,"socket":"/s","at_once":2,"requests":[
      {"name":"a","path":"/p","body":{"n":1},"at":0.5,"after_events":3,"read":false,"background":true}]})");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->port, 80);
  EXPECT_EQ(job->socket, "/s");
  EXPECT_EQ(job->at_once, 2u);
  ASSERT_EQ(job->requests.size(), 1u);
  const auto& request = job->requests[0];
  EXPECT_EQ(request.body, "{\"n\":1}");
  EXPECT_EQ(request.at, 0.5);
  EXPECT_EQ(request.after_events, 3u);
  EXPECT_FALSE(request.read);
  EXPECT_TRUE(request.background);
  EXPECT_FALSE(parse_job(R"({"requests":[{"name":"a"}]})").has_value());

  const auto written = json::parse(to_json({{.name = "a", .pieces = {0.25}, .text = "x"}}, {.seconds = 2}));
  ASSERT_TRUE(written.has_value());
  const auto& stream = json::find(*written, "streams")->get_array()[0];
  EXPECT_EQ(json::text_or(stream, "text", ""), "x");
  EXPECT_EQ(json::find(stream, "pieces")->get_array()[0].as_double(), 0.25);
}

}  // namespace
}  // namespace corral::bench
