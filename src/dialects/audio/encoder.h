// Encodes samples for clients: mp3 by libmp3lame, plain samples, wav. Takes some milliseconds for a second of sound.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dialects/audio/wav.h"

namespace corral::dialects::audio {

// Of one stream, used by one thread at a time.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual std::string encode(std::span<const std::int16_t> samples) = 0;
  virtual std::string end() = 0;
};

// Null: libmp3lame doesn't support this format.
std::unique_ptr<Encoder> make_mp3_encoder(const WavFormat& format);
// 24 kHz, one channel, like OpenAI's "pcm".
std::unique_ptr<Encoder> make_pcm_encoder(const WavFormat& format);
// The samples as they are: 16 bits, little-endian.
std::unique_ptr<Encoder> make_sample_encoder(const WavFormat& format);
// With the length in its header if the sound has only a few seconds; else with an unknown length.
std::unique_ptr<Encoder> make_wav_encoder(const WavFormat& format);

}  // namespace corral::dialects::audio
