// The transcript of a sound that was transcribed in pieces.
#include "dialects/audio/joined_transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

http::Response transcript(const std::string& text, const std::string& segments, const std::string& words = "[]") {
  return http::Response::json(200, R"({"task":"transcribe","language":"english","duration":2,"text":")" + text +
                                       R"(","segments":)" + segments + R"(,"words":)" + words + "}");
}
const std::string kSegments =
    R"([{"id":0,"seek":0,"start":0.5,"end":2,"text":" The horses.","tokens":[1],"temperature":0,"avg_logprob":-0.5,)"
    R"("compression_ratio":0,"no_speech_prob":0.1}])";

TEST(JoinedTranscript, TextsAreJoinedAndTimesShifted) {
  JoinedTranscript joined({.format = TranscriptFormat::verbose_json, .words = true});
  const std::string words = R"([{"word":"The","start":0.5,"end":0.7},{"word":"horses.","start":0.8,"end":1}])";
  EXPECT_EQ(joined.add(transcript("The horses.", kSegments, words), 0), "The horses.");
  EXPECT_EQ(joined.add(transcript("The horses.", kSegments, words), 25.2), " The horses.");
  EXPECT_EQ(joined.add(transcript("", "[]"), 50), "");
  EXPECT_EQ(joined.text(), "The horses. The horses.");
  EXPECT_EQ(joined.whole(61.5).body.text(),
            R"({"task":"transcribe","language":"english","duration":61.5,"text":"The horses. The horses.","segments":[)"
            R"({"id":0,"seek":0,"start":0.5,"end":2,"text":" The horses.","tokens":[1],"temperature":0,)"
            R"("avg_logprob":-0.5,"compression_ratio":0,"no_speech_prob":0.1},{"id":1,"seek":2520,"start":25.7,)"
            R"("end":27.2,"text":" The horses.","tokens":[1],"temperature":0,"avg_logprob":-0.5,"compression_ratio":0,)"
            R"("no_speech_prob":0.1}],"words":[{"word":"The","start":0.5,"end":0.7},{"word":"horses.","start":0.8,)"
            R"("end":1},{"word":"The","start":25.7,"end":25.9},{"word":"horses.","start":26,"end":26.2}]})");
}

TEST(JoinedTranscript, EachFormatIsWritten) {
  const auto whole = [](TranscriptFormat format) {
    JoinedTranscript joined({.format = format});
    EXPECT_TRUE(joined.add(transcript("The horses.", kSegments), 0));
    EXPECT_TRUE(joined.add(transcript("The horses.", kSegments), 3'600));
    return joined.whole(3'610);
  };
  EXPECT_EQ(whole(TranscriptFormat::json).body.text(), R"({"text":"The horses. The horses."})");
  EXPECT_EQ(whole(TranscriptFormat::text).body.text(), "The horses. The horses.");
  EXPECT_EQ(whole(TranscriptFormat::srt).body.text(),
            "1\n00:00:00,500 --> 00:00:02,000\nThe horses.\n\n2\n01:00:00,500 --> 01:00:02,000\nThe horses.\n");
  EXPECT_EQ(whole(TranscriptFormat::vtt).body.text(),
            "WEBVTT\n\n00:00:00.500 --> 00:00:02.000\nThe horses.\n\n01:00:00.500 --> 01:00:02.000\nThe horses.\n");
  EXPECT_EQ(whole(TranscriptFormat::vtt).head.headers.get("Content-Type"), "text/vtt; charset=utf-8");
}

TEST(JoinedTranscript, NoSpaceComesBetweenWordsOfALanguageWithoutSpaces) {
  JoinedTranscript joined({});
  EXPECT_TRUE(joined.add(transcript("你好", R"([{"text":"你好"}])"), 0));
  EXPECT_EQ(joined.add(transcript("世界", R"([{"text":"世界"}])"), 30), "世界");
}

TEST(JoinedTranscript, APieceThatIsNoTranscriptIsAnError) {
  JoinedTranscript joined({});
  const auto added = joined.add(http::Response::text(200, "text/plain", "oops"), 0);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, protocol::errc::remote_upstream);
}

TEST(JoinedTranscript, EventsAreThoseOfAStream) {
  EXPECT_EQ(transcript_delta_event(" a") + transcript_done_events("b a"),
            "event: transcript.text.delta\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\" a\"}\n\n"
            "event: transcript.text.done\ndata: {\"type\":\"transcript.text.done\",\"text\":\"b a\"}\n\n"
            "data: [DONE]\n\n");
}

}  // namespace
}  // namespace corral::dialects::audio
