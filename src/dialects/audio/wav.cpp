#include "dialects/audio/wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <typename T>
T get(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

std::string wav_head(const WavFormat& format, std::uint32_t bytes) {
  constexpr std::uint16_t kBits = 16;
  const auto frame = static_cast<std::uint16_t>(format.channels * kBits / 8);
  std::string head = "RIFF";
  put<std::uint32_t>(head, bytes == kUnknownLength ? 0xffffffff : bytes + std::uint32_t{kWavHead} - 8);
  head += "WAVEfmt ";
  put<std::uint32_t>(head, 16);
  put<std::uint16_t>(head, kWavPcm);
  put<std::uint16_t>(head, format.channels);
  put<std::uint32_t>(head, format.rate);
  put<std::uint32_t>(head, format.rate * frame);
  put<std::uint16_t>(head, frame);
  put<std::uint16_t>(head, kBits);
  head += "data";
  put<std::uint32_t>(head, bytes == kUnknownLength ? 0xffffffff : bytes);
  return head;
}

std::size_t bytes_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::unsigned_8:
      return 1;
    case SampleKind::signed_16:
      return 2;
    case SampleKind::signed_24:
      return 3;
    case SampleKind::signed_32:
    case SampleKind::float_32:
      return 4;
  }
  return 1;
}

std::vector<std::int16_t> read_samples(std::string_view bytes, SampleKind kind) {
  const auto size = bytes_of(kind);
  std::vector<std::int16_t> samples(bytes.size() / size);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto at = i * size;
    switch (kind) {
      case SampleKind::unsigned_8:
        samples[i] = static_cast<std::int16_t>((get<std::uint8_t>(bytes, at) - 128) * 256);
        break;
      case SampleKind::float_32: {
        const float value = get<float>(bytes, at);
        samples[i] = static_cast<std::int16_t>(std::isfinite(value) ? std::clamp(value, -1.0F, 1.0F) * 32767 : 0);
        break;
      }
      default:  // the upper two bytes of a whole number
        samples[i] = get<std::int16_t>(bytes, at + size - 2);
    }
  }
  return samples;
}

namespace {

constexpr std::uint32_t kUnlikely = 0x7f000000;  // length of a file
constexpr std::uint32_t kLowestRate = 1'000, kHighestRate = 384'000;
constexpr std::uint16_t kMaxChannels = 32;

std::unexpected<Error> unreadable(std::string_view why) {
  return fail(protocol::errc::remote_upstream,
              fmt::format("the response of the backend is not readable audio: {}", why));
}

std::optional<SampleKind> sample_kind(std::uint16_t code, std::uint16_t bits) {
  if (code == kWavFloat && bits == 32) return SampleKind::float_32;
  if (code != kWavPcm) return std::nullopt;
  if (bits == 8) return SampleKind::unsigned_8;
  if (bits == 16) return SampleKind::signed_16;
  if (bits == 24) return SampleKind::signed_24;
  if (bits == 32) return SampleKind::signed_32;
  return std::nullopt;
}

Result<> read_format(std::string_view chunk, WavStart& into) {
  constexpr std::size_t kShortest = 16, kSubFormat = 24;
  if (chunk.size() < kShortest) return unreadable("its format has fewer than 16 bytes");
  auto code = get<std::uint16_t>(chunk, 0);
  if (code == kWavExtensible && chunk.size() >= kSubFormat + 2) code = get<std::uint16_t>(chunk, kSubFormat);
  const auto bits = get<std::uint16_t>(chunk, 14);
  into.format = {get<std::uint32_t>(chunk, 4), get<std::uint16_t>(chunk, 2)};
  const auto kind = sample_kind(code, bits);
  if (!kind) {
    return unreadable(
        fmt::format("wav of format {} with {} bits (readable: whole numbers of 8, 16, 24 and 32 bits, and "
                    "floating-point numbers of 32 bits)",
                    code, bits));
  }
  if (into.format.rate < kLowestRate || into.format.rate > kHighestRate)
    return unreadable(fmt::format("wav with {} samples a second", into.format.rate));
  if (into.format.channels == 0 || into.format.channels > kMaxChannels)
    return unreadable(fmt::format("wav with {} channels", into.format.channels));
  into.kind = *kind;
  return {};
}

}  // namespace

Result<std::optional<WavStart>> read_wav_start(std::string_view bytes) {
  constexpr std::size_t kFirst = 12, kChunkHead = 8;
  constexpr std::string_view kRiff = "RIFF", kWave = "WAVE";
  const auto differs = [&](std::size_t at, std::string_view from) {
    const auto there = bytes.substr(std::min(at, bytes.size()), from.size());
    return !from.starts_with(there);
  };
  if (differs(0, kRiff) || differs(8, kWave)) return unreadable("it is not wav");
  WavStart start;
  for (std::size_t at = kFirst; bytes.size() >= at + kChunkHead;) {
    const auto name = bytes.substr(at, 4);
    const auto length = get<std::uint32_t>(bytes, at + 4);
    at += kChunkHead;
    if (name == "data") {
      if (start.format.rate == 0) return unreadable("its samples come before their format");
      start.samples_at = at;
      // With a length of 0 there are none, or it was unknown: then the length of the file is no better.
      const auto whole = get<std::uint32_t>(bytes, 4);
      if (length > 0 || (whole + kChunkHead > at && whole < kUnlikely)) start.length = length;
      return start;
    }
    if (at + length > kLongestWavHead) return unreadable("its header is too long");
    if (bytes.size() - at < length) break;
    if (name == "fmt ") {
      if (const auto read = read_format(bytes.substr(at, length), start); !read) return std::unexpected(read.error());
    }
    at += length + length % 2;
  }
  if (bytes.size() > kLongestWavHead) return unreadable("its header is too long");
  return std::nullopt;
}

}  // namespace corral::dialects::audio
