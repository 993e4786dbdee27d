// Parsers of headers by format. Internal to media_header.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/media/media_header.h"

namespace corral::engine {

// Numbers at a place in a file; 0 behind its end.
class MediaReader {
 public:
  explicit MediaReader(MediaBytes bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }
  std::uint8_t byte(std::size_t at) const { return at < bytes_.size() ? bytes_[at] : std::uint8_t{0}; }
  std::uint32_t big(std::size_t at, std::size_t bytes) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | byte(at + i);
    return value;
  }
  std::uint32_t little(std::size_t at, std::size_t bytes) const {
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | byte(at + i);
    return value;
  }
  bool has(std::size_t at, std::string_view text) const {
    if (at + text.size() > bytes_.size()) return false;
    return std::equal(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at),
                      [](char wanted, std::uint8_t is) { return static_cast<std::uint8_t>(wanted) == is; });
  }
  MediaBytes from(std::size_t at) const { return bytes_.subspan(std::min(at, bytes_.size())); }

 private:
  MediaBytes bytes_;
};

std::unexpected<Error> damaged(MediaFormat format, std::string_view what);

Result<MediaHeader> read_png(MediaReader file);
Result<MediaHeader> read_jpeg(MediaReader file, const MediaLimits& limits);
Result<MediaHeader> read_gif(MediaReader file);
Result<MediaHeader> read_webp(MediaReader file);
Result<MediaHeader> read_wav(MediaReader file);
Result<MediaHeader> read_mp3(MediaReader file);
Result<MediaHeader> read_flac(MediaReader file);

// More data than the pixels of the header would take any amount of memory.
Result<> check_png_data(MediaReader file);

struct WavLayout {
  std::uint32_t format = 0;  // 1: integers, 3: floats, 6 and 7: A-law and mu-law
  std::uint32_t channels = 0, rate = 0, bits = 0;
  std::size_t begin = 0, bytes = 0;  // the samples that are there
};
Result<WavLayout> wav_layout(MediaReader file);
// The first frame: behind tags.
std::size_t mp3_begin(MediaReader file);
bool is_mp3_frame(MediaReader file, std::size_t at);

}  // namespace corral::engine
