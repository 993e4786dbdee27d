// Long sound is transcribed piece by piece, one after the other.
#include "api/filters/transcript_pieces.h"

#include "api/api_fixture_for_tests.h"
#include "api/filters/filters.h"
#include "api/filters/wav_pieces.h"
#include "dialects/audio/transcription.h"
#include "dialects/error_filter.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

namespace audio = dialects::audio;

constexpr std::uint32_t kRate = 8'000;
using Fields = std::vector<std::pair<std::string, std::string>>;

const dialects::Endpoint& transcriptions() {
  const auto endpoints = dialects::openai().endpoints;
  return *std::ranges::find(endpoints, "audio/transcriptions", &dialects::Endpoint::path);
}

class TranscriptPiecesTest : public ApiTest {
 protected:
  // Silence is cut after 29.9 s.
  static std::string silence(std::uint32_t seconds) {
    const auto size = seconds * kRate * 2;
    return audio::wav_head({kRate, 1}, size) + std::string(size, '\0');
  }

  CallPtr call(Fields fields, const std::string& sound, std::string recipe = "whispercpp") {
    auto spool = std::make_shared<http::Spool>(*context.inference.uploads);
    EXPECT_TRUE(async::run_blocking(loop, spool->append(sound)));
    EXPECT_TRUE(async::run_blocking(loop, spool->finish()));
    auto asked = audio::read_transcription({std::move(fields), {{"file", "a.wav", "audio/wav", std::move(spool)}}});
    EXPECT_TRUE(asked);
    auto info = std::make_shared<models::ModelInfo>();
    info->recipe = std::move(recipe);
    info->type = ModelType::transcription;
    auto made = std::make_unique<InferenceCall>();
    made->endpoint = &transcriptions();
    made->type = ModelType::transcription;
    made->canonical = std::move(*asked);
    made->found = std::move(info);
    return made;
  }
  async::Task<std::string> answered(CallPtr asked) {
    auto answering = transcript_pieces_filter(context.filters)(std::move(asked), Next(filters.data()));
    auto answer = co_await std::move(answering);
    status = answer.head.status;
    auto reading = answer.body.read_all(1 << 20);
    auto text = co_await std::move(reading);
    co_return text ? *text : "BROKEN " + text.error().message;
  }
  std::string ask_for(Fields fields, const std::string& sound, std::string recipe = "whispercpp") {
    return async::run_blocking(loop, answered(call(std::move(fields), sound, std::move(recipe))));
  }

  // The model says what it was asked for.
  async::Task<http::Response> model(CallPtr asked) {
    const auto& form = *asked->canonical.form;
    pieces.push_back(form.files.front().bytes->size());
    asked_fields = form.fields;
    const auto number = pieces.size();
    if (number == hangs_at) {
      auto sleep = timers.sleep_for(1h);
      co_await std::move(sleep);
      woke = true;
    }
    if (number == fails_at)
      co_return dialects::error_response(Error(make_error_code(protocol::errc::remote_upstream), "it broke"));
    co_return http::Response::json(
        200, fmt::format(R"({{"task":"transcribe","language":"english","duration":1,"text":"Part {0}.","segments":[)"
                         R"({{"id":0,"start":1,"end":2,"text":" Part {0}."}}],"words":[{{"word":"Part","start":1,)"
                         R"("end":1.5}}]}})",
                         number));
  }

  std::vector<Filter> filters{[this](CallPtr asked, Next) { return model(std::move(asked)); }};
  std::vector<std::uint64_t> pieces;  // bytes of each
  Fields asked_fields;                // of the last one
  std::size_t hangs_at = 0, fails_at = 0;
  bool woke = false;  // the piece that hung went on
  unsigned status = 0;
};

TEST_F(TranscriptPiecesTest, AStreamGetsTheTextOfEachPiece) {
  EXPECT_EQ(ask_for({{"stream", "true"}, {"language", "de"}, {"prompt", "hi"}}, silence(70)),
            "event: transcript.text.delta\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\"Part 1.\"}\n\n"
            "event: transcript.text.delta\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\" Part 2.\"}\n\n"
            "event: transcript.text.delta\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\" Part 3.\"}\n\n"
            "event: transcript.text.done\ndata: {\"type\":\"transcript.text.done\",\"text\":\"Part 1. Part 2. Part "
            "3.\"}\n\ndata: [DONE]\n\n");
  EXPECT_EQ(status, 200u);
  EXPECT_THAT(pieces, ElementsAre(478'444u, 478'444u, 163'244u));
  EXPECT_THAT(asked_fields, ElementsAre(testing::Pair("language", "de"), testing::Pair("prompt", "hi"),
                                        testing::Pair("response_format", "verbose_json"),
                                        testing::Pair("no_language_probabilities", "true")));
}

TEST_F(TranscriptPiecesTest, ALongFileIsCutWithoutAStreamToo) {
  const auto srt = ask_for({{"response_format", "srt"}}, silence(181));
  EXPECT_EQ(pieces.size(), 7u);
  EXPECT_THAT(srt, testing::StartsWith("1\n00:00:01,000 --> 00:00:02,000\nPart 1.\n\n2\n00:00:30,900 --> "
                                       "00:00:31,900\nPart 2.\n\n3\n00:01:00,800 -->"));
  pieces.clear();
  const auto verbose =
      ask_for({{"response_format", "verbose_json"}, {"timestamp_granularities[]", "word"}}, silence(181));
  EXPECT_THAT(verbose, HasSubstr(R"("duration":181,"text":"Part 1. Part 2.)"));
  EXPECT_THAT(verbose, HasSubstr(R"({"word":"Part","start":30.9,"end":31.4})"));
  EXPECT_THAT(verbose, testing::Not(HasSubstr("segments")));
}

TEST_F(TranscriptPiecesTest, OtherRequestsPassUnchanged) {
  const auto short_sound = silence(20), long_sound = silence(70);
  ask_for({{"stream", "true"}}, short_sound);
  EXPECT_THAT(pieces, ElementsAre(short_sound.size()));
  ask_for({}, long_sound);
  EXPECT_EQ(pieces.back(), long_sound.size()) << "without a stream it isn't long";
  ask_for({{"stream", "true"}}, long_sound, "flm");
  EXPECT_EQ(pieces.back(), long_sound.size()) << "this backend may have a stream of its own";
  ask_for({{"stream", "true"}}, "ID3\x04 and more");
  EXPECT_EQ(pieces.size(), 4u) << "without ffmpeg only wav can be cut";
}

TEST_F(TranscriptPiecesTest, AFailureEndsTheTranscript) {
  fails_at = 1;
  EXPECT_THAT(ask_for({{"stream", "true"}}, silence(70)), HasSubstr("it broke"));
  EXPECT_EQ(status, 502u) << "nothing was sent yet";
  pieces.clear();
  fails_at = 2;
  const auto events = ask_for({{"stream", "true"}}, silence(70));
  EXPECT_EQ(status, 200u);
  EXPECT_THAT(events, HasSubstr("Part 1."));
  EXPECT_THAT(events, HasSubstr(R"(data: {"error":{"message":"it broke")"));
  EXPECT_THAT(events, testing::Not(HasSubstr("[DONE]")));
  EXPECT_EQ(pieces.size(), 2u);
}

TEST_F(TranscriptPiecesTest, AClientThatLeavesCostsAtMostTheRunningPiece) {
  hangs_at = 2;
  auto asking = std::make_unique<async::SpawnedTask<std::string>>(loop.executor(), "ask",
                                                                  answered(call({{"stream", "true"}}, silence(70))));
  settle();
  EXPECT_EQ(pieces.size(), 2u);
  asking.reset();
  settle();
  timers.advance(1h);
  settle();
  EXPECT_EQ(pieces.size(), 2u);
  EXPECT_FALSE(woke);
}

TEST_F(TranscriptPiecesTest, PiecesAreReadAsTheyAreAskedFor) {
  const auto sound = silence(70);
  auto asked = call({}, sound);
  const auto& facts = *static_cast<const audio::TranscriptionAsked*>(asked->canonical.facts.get());
  ASSERT_TRUE(facts.wav);
  WavPieces cut(asked->canonical.form->files.front().bytes, *facts.wav, *context.inference.uploads);
  EXPECT_DOUBLE_EQ(cut.duration(), 70);
  const auto first = async::run_blocking(loop, cut.next());
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->at, 0);
  const auto checked = audio::check_wav((*first)->wav->head(), (*first)->wav->size(), "file");
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->format, (audio::WavFormat{kRate, 1}));
  const auto second = async::run_blocking(loop, cut.next());
  ASSERT_TRUE(second && *second);
  EXPECT_DOUBLE_EQ((*second)->at, 29.9);
}

}  // namespace
}  // namespace corral::api
