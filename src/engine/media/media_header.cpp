#include "engine/media/media_header.h"

#include <array>

#include <fmt/core.h>

#include "engine/media/media_parsing.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

Result<MediaHeader> read_any(MediaReader file, const MediaLimits& limits) {
  if (file.has(0, "\x89PNG\r\n\x1a\n")) return read_png(file);
  if (file.has(0, "\xFF\xD8")) return read_jpeg(file, limits);
  if (file.has(0, "GIF87a") || file.has(0, "GIF89a")) return read_gif(file);
  if (file.has(0, "RIFF") && file.has(8, "WEBP")) return read_webp(file);
  if (file.has(0, "RIFF") && file.has(8, "WAVE")) return read_wav(file);
  if (file.has(0, "fLaC")) return read_flac(file);
  if (file.has(0, "ID3") || is_mp3_frame(file, 0)) return read_mp3(file);
  return fail(errc::invalid_argument, "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
}

Result<> check_picture(const MediaHeader& header, const MediaLimits& limits) {
  const std::uint64_t width = header.width, height = header.height;
  if (width == 0 || height == 0)
    return fail(errc::invalid_argument, fmt::format("the picture has {} x {} pixels", width, height));
  if (width * height > limits.pixels) {
    return fail(errc::invalid_argument, fmt::format("a {} x {} picture has {} pixels: at most {} are allowed", width,
                                                    height, width * height, limits.pixels));
  }
  if (std::max(width, height) > std::min(width, height) * limits.ratio) {
    return fail(errc::invalid_argument, fmt::format("a {} x {} picture is too narrow: its longer side may be at most "
                                                    "{} times as long as the other one",
                                                    width, height, limits.ratio));
  }
  return {};
}

Result<> check_sound(const MediaHeader& header, const MediaLimits& limits) {
  if (header.rate < limits.min_rate || header.rate > limits.max_rate) {
    return fail(errc::invalid_argument, fmt::format("a sound of {} Hz: {} to {} Hz are allowed", header.rate,
                                                    limits.min_rate, limits.max_rate));
  }
  if (header.channels < 1 || header.channels > limits.channels) {
    return fail(errc::invalid_argument,
                fmt::format("a sound of {} channels: 1 to {} are allowed", header.channels, limits.channels));
  }
  if (header.seconds > limits.seconds) {
    return fail(errc::invalid_argument,
                fmt::format("a sound of {:.0f} seconds: at most {} are allowed", header.seconds, limits.seconds));
  }
  if (header.seconds <= 0) return fail(errc::invalid_argument, "the sound has no samples");
  if (header.seconds < limits.min_seconds) {
    return fail(errc::invalid_argument,
                fmt::format("a sound of {:.4f} seconds: at least {} are needed", header.seconds, limits.min_seconds));
  }
  return {};
}

void put(std::vector<std::uint8_t>& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }

void put(std::vector<std::uint8_t>& to, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

std::vector<std::uint8_t> plain_wav(MediaReader file) {
  const auto layout = wav_layout(file);
  if (!layout) return {};
  const std::uint32_t block = layout->channels * layout->bits / 8;
  const auto samples = file.from(layout->begin).first(layout->bytes);
  const auto size = static_cast<std::uint32_t>(samples.size());
  std::vector<std::uint8_t> plain;
  plain.reserve(44 + samples.size());
  put(plain, "RIFF");
  put(plain, 36 + size, 4);
  put(plain, "WAVEfmt ");
  put(plain, 16, 4);
  put(plain, layout->format, 2);
  put(plain, layout->channels, 2);
  put(plain, layout->rate, 4);
  put(plain, layout->rate * block, 4);
  put(plain, block, 2);
  put(plain, layout->bits, 2);
  put(plain, "data");
  put(plain, size, 4);
  plain.insert(plain.end(), samples.begin(), samples.end());
  return plain;
}

}  // namespace

std::string_view to_string(MediaFormat format) {
  static constexpr std::array<std::string_view, 7> kNames = {"PNG", "JPEG", "GIF", "WebP", "WAV", "MP3", "FLAC"};
  return kNames.at(static_cast<std::size_t>(format));
}

std::unexpected<Error> damaged(MediaFormat format, std::string_view what) {
  return fail(errc::invalid_argument, fmt::format("the {} file is damaged: {}", to_string(format), what));
}

Result<MediaHeader> read_media_header(MediaBytes bytes, const MediaLimits& limits) {
  if (bytes.size() > limits.bytes) {
    return fail(errc::invalid_argument,
                fmt::format("the file has {} bytes: at most {} are allowed", bytes.size(), limits.bytes));
  }
  const MediaReader file(bytes);
  auto header = read_any(file, limits);
  if (!header) return header;
  auto fine = is_sound(header->format) ? check_sound(*header, limits) : check_picture(*header, limits);
  if (fine && header->format == MediaFormat::png) fine = check_png_data(file);
  if (!fine) return std::unexpected(std::move(fine.error()));
  return header;
}

std::vector<std::uint8_t> plain_sound(MediaBytes bytes, MediaFormat format) {
  const MediaReader file(bytes);
  if (format == MediaFormat::wav) return plain_wav(file);
  const MediaBytes rest = file.from(format == MediaFormat::mp3 ? mp3_begin(file) : 0);
  return {rest.begin(), rest.end()};
}

}  // namespace corral::engine
