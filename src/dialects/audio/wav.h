// WAV files: headers, and samples of the usual kinds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::dialects::audio {

// 16 bits a sample, little-endian.
struct WavFormat {
  std::uint32_t rate = 0;  // samples a second
  std::uint16_t channels = 1;
  friend bool operator==(const WavFormat&, const WavFormat&) = default;
};

// Codes of the format chunk.
inline constexpr std::uint16_t kWavPcm = 1, kWavFloat = 3, kWavExtensible = 0xfffe;

inline constexpr std::size_t kWavHead = 44;
// For a stream of unknown length: readers read to the end of the file.
inline constexpr std::uint32_t kUnknownLength = 0xffffffff - kWavHead + 8;

// A header of kWavHead bytes for `bytes` bytes of samples.
std::string wav_head(const WavFormat& format, std::uint32_t bytes);

// How a file stores a sample; little-endian.
enum class SampleKind : std::uint8_t { unsigned_8, signed_16, signed_24, signed_32, float_32 };
std::size_t bytes_of(SampleKind kind);
// Whole samples, as 16 bits each.
std::vector<std::int16_t> read_samples(std::string_view bytes, SampleKind kind);

struct WavStart {
  WavFormat format;
  SampleKind kind = SampleKind::signed_16;
  std::size_t samples_at = 0;  // offset of the first sample
  // Bytes of samples, behind which other things may stand. Nothing: all that comes. A program that doesn't know the
  // length when it writes the header says 0, or more than will come.
  std::optional<std::uint32_t> length;
};
// Longest header, with all that stands before the samples (titles, pictures).
inline constexpr std::size_t kLongestWavHead = 256 * 1024;
// Reads the start of a WAV file. Nothing: more bytes are needed. Errors: protocol::errc::remote_upstream: it isn't WAV,
// or can't be read here.
Result<std::optional<WavStart>> read_wav_start(std::string_view bytes);

}  // namespace corral::dialects::audio
