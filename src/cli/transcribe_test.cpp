// `corral transcribe`.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kTranscribe = "POST /api/v1/audio/transcriptions";

class TranscribeTest : public ProgramTest {
 protected:
  void answers_with(std::vector<Event> events) { server_.on(kTranscribe, Scripted{.events = std::move(events)}); }
  std::vector<std::pair<std::string, std::string>> fields() const { return server_.requests.back().form->fields; }
};

TEST_F(TranscribeTest, PrintsTheTextAsItArrives) {
  answers_with({{"transcript.text.delta", R"({"delta":"The horses"})"},
                {"transcript.text.delta", R"({"delta":" are in.\u001b[2J"})"},
                {"transcript.text.done", R"({"text":"The horses are in."})"},
                {"", "[DONE]"}});
  EXPECT_EQ(run({"transcribe", "talk.wav", "--language", "en"}), kExitOk);
  EXPECT_EQ(out(), "The horses are in.[2J\n");
  EXPECT_THAT(fields(), ElementsAre(Pair("model", "whisper-1"), Pair("response_format", "text"), Pair("language", "en"),
                                    Pair("stream", "true")));
  EXPECT_EQ(server_.requests.back().form->file, "talk.wav");
  EXPECT_EQ(server_.requests.back().form->file_field, "file");
}

TEST_F(TranscribeTest, OtherFormatsComeWhole) {
  server_.on(kTranscribe, "1\n00:00:00,000 --> 00:00:02,000\nHi.\n");
  EXPECT_EQ(run({"transcribe", "talk.wav", "--format", "srt", "--model", "base"}), kExitOk);
  EXPECT_EQ(out(), "1\n00:00:00,000 --> 00:00:02,000\nHi.\n");
  EXPECT_THAT(fields(), ElementsAre(Pair("model", "base"), Pair("response_format", "srt")));
}

TEST_F(TranscribeTest, JsonIsWhatTheServerSaid) {
  server_.on(kTranscribe, R"({"text":"Hi."})");
  for (const auto* flag : {"--json", "--format=json"}) {
    EXPECT_EQ(run({"transcribe", "talk.wav", flag}), kExitOk);
    EXPECT_EQ(out(), "{\"text\":\"Hi.\"}\n");
    EXPECT_THAT(fields(), ElementsAre(Pair("model", "whisper-1"), Pair("response_format", "json")));
  }
}

TEST_F(TranscribeTest, AnErrorAfterSomeTextIsNotLost) {
  answers_with(
      {{"transcript.text.delta", R"({"delta":"The"})"}, {"error", R"({"error":{"message":"the model ended"}})"}});
  EXPECT_EQ(run({"transcribe", "talk.wav"}), kExitFailed);
  EXPECT_EQ(out(), "The\n");
  EXPECT_EQ(err(), "corral: the model ended\n");
}

TEST_F(TranscribeTest, AStreamThatEndsTooEarlyIsAnError) {
  answers_with({{"transcript.text.delta", R"({"delta":"The"})"}});
  EXPECT_EQ(run({"transcribe", "talk.wav"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("closed the connection"));
}

TEST_F(TranscribeTest, ARefusalIsPrintedInTheServersWords) {
  server_.on(kTranscribe, Scripted{.status = 400, .body = R"({"error":{"message":"unknown format"}})"});
  EXPECT_EQ(run({"transcribe", "talk.wav"}), kExitFailed);
  EXPECT_EQ(err(), "corral: unknown format\n");
}

TEST_F(TranscribeTest, WhatMakesNoSenseIsAMisuse) {
  EXPECT_EQ(run({"transcribe"}), kExitUsage);
  EXPECT_EQ(run({"transcribe", "talk.wav", "--format", "pdf"}), kExitUsage);
  EXPECT_EQ(run({"transcribe", "talk.wav", "--format", "vtt", "--json"}), kExitUsage);
  EXPECT_TRUE(server_.requests.empty());
}

}  // namespace
}  // namespace corral::cli
