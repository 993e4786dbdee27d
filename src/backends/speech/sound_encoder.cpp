#include "backends/speech/sound_encoder.h"

#include <csignal>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "async/task_group.h"
#include "backends/errors.h"

namespace corral::backends {
namespace {

using dialects::audio::SpeechFormat;
using dialects::audio::SpeechSamples;

std::vector<std::string> codec_of(SpeechFormat format) {
  switch (format) {
    case SpeechFormat::opus:  // pages of 0.2 s, so that a client can play it while it is made
      return {"-c:a", "libopus", "-b:a", "48k", "-page_duration", "200000", "-f", "ogg"};
    case SpeechFormat::aac:
      return {"-c:a", "aac", "-b:a", "64k", "-f", "adts"};
    default:
      return {"-c:a", "flac", "-f", "flac"};
  }
}

// The output of the program, which gets the samples meanwhile: both may be larger than a pipe.
class EncodedBody final : public http::BodySource {
 public:
  EncodedBody(async::Executor executor, std::unique_ptr<proc::Child> child, std::unique_ptr<http::BodySource> samples)
      : state_(std::make_shared<State>(std::move(child), std::move(samples))), feeding_(executor) {
    feeding_.spawn("samples for ffmpeg", feed(state_));
  }
  ~EncodedBody() override { feeding_.cancel(); }

  async::Task<Result<std::string_view>> read() override {
    if (!first_.empty()) {
      piece_ = std::exchange(first_, {});
      co_return std::string_view(piece_);
    }
    if (ended_) co_return std::string_view();
    auto reading = state_->child->read_output();
    auto piece = co_await std::move(reading);
    if (state_->failure) co_return std::unexpected(*state_->failure);
    if (!piece) co_return std::unexpected(piece.error());
    piece_ = std::move(*piece);
    if (!piece_.empty()) co_return std::string_view(piece_);
    ended_ = true;
    auto waiting = state_->child->wait();
    const auto status = co_await std::move(waiting);
    if (!status.success()) {
      co_return fail(errc::load_failed, fmt::format("ffmpeg cannot encode the audio: it {}: {:.200}", status.describe(),
                                                    state_->child->log().text()));
    }
    co_return std::string_view();
  }
  void abort() override { state_->child->kill(SIGKILL); }

  async::Task<Result<>> begin() {
    auto reading = read();
    const auto piece = co_await std::move(reading);
    if (!piece) co_return std::unexpected(piece.error());
    first_ = *piece;
    co_return Result<>();
  }

 private:
  struct State {
    State(std::unique_ptr<proc::Child> process, std::unique_ptr<http::BodySource> source)
        : child(std::move(process)), samples(std::move(source)) {}
    const std::unique_ptr<proc::Child> child;
    const std::unique_ptr<http::BodySource> samples;
    std::optional<Error> failure;  // of the samples
  };

  static async::Task<void> feed(std::shared_ptr<State> state) {
    while (true) {
      auto reading = state->samples->read();
      const auto piece = co_await std::move(reading);
      if (!piece) {
        state->failure = piece.error();
        state->child->kill(SIGKILL);
        co_return;
      }
      if (piece->empty()) break;
      auto writing = state->child->write_input(std::string(*piece));
      // Its end has the cause.
      if (const auto written = co_await std::move(writing); !written) co_return;
    }
    state->child->close_input();
  }

  const std::shared_ptr<State> state_;
  std::string first_, piece_;
  bool ended_ = false;
  async::TaskGroup feeding_;
};

}  // namespace

std::vector<std::string> FfmpegEncoder::command(const std::string& program, SpeechFormat format,
                                                const dialects::audio::WavFormat& from) {
  std::vector<std::string> words{program,
                                 "-nostdin",
                                 "-hide_banner",
                                 "-loglevel",
                                 "error",
                                 "-protocol_whitelist",
                                 "pipe",
                                 "-f",
                                 "s16le",
                                 "-ar",
                                 std::to_string(from.rate),
                                 "-ac",
                                 std::to_string(from.channels),
                                 "-i",
                                 "pipe:0"};
  for (auto& word : codec_of(format)) words.push_back(std::move(word));
  for (const char* word : {"-flush_packets", "1", "pipe:1"}) words.emplace_back(word);
  return words;
}

async::Task<Result<std::unique_ptr<http::BodySource>>> FfmpegEncoder::encode(SpeechFormat format,
                                                                             SpeechSamples samples) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto program = program_();
  if (program.empty()) co_return fail(errc::backend_not_installed, "ffmpeg is not installed: apt-get install ffmpeg");
  proc::ChildSpec spec{.name = "ffmpeg", .argv = command(program, format, samples.format)};
  spec.pipes = true;
  auto spawning = spawner_.spawn(std::move(spec));
  auto child = co_await std::move(spawning);
  if (!child) co_return std::unexpected(child.error());
  auto body = std::make_unique<EncodedBody>(executor, std::move(*child), std::move(samples.source));
  auto beginning = body->begin();
  if (const auto begun = co_await std::move(beginning); !begun) co_return std::unexpected(begun.error());
  co_return std::unique_ptr<http::BodySource>(std::move(body));
}

}  // namespace corral::backends
