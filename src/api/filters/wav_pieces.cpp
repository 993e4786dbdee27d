#include "api/filters/wav_pieces.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace corral::api {

namespace audio = dialects::audio;

WavPieces::WavPieces(std::shared_ptr<const http::Spool> file, const audio::CheckedWav& wav, http::SpoolRoom& room)
    : wav_(wav),
      room_(room),
      file_(http::Spool::reader(std::move(file))),
      cutter_(wav.format),
      skip_(wav.samples_at),
      left_(wav.bytes) {}

async::Task<Result<std::optional<WavPiece>>> WavPieces::next() {
  auto piece = cutter_.next();
  while (!piece && !ended_) {
    auto reading = read_more();
    if (const auto read = co_await std::move(reading); !read) co_return std::unexpected(read.error());
    piece = cutter_.next();
  }
  if (!piece) co_return std::optional<WavPiece>();
  auto spool = std::make_shared<http::Spool>(room_);
  const std::string_view samples(reinterpret_cast<const char*>(piece->samples.data()), piece->samples.size() * 2);
  const auto head = audio::wav_head({wav_.format.rate, 1}, static_cast<std::uint32_t>(samples.size()));
  auto beginning = spool->append(head);
  if (const auto begun = co_await std::move(beginning); !begun) co_return std::unexpected(begun.error());
  auto appending = spool->append(samples);
  if (const auto appended = co_await std::move(appending); !appended) co_return std::unexpected(appended.error());
  auto finishing = spool->finish();
  if (const auto finished = co_await std::move(finishing); !finished) co_return std::unexpected(finished.error());
  const auto at = static_cast<double>(piece->first) / wav_.format.rate;
  co_return std::optional<WavPiece>(WavPiece{at, std::move(spool)});
}

async::Task<Result<>> WavPieces::read_more() {
  auto reading = file_->read();
  const auto piece = co_await std::move(reading);
  if (!piece) co_return std::unexpected(piece.error());
  auto bytes = *piece;
  const bool is_last = bytes.empty();
  const auto skipped = std::min<std::uint64_t>(skip_, bytes.size());
  skip_ -= skipped;
  bytes = bytes.substr(skipped, left_);
  left_ -= bytes.size();
  held_.append(bytes);
  const auto frame = audio::bytes_of(*wav_.kind) * wav_.format.channels;
  const auto whole = held_.size() / frame * frame;
  cutter_.feed(audio::read_samples(std::string_view(held_).substr(0, whole), *wav_.kind));
  held_.erase(0, whole);
  if (is_last || left_ == 0) {
    ended_ = true;
    cutter_.end();
  }
  co_return Result<>();
}

}  // namespace corral::api
