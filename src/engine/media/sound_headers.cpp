// Headers of WAV, MP3 and FLAC.
#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "engine/media/media_parsing.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

struct Mp3Frame {
  std::uint32_t bytes = 0, samples = 0, rate = 0, channels = 0;
};

// Of layer III with a stated bit rate.
std::optional<Mp3Frame> mp3_frame(MediaReader file, std::size_t at) {
  if (at + 4 > file.size() || file.byte(at) != 0xFF || (file.byte(at + 1) & 0xE0) != 0xE0) return std::nullopt;
  const std::uint32_t version = file.byte(at + 1) >> 3 & 3;  // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const std::uint32_t layer = file.byte(at + 1) >> 1 & 3;
  const std::uint32_t rate = file.byte(at + 2) >> 4, frequency = file.byte(at + 2) >> 2 & 3;
  if (version == 1 || layer != 1 || rate == 0 || rate == 15 || frequency == 3) return std::nullopt;
  static constexpr std::uint32_t kOld[] = {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};
  static constexpr std::uint32_t kNew[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160};
  static constexpr std::uint32_t kFrequencies[] = {44'100, 48'000, 32'000};
  Mp3Frame frame;
  frame.rate = kFrequencies[frequency] / (version == 3 ? 1 : version == 2 ? 2 : 4);
  frame.samples = version == 3 ? 1152 : 576;
  const std::uint32_t kbits = version == 3 ? kOld[rate] : kNew[rate];
  frame.bytes = frame.samples / 8 * kbits * 1000 / frame.rate + (file.byte(at + 2) >> 1 & 1);
  frame.channels = file.byte(at + 3) >> 6 == 3 ? 1 : 2;
  return frame;
}

}  // namespace

Result<WavLayout> wav_layout(MediaReader file) {
  constexpr std::uint32_t kExtensible = 0xFFFE;
  WavLayout layout;
  std::size_t at = 12;
  while (at + 8 <= file.size()) {
    const std::size_t begin = at + 8, there = file.size() - begin;
    const std::size_t length = file.little(at + 4, 4);
    if (file.has(at, "fmt ")) {
      if (length < 16 || there < length) return damaged(MediaFormat::wav, "it ends inside of its header");
      layout.format = file.little(begin, 2);
      layout.channels = file.little(begin + 2, 2);
      layout.rate = file.little(begin + 4, 4);
      layout.bits = file.little(begin + 14, 2);
      if (layout.format == kExtensible && length >= 40) layout.format = file.little(begin + 24, 2);
    } else if (file.has(at, "data")) {
      if (layout.format == 0) return damaged(MediaFormat::wav, "it has no header");
      // A program that writes into a pipe doesn't know the length in advance.
      layout.begin = begin;
      layout.bytes = std::min(length, there);
      if (length == 0) layout.bytes = there;
      break;
    }
    if (length > there) break;
    at = begin + length + length % 2;
  }
  if (layout.begin == 0) return damaged(MediaFormat::wav, "it has no samples");
  const bool law = layout.format == 6 || layout.format == 7;
  const bool known =
      (layout.format == 1 && (layout.bits == 8 || layout.bits == 16 || layout.bits == 24 || layout.bits == 32)) ||
      (layout.format == 3 && (layout.bits == 32 || layout.bits == 64)) || (law && layout.bits == 8);
  if (!known) {
    return fail(errc::invalid_argument,
                fmt::format("the WAV file has samples of format {} with {} bits: integers of 8 to 32 bits, floats, "
                            "A-law and mu-law are known",
                            layout.format, layout.bits));
  }
  if (layout.channels == 0) return damaged(MediaFormat::wav, "it has no channels");
  layout.bytes -= layout.bytes % (layout.channels * layout.bits / 8);
  return layout;
}

Result<MediaHeader> read_wav(MediaReader file) {
  const auto layout = wav_layout(file);
  if (!layout) return std::unexpected(layout.error());
  MediaHeader header{.format = MediaFormat::wav, .rate = layout->rate, .channels = layout->channels};
  const double samples = static_cast<double>(layout->bytes) / (layout->channels * layout->bits / 8);
  if (layout->rate > 0) header.seconds = samples / layout->rate;
  return header;
}

bool is_mp3_frame(MediaReader file, std::size_t at) {
  const auto frame = mp3_frame(file, at);
  if (!frame) return false;
  const std::size_t next = at + frame->bytes;
  return next >= file.size() || mp3_frame(file, next).has_value();
}

std::size_t mp3_begin(MediaReader file) {
  std::size_t at = 0;
  while (file.has(at, "ID3") && at + 10 <= file.size()) {
    std::size_t length = 0;
    for (std::size_t i = 6; i < 10; ++i) length = length << 7 | (file.byte(at + i) & 0x7F);
    constexpr std::uint8_t kFooter = 0x10;
    at += 10 + length + ((file.byte(at + 5) & kFooter) != 0 ? 10 : 0);
  }
  constexpr std::size_t kNear = 64 * 1024;
  for (const std::size_t end = std::min(file.size(), at + kNear); at < end; ++at) {
    if (is_mp3_frame(file, at)) return at;
  }
  return file.size();
}

Result<MediaHeader> read_mp3(MediaReader file) {
  const std::size_t begin = mp3_begin(file);
  const auto first = mp3_frame(file, begin);
  if (!first) return damaged(MediaFormat::mp3, "it has no frames");
  MediaHeader header{.format = MediaFormat::mp3, .rate = first->rate, .channels = first->channels};
  std::size_t other = 0;  // bytes outside of frames
  for (std::size_t at = begin; at < file.size();) {
    if (const auto frame = mp3_frame(file, at)) {
      // The decoder takes the first rate for all.
      header.seconds += static_cast<double>(frame->samples) / first->rate;
      at += frame->bytes;
    } else {
      ++other;
      ++at;
    }
  }
  constexpr std::size_t kTags = 64 * 1024;
  if (other > kTags + (file.size() - begin) / 8) return damaged(MediaFormat::mp3, "most of it are no frames");
  return header;
}

Result<MediaHeader> read_flac(MediaReader file) {
  if (file.size() < 42) return damaged(MediaFormat::flac, "it ends inside of its header");
  if ((file.byte(4) & 0x7F) != 0 || file.big(5, 3) != 34) return damaged(MediaFormat::flac, "it has no header");
  MediaHeader header{.format = MediaFormat::flac};
  header.rate = file.big(18, 3) >> 4;
  header.channels = (file.byte(20) >> 1 & 7) + 1u;
  const std::uint64_t samples = std::uint64_t{file.byte(21) & 0x0Fu} << 32 | file.big(22, 4);
  if (samples == 0) return fail(errc::invalid_argument, "the FLAC file doesn't say how long it is: send a WAV file");
  if (header.rate > 0) header.seconds = static_cast<double>(samples) / header.rate;
  return header;
}

}  // namespace corral::engine
