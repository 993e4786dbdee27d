// Headers of pictures and sounds: format, size, and the limits that are checked before anything is decoded. What a file
// claims here bounds the memory and the work of its decoder. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::engine {

using MediaBytes = std::span<const std::uint8_t>;

enum class MediaFormat { png, jpeg, gif, webp, wav, mp3, flac };
std::string_view to_string(MediaFormat format);  // "PNG", ...
inline bool is_sound(MediaFormat format) { return format >= MediaFormat::wav; }

struct MediaLimits {
  std::uint64_t bytes = 32ull << 20;                   // of a file
  std::uint64_t pixels = 7680ull * 4320;               // of a picture
  std::uint32_t ratio = 200;                           // of a picture's longer side to its shorter one
  std::uint32_t scans = 64;                            // of a JPEG: each is work for all pixels
  std::uint32_t min_rate = 8'000, max_rate = 192'000;  // samples per second
  std::uint32_t channels = 8;
  std::uint32_t seconds = 20 * 60;
  double min_seconds = 0.1;  // libmtmd ends the process if a sound becomes less than a few samples or frames
};

struct MediaHeader {
  MediaFormat format = MediaFormat::png;
  std::uint32_t width = 0, height = 0;  // of a picture
  std::uint32_t rate = 0;               // samples per second
  std::uint32_t channels = 0;
  double seconds = 0;
};

// The format of a file by its first bytes, and its header. Errors: invalid_argument (no known format, damaged, above a
// limit); the message says what is wrong, with the numbers.
Result<MediaHeader> read_media_header(MediaBytes bytes, const MediaLimits& limits = {});

// What a decoder of sounds gets: a WAV file with nothing but a plain header and the samples that are there, an MP3 from
// its first frame on. So the decoder sees what was checked, whatever else the file contains. Requires a valid header.
std::vector<std::uint8_t> plain_sound(MediaBytes bytes, MediaFormat format);

}  // namespace corral::engine
