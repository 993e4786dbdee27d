// Headers of WAV files. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::dialects::audio {

// 16 bits a sample, little-endian.
struct WavFormat {
  std::uint32_t rate = 0;  // samples a second
  std::uint16_t channels = 1;
  friend bool operator==(const WavFormat&, const WavFormat&) = default;
};

inline constexpr std::size_t kWavHead = 44;
// For a stream of unknown length: readers read to the end of the file.
inline constexpr std::uint32_t kUnknownLength = 0xffffffff - kWavHead + 8;

// A header of kWavHead bytes for `bytes` bytes of samples.
std::string wav_head(const WavFormat& format, std::uint32_t bytes);

struct WavStart {
  WavFormat format;
  std::size_t samples_at = 0;  // offset of the first sample
};
// Reads the start of a WAV file, and ignores its length field. Nothing: more bytes are needed, or it isn't WAV; after 4
// KiB it isn't.
std::optional<WavStart> read_wav_start(std::string_view bytes);

}  // namespace corral::dialects::audio
