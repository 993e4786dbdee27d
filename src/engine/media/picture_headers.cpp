// Headers of PNG, JPEG, GIF and WebP.
#include <array>
#include <optional>

#include <fmt/core.h>
#include <zlib.h>

#include "engine/media/media_parsing.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::size_t kPngSignature = 8;
constexpr std::size_t kPngChunkHead = 8;    // length and type
constexpr std::size_t kPngChunkExtra = 12;  // with the checksum behind the data

// Calls visit(type, begin, length) for each chunk that is there as a whole, until it returns false.
template <typename Visit>
void each_chunk(MediaReader file, Visit visit) {
  for (std::size_t at = kPngSignature; at + kPngChunkExtra <= file.size();) {
    const std::size_t length = file.big(at, 4);
    if (length > file.size() - at - kPngChunkExtra) return;
    if (!visit(at + 4, at + kPngChunkHead, length)) return;
    at += kPngChunkExtra + length;
  }
}

// Bytes of the pixels before compression.
std::uint64_t png_bytes(MediaReader file) {
  static constexpr std::array<std::uint64_t, 7> kSamples = {1, 0, 3, 1, 2, 0, 4};  // of a pixel, by colour type
  const std::uint64_t width = file.big(16, 4), height = file.big(20, 4), depth = file.byte(24);
  const std::uint64_t samples = kSamples.at(std::min<std::size_t>(file.byte(25), kSamples.size() - 1));
  const auto of = [&](std::uint64_t columns, std::uint64_t rows) {
    return columns == 0 ? 0 : rows * (1 + (columns * samples * depth + 7) / 8);
  };
  if (file.byte(28) == 0) return of(width, height);
  struct Part {
    std::uint64_t x, y, every_x, every_y;
  };
  static constexpr Part kParts[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                    {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  std::uint64_t bytes = 0;
  for (const Part& part : kParts) {
    bytes += of((width - std::min(width, part.x) + part.every_x - 1) / part.every_x,
                (height - std::min(height, part.y) + part.every_y - 1) / part.every_y);
  }
  return bytes;
}

// Counts what compressed data become, in pieces, up to `max`. None: they are damaged.
class Inflation {
 public:
  explicit Inflation(std::uint64_t max) : max_(max) { ready_ = inflateInit(&stream_) == Z_OK; }
  ~Inflation() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  // False: it is over, one way or the other.
  bool add(MediaBytes data) {
    stream_.next_in = const_cast<Bytef*>(data.data());
    stream_.avail_in = static_cast<uInt>(data.size());
    while (ready_ && stream_.avail_in > 0 && !above()) {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      bytes_ += buffer_.size() - stream_.avail_out;
      if (status == Z_STREAM_END) return false;
      if (status == Z_BUF_ERROR) return true;  // it needs more data
      if (status != Z_OK) {
        damaged_ = true;
        return false;
      }
    }
    return ready_ && !above();
  }
  bool above() const { return bytes_ > max_; }
  bool is_damaged() const { return damaged_ || !ready_; }

 private:
  const std::uint64_t max_;
  z_stream stream_{};
  bool ready_ = false, damaged_ = false;
  std::uint64_t bytes_ = 0;
  std::array<std::uint8_t, 32 * 1024> buffer_{};
};

bool is_frame_header(std::uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

}  // namespace

Result<MediaHeader> read_png(MediaReader file) {
  if (file.size() < 33) return damaged(MediaFormat::png, "it ends inside of its header");
  if (file.big(8, 4) != 13 || !file.has(12, "IHDR")) return damaged(MediaFormat::png, "it has no header");
  bool ends = false, other = false;
  each_chunk(file, [&](std::size_t type, std::size_t, std::size_t) {
    ends = file.has(type, "IEND");
    // Decoders then take the data for another kind of stream than the check of their size does.
    other = other || file.has(type, "CgBI");
    return !ends;
  });
  if (other) return fail(errc::invalid_argument, "the PNG file is of a kind for iPhones only: save it as PNG again");
  if (!ends) return damaged(MediaFormat::png, "it ends before its picture does");
  return MediaHeader{.format = MediaFormat::png, .width = file.big(16, 4), .height = file.big(20, 4)};
}

Result<> check_png_data(MediaReader file) {
  constexpr std::uint64_t kBest = 1032;          // bytes that a byte of compressed data becomes at most
  constexpr std::uint64_t kHarmless = 64 << 20;  // that the data may become without a look at them
  constexpr std::uint64_t kExtra = 64 << 10;
  std::uint64_t compressed = 0;
  each_chunk(file, [&](std::size_t type, std::size_t, std::size_t length) {
    if (file.has(type, "IDAT")) compressed += length;
    return !file.has(type, "IEND");
  });
  if (compressed * kBest <= kHarmless) return {};
  const std::uint64_t pixels = png_bytes(file);
  Inflation inflation(pixels + kExtra);
  each_chunk(file, [&](std::size_t type, std::size_t begin, std::size_t length) {
    if (file.has(type, "IDAT") && !inflation.add(file.from(begin).first(length))) return false;
    return !file.has(type, "IEND");
  });
  if (inflation.is_damaged()) return damaged(MediaFormat::png, "its data can't be decompressed");
  if (!inflation.above()) return {};
  return damaged(MediaFormat::png, fmt::format("its data are more than the {} bytes of {} x {} pixels", pixels,
                                               file.big(16, 4), file.big(20, 4)));
}

Result<MediaHeader> read_jpeg(MediaReader file, const MediaLimits& limits) {
  std::optional<MediaHeader> header;
  for (std::size_t at = 2; at < file.size() && !header;) {
    if (file.byte(at) != 0xFF) {
      ++at;
      continue;
    }
    while (file.byte(at) == 0xFF) ++at;
    const std::uint8_t marker = file.byte(at++);
    if (is_frame_header(marker)) {
      if (marker > 0xC2) {
        return fail(errc::invalid_argument,
                    "the JPEG file is of a rare kind: only baseline and progressive ones are known");
      }
      if (at + 7 > file.size()) break;
      header = {.format = MediaFormat::jpeg, .width = file.big(at + 5, 2), .height = file.big(at + 3, 2)};
    } else if (marker == 0xDA || marker == 0xD9) {
      return damaged(MediaFormat::jpeg, "its picture begins without a header");
    } else if (marker != 0x00 && marker != 0x01 && (marker < 0xD0 || marker > 0xD8)) {
      at += std::max(2u, file.big(at, 2));
    }
  }
  if (!header) return damaged(MediaFormat::jpeg, "it ends inside of its header");
  std::uint32_t scans = 0;
  bool ends = false;
  for (std::size_t at = 2; at + 1 < file.size(); ++at) {
    if (file.byte(at) != 0xFF) continue;
    if (file.byte(at + 1) == 0xDA) ++scans;
    if (file.byte(at + 1) == 0xD9) ends = scans > 0;
  }
  if (scans > limits.scans) {
    return fail(errc::invalid_argument,
                fmt::format("the JPEG file has {} scans: at most {} are allowed", scans, limits.scans));
  }
  if (!ends) return damaged(MediaFormat::jpeg, "it ends before its picture does");
  return *header;
}

Result<MediaHeader> read_gif(MediaReader file) {
  if (file.size() < 13) return damaged(MediaFormat::gif, "it ends inside of its header");
  return MediaHeader{.format = MediaFormat::gif, .width = file.little(6, 2), .height = file.little(8, 2)};
}

Result<MediaHeader> read_webp(MediaReader file) {
  if (file.size() < 30) return damaged(MediaFormat::webp, "it ends inside of its header");
  if (std::uint64_t{file.little(4, 4)} + 8 > file.size())
    return damaged(MediaFormat::webp, "it ends before its picture does");
  MediaHeader header{.format = MediaFormat::webp};
  if (file.has(12, "VP8 ") && file.has(23, "\x9D\x01\x2A")) {
    header.width = file.little(26, 2) & 0x3FFF;
    header.height = file.little(28, 2) & 0x3FFF;
  } else if (file.has(12, "VP8L") && file.byte(20) == 0x2F) {
    const std::uint32_t sizes = file.little(21, 4);
    header.width = (sizes & 0x3FFF) + 1;
    header.height = (sizes >> 14 & 0x3FFF) + 1;
  } else if (file.has(12, "VP8X")) {
    constexpr std::uint8_t kAnimation = 0x02;
    if ((file.byte(20) & kAnimation) != 0)
      return fail(errc::invalid_argument, "the WebP file is an animation: send one picture of it");
    header.width = file.little(24, 3) + 1;
    header.height = file.little(27, 3) + 1;
  } else {
    return damaged(MediaFormat::webp, "it has no header");
  }
  return header;
}

}  // namespace corral::engine
