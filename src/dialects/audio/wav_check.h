// Checks the header of a client's WAV file before anything reads its samples: a header may claim a format whose
// conversion takes far more memory and time than the file has bytes. Pure. The same format:
// engine/media/sound_headers.cpp (whole files).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dialects/audio/wav.h"

namespace corral::dialects::audio {

struct WavLimits {
  static constexpr std::uint32_t kLowestRate = 8'000, kHighestRate = 192'000;  // samples a second
  static constexpr std::uint16_t kMaxChannels = 8;
  static constexpr std::size_t kLongestHeader = 64 * 1024;  // with all that stands before the samples
};

struct CheckedWav {
  WavFormat format;
  std::optional<SampleKind> kind;  // nothing: read_samples() can't read its samples, but other programs can
  std::uint64_t samples_at = 0;    // offset of the first sample
  std::uint64_t bytes = 0;         // of samples, all of them in the file

  // Seconds. 0 if `kind` is nothing.
  double duration() const;
  friend bool operator==(const CheckedWav&, const CheckedWav&) = default;
};

// `head`: the first bytes of a file of `size` bytes: all of them, or at least kLongestHeader. `param`: the name of the
// request field, for errors. The file begins as WAV (kind_of()). Errors: protocol::errc::bad_value, which names the
// value and the limit.
Result<CheckedWav> check_wav(std::string_view head, std::uint64_t size, std::string_view param);

}  // namespace corral::dialects::audio
