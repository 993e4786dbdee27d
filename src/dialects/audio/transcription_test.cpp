// Forms with sound, both ways: what backends get, and what clients get of what whisper's server answers.
#include "dialects/audio/transcription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kWav = wav_head({16'000, 1}, 8) + "12345678";

class TranscriptionTest : public testing::Test {
 protected:
  Form form(std::vector<std::pair<std::string, std::string>> fields, std::string_view sound = kWav) {
    Form form{std::move(fields), {}};
    auto spool = std::make_shared<http::Spool>(room);
    EXPECT_TRUE(async::run_blocking(loop, spool->append(sound)));
    EXPECT_TRUE(async::run_blocking(loop, spool->finish()));
    form.files.push_back({"file", "../../etc/passwd\".wav", "text/html", std::move(spool)});
    return form;
  }
  std::string wrong(std::vector<std::pair<std::string, std::string>> fields) {
    const auto asked = read_transcription(form(std::move(fields)));
    if (asked) return "fine";
    EXPECT_NE(asked.error().param, "");
    return asked.error().message;
  }
  http::Response translated(std::vector<std::pair<std::string, std::string>> fields, unsigned status, const char* type,
                            std::string body) {
    const auto asked = read_transcription(form(std::move(fields)));
    EXPECT_TRUE(asked);
    return translate_transcript(*asked, http::Response::text(status, type, std::move(body)));
  }

  async::Loop loop;
  http::SpoolRoom room{testing::TempDir(), 0, nullptr};
};

TEST_F(TranscriptionTest, OnlyKnownFieldsGoOnUnderPlainNames) {
  const auto asked = read_transcription(form({{"model", "whisper"},
                                              {"language", "pt-BR"},
                                              {"prompt", "hi"},
                                              {"temperature", "0.50"},
                                              {"beam_size", "1000000"},
                                              {"vad", "true"},
                                              {"response_format", "verbose_json"},
                                              {"timestamp_granularities[]", "word"}}));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->about.model, "whisper");
  EXPECT_THAT(asked->form->fields,
              ElementsAre(Pair("model", "whisper"), Pair("response_format", "verbose_json"),
                          Pair("no_language_probabilities", "true"), Pair("language", "pt"), Pair("prompt", "hi"),
                          Pair("temperature", "0.5"), Pair("timestamp_granularities[]", "word")));
  ASSERT_EQ(asked->form->files.size(), 1u);
  EXPECT_EQ(asked->form->files[0].filename, "sound.wav");
  EXPECT_EQ(asked->form->files[0].type, "audio/wav");
}

TEST_F(TranscriptionTest, ATranslationSaysSo) {
  const auto asked = read_translation(form({{"model", "whisper"}}));
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->form->fields, testing::Contains(Pair("translate", "true")));
}

TEST_F(TranscriptionTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(wrong({{"response_format", "xml"}}), HasSubstr("'response_format'"));
  EXPECT_THAT(wrong({{"response_format", "diarized_json"}}), HasSubstr("'response_format'"));
  for (const char* language : {"klingon", "xx", "e", "en'", "--help", " en", "en zh"})
    EXPECT_THAT(wrong({{"language", language}}), HasSubstr("'language'")) << language;
  for (const char* temperature : {"hot", "1.1", "-1", "nan", "1e999", "0x1"})
    EXPECT_THAT(wrong({{"temperature", temperature}}), HasSubstr("'temperature'")) << temperature;
  EXPECT_THAT(wrong({{"timestamp_granularities[]", "word"}}), HasSubstr("verbose_json"));
  EXPECT_THAT(wrong({{"response_format", "verbose_json"}, {"timestamp_granularities[]", "day"}}),
              HasSubstr("word or segment"));
  EXPECT_THAT(wrong({{"stream", "maybe"}}), HasSubstr("'stream'"));
  EXPECT_THAT(wrong({{"stream", "true"}, {"response_format", "srt"}}), HasSubstr("json or text"));
  EXPECT_THAT(wrong({{"include[]", "logprobs"}}), HasSubstr("'include'"));
  EXPECT_THAT(wrong({{"prompt", std::string(20'000, 'p')}}), HasSubstr("'prompt'"));
  EXPECT_EQ(wrong({{"language", "auto"}, {"temperature", ""}, {"stream", "false"}, {"whatever", "x"}}), "fine");
  EXPECT_THAT(read_transcription({{{"model", "w"}}, {}}).error().message, HasSubstr("'file' is required"));
  EXPECT_THAT(read_transcription({{{"file", "a.wav"}}, {}}).error().message, HasSubstr("not a text"));
  EXPECT_THAT(read_transcription(form({}, "")).error().message, HasSubstr("empty"));
}

TEST_F(TranscriptionTest, AWavThatClaimsTooMuchIsRefused) {
  auto slow = kWav;
  slow.replace(24, 4, std::string("\x01\0\0\0", 4));
  const auto asked = read_transcription(form({}, slow));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, protocol::errc::bad_value);
  EXPECT_EQ(asked.error().param, "file");
  EXPECT_EQ(asked.error().message,
            "'file' is a wav file that cannot be used: its header claims 1 samples per second; supported: 8000 to "
            "192000");
}

TEST_F(TranscriptionTest, TextsComeWithoutWhatWhisperPutsAroundThem) {
  const auto json = translated({}, 200, "application/json", R"({"text":" The horses are in\n the corral.\n"})");
  EXPECT_EQ(json.body.text(), R"({"text":"The horses are in the corral."})");
  EXPECT_EQ(json.head.headers.get("Content-Type"), "application/json");
  const auto text = translated({{"response_format", "text"}}, 200, "text/html; charset=utf-8", " The horses.\n");
  EXPECT_EQ(text.body.text(), "The horses.");
  EXPECT_EQ(text.head.headers.get("Content-Type"), "text/plain; charset=utf-8");
  const auto plain = translated({}, 200, "text/plain", "The horses.");
  EXPECT_EQ(plain.body.text(), R"({"text":"The horses."})");
  const auto srt =
      translated({{"response_format", "srt"}}, 200, "application/x-subrip",
                 "1\n00:00:00,000 --> 00:00:02,000\n The horses.\n\n2\n00:00:02,000 --> 00:00:04,000\n Two.\n\n");
  EXPECT_EQ(srt.body.text(),
            "1\n00:00:00,000 --> 00:00:02,000\nThe horses.\n\n2\n00:00:02,000 --> 00:00:04,000\nTwo.\n");
  const auto vtt = translated({{"response_format", "vtt"}}, 200, "text/vtt",
                              "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n The horses.\n\n");
  EXPECT_EQ(vtt.body.text(), "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nThe horses.\n");
}

TEST_F(TranscriptionTest, VerboseJsonHasOpenAisShape) {
  const std::string answer =
      R"({"task":"transcribe","language":"english","duration":1.5,"text":" A b.\n","segments":[{"id":0,"text":" A b.",)"
      R"("start":0.0,"end":2.0,"tokens":[1,2],"words":[{"word":" A","start":0.1,"end":0.2,"t_dtw":-1,)"
      R"("probability":1.0},{"word":" b.","start":0.3,"end":0.4}],"temperature":0.0,"avg_logprob":-0.5,)"
      R"("no_speech_prob":0.1}]})";
  const auto segments = translated({{"response_format", "verbose_json"}}, 200, "application/json", answer);
  EXPECT_EQ(segments.body.text(),
            R"({"task":"transcribe","language":"english","duration":1.5,"text":"A b.","segments":[{"id":0,"seek":0,)"
            R"("start":0,"end":2,"text":" A b.","tokens":[1,2],"temperature":0,"avg_logprob":-0.5,)"
            R"("compression_ratio":0,"no_speech_prob":0.1}]})");
  const auto words = translated({{"response_format", "verbose_json"}, {"timestamp_granularities[]", "word"}}, 200,
                                "application/json", answer);
  EXPECT_EQ(words.body.text(),
            R"({"task":"transcribe","language":"english","duration":1.5,"text":"A b.","words":[{"word":"A",)"
            R"("start":0.1,"end":0.2},{"word":"b.","start":0.3,"end":0.4}]})");
  EXPECT_EQ(translated({{"response_format", "verbose_json"}}, 200, "text/html", "oops").head.status, 502u);
}

TEST_F(TranscriptionTest, WhatTheBackendCantHearIsTheFilesFault) {
  const auto bad = translated({}, 400, "text/plain", "Invalid request");
  EXPECT_EQ(bad.head.status, 400u);
  EXPECT_THAT(bad.body.text(), HasSubstr("cannot be read as audio"));
  EXPECT_THAT(bad.body.text(), HasSubstr(R"("param":"file")"));
  const auto answer = translated({}, 400, "application/json", R"({"error":{"message":"too long"}})");
  EXPECT_THAT(answer.body.text(), HasSubstr("too long")) << "one that says why is believed";
  EXPECT_EQ(translated({}, 500, "text/plain", "500 Internal Server Error").head.status, 500u);
}

TEST_F(TranscriptionTest, AStreamTellsTheTextAndEnds) {
  const auto answer = translated({{"stream", "true"}}, 200, "application/json", R"({"text":" Hi.\n"})");
  EXPECT_EQ(transcript_events(answer),
            "event: transcript.text.delta\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\"Hi.\"}\n\n"
            "event: transcript.text.done\ndata: {\"type\":\"transcript.text.done\",\"text\":\"Hi.\"}\n\n"
            "data: [DONE]\n\n");
}

}  // namespace
}  // namespace corral::dialects::audio
