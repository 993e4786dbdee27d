// Samples to bytes that clients can play: mp3 by libmp3lame, plain samples, wav. Takes its time: some milliseconds for
// a second of sound.
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

// Null: libmp3lame doesn't take this format.
std::unique_ptr<Encoder> make_mp3_encoder(const WavFormat& format);
// 24 kHz, one channel, as OpenAI's "pcm".
std::unique_ptr<Encoder> make_pcm_encoder(const WavFormat& format);
// With a head that knows the length where the whole of it comes to a few seconds; else it says that nobody does yet.
std::unique_ptr<Encoder> make_wav_encoder(const WavFormat& format);

}  // namespace corral::dialects::audio
