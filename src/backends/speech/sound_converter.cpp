#include "backends/speech/sound_converter.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "backends/errors.h"
#include "dialects/audio/wav.h"
#include "protocol/errors.h"

namespace corral::backends {
namespace {

constexpr const char* kProgram = "ffmpeg";
constexpr Millis kLongest = std::chrono::minutes(10);
constexpr dialects::audio::WavFormat kFormat{16'000, 1};

Error no_sound(std::string_view why) {
  return {make_error_code(protocol::errc::bad_value),
          fmt::format("the file cannot be read as audio{}{:.200}", why.empty() ? "" : ": ", why)};
}

// Its whole output after a header, which is filled in at the end.
async::Task<Result<std::shared_ptr<http::Spool>>> collect(proc::Child& child, http::SpoolRoom& room) {
  auto wav = std::make_shared<http::Spool>(room);
  auto begun = wav->append(dialects::audio::wav_head(kFormat, 0));
  if (const auto done = co_await std::move(begun); !done) co_return std::unexpected(done.error());
  while (true) {
    const auto piece = co_await child.read_output();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) break;
    auto keeping = wav->append(*piece);
    if (const auto kept = co_await std::move(keeping); !kept) co_return std::unexpected(kept.error());
  }
  const auto samples = std::min<std::uint64_t>(wav->size() - dialects::audio::kWavHead, 0xffffff00);
  auto finishing = wav->finish(dialects::audio::wav_head(kFormat, static_cast<std::uint32_t>(samples)));
  if (const auto done = co_await std::move(finishing); !done) co_return std::unexpected(done.error());
  const auto status = co_await child.wait();
  if (status != proc::ExitStatus::exited(0)) co_return std::unexpected(no_sound(child.log().text()));
  if (samples == 0) co_return std::unexpected(no_sound("it has no audio"));
  co_return wav;
}

}  // namespace

std::vector<std::string> FfmpegConverter::command(const std::string& file) {
  // Formats that list other files (m3u8, concat) aren't allowed: so a file can't make ffmpeg read another one.
  constexpr const char* kFormats =
      "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,aac,ogg,wav,mp3,flac,asf,aiff,amr,caf,au,w64,avi,mpegts";
  return {kProgram,       "-nostdin",
          "-hide_banner", "-loglevel",
          "error",        "-protocol_whitelist",
          "file,pipe",    "-format_whitelist",
          kFormats,       "-i",
          "file:" + file, "-vn",
          "-sn",          "-dn",
          "-map",         "0:a:0",
          "-ac",          "1",
          "-ar",          "16000",
          "-f",           "s16le",
          "pipe:1"};
}

async::Task<Result<std::shared_ptr<http::Spool>>> FfmpegConverter::to_wav(std::shared_ptr<const http::Spool> sound,
                                                                          http::SpoolRoom& room) {
  auto input = sound->file();
  if (!input) co_return std::unexpected(input.error());
  const auto there = program_();
  if (there.empty()) co_return fail(errc::backend_not_installed, "ffmpeg is not installed: apt-get install ffmpeg");
  // The file has no name; ffmpeg opens it by our descriptor, because it must be able to seek.
  proc::ChildSpec spec{.name = kProgram, .argv = command(fmt::format("/proc/{}/fd/{}", ::getpid(), (*input)->get()))};
  spec.argv[0] = there;
  spec.pipes = true;
  auto spawning = spawner_.spawn(std::move(spec));
  auto child = co_await std::move(spawning);
  if (!child) co_return std::unexpected(child.error());
  (*child)->close_input();
  auto collecting = collect(**child, room);
  auto wav = co_await async::with_timeout(timers_, kLongest, std::move(collecting));
  if (!wav) co_return fail(protocol::errc::bad_value, "the conversion of the file takes too long: send wav or flac");
  co_return std::move(*wav);
}

}  // namespace corral::backends
