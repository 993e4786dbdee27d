// Formats of speech that ffmpeg makes: its command, what it gets and gives, and its failures.
#include "backends/speech/sound_encoder.h"

#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/errors.h"
#include "proc/fake_spawner_for_tests.h"
#include "protocol/errors.h"

namespace corral::backends {
namespace {

using dialects::audio::SpeechFormat;

class Samples final : public http::BodySource {
 public:
  Samples(std::vector<std::string> pieces, bool breaks_off) : pieces_(std::move(pieces)), breaks_off_(breaks_off) {}
  async::Task<Result<std::string_view>> read() override {
    if (next_ < pieces_.size()) co_return std::string_view(pieces_[next_++]);
    if (breaks_off_) co_return fail(protocol::errc::remote_upstream, "it broke off");
    co_return std::string_view();
  }

 private:
  const std::vector<std::string> pieces_;
  const bool breaks_off_;
  std::size_t next_ = 0;
};

class SoundEncoderTest : public testing::Test {
 protected:
  // The whole sound, or its error.
  Result<std::string> encoded(SpeechFormat format, bool breaks_off = false) {
    FfmpegEncoder encoder(spawner, [] { return std::string("/usr/bin/ffmpeg"); });
    auto all = [](FfmpegEncoder& by, SpeechFormat into, bool breaks) -> async::Task<Result<std::string>> {
      dialects::audio::SpeechSamples samples{{22'050, 1},
                                             std::make_unique<Samples>(std::vector<std::string>{"ab", "cd"}, breaks)};
      auto encoding = by.encode(into, std::move(samples));
      auto source = co_await std::move(encoding);
      if (!source) co_return std::unexpected(source.error());
      http::Body body(std::move(*source));
      auto reading = body.read_all(1'000);
      co_return co_await std::move(reading);
    };
    return async::run_blocking(loop, all(encoder, format, breaks_off));
  }
  static async::Task<void> until_fed(std::shared_ptr<proc::FakeProcess> process) {
    while (process->alive() && !process->input_closed()) co_await async::asio::post(async::use_task);
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  proc::FakeSpawner spawner{timers};
};

TEST_F(SoundEncoderTest, ItGetsTheSamplesAndGivesTheSound) {
  spawner.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    auto feeding = until_fed(process);
    co_await std::move(feeding);
    process->write("Ogg");
    process->write("S");
    process->exit(0);
  };
  EXPECT_EQ(encoded(SpeechFormat::opus), "OggS");
  ASSERT_EQ(spawner.processes().size(), 1u);
  EXPECT_EQ(spawner.processes()[0]->input(), "abcd");
  EXPECT_EQ(spawner.running(), 0u);
}

TEST_F(SoundEncoderTest, EachFormatHasItsCommand) {
  const auto command = [](SpeechFormat format) {
    const auto words = FfmpegEncoder::command("/usr/bin/ffmpeg", format, {24'000, 2});
    std::string text;
    for (const auto& word : words) text += word + " ";
    return text;
  };
  const std::string begin =
      "/usr/bin/ffmpeg -nostdin -hide_banner -loglevel error -protocol_whitelist pipe -f s16le -ar 24000 -ac 2 -i "
      "pipe:0 ";
  EXPECT_EQ(command(SpeechFormat::opus),
            begin + "-c:a libopus -b:a 48k -page_duration 200000 -f ogg -flush_packets 1 pipe:1 ");
  EXPECT_EQ(command(SpeechFormat::aac), begin + "-c:a aac -b:a 64k -f adts -flush_packets 1 pipe:1 ");
  EXPECT_EQ(command(SpeechFormat::flac), begin + "-c:a flac -f flac -flush_packets 1 pipe:1 ");
}

TEST_F(SoundEncoderTest, AFailureIsAnErrorWithItsOutput) {
  spawner.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    auto feeding = until_fed(process);
    co_await std::move(feeding);
    process->print("Unknown encoder 'libopus'", true);
    process->exit(1);
  };
  const auto failed = encoded(SpeechFormat::opus);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::load_failed);
  EXPECT_THAT(failed.error().message, testing::StartsWith("ffmpeg cannot encode the audio: it "));
  EXPECT_THAT(failed.error().message, testing::HasSubstr("Unknown encoder 'libopus'"));
}

TEST_F(SoundEncoderTest, SamplesThatBreakOffEndIt) {
  const auto failed = encoded(SpeechFormat::flac, true);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "it broke off");
  EXPECT_EQ(spawner.running(), 0u);
}

TEST_F(SoundEncoderTest, WithoutTheProgramNothingIsStarted) {
  FfmpegEncoder encoder(spawner, [] { return std::string(); });
  EXPECT_FALSE(encoder.is_there());
  const auto failed = async::run_blocking(loop, encoder.encode(SpeechFormat::opus, {}));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::backend_not_installed);
  EXPECT_TRUE(spawner.processes().empty());
}

}  // namespace
}  // namespace corral::backends
