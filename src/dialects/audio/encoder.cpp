#include "dialects/audio/encoder.h"

#include <utility>

#include <lame/lame.h>

#include "dialects/audio/resampler.h"

namespace corral::dialects::audio {
namespace {

constexpr std::uint32_t kPcmRate = 24'000;
// Bytes of a wav that are held before it is sent without a length: some seconds of speech, which are made in hundredths
// of a second.
constexpr std::size_t kHeldWav = 256 * 1024;
constexpr int kMp3Kilobits = 64;  // of one channel
constexpr int kMp3Quality = 5;

std::string bytes_of(std::span<const std::int16_t> samples) {
  return {reinterpret_cast<const char*>(samples.data()), samples.size_bytes()};
}

class Mp3Encoder final : public Encoder {
 public:
  explicit Mp3Encoder(const WavFormat& format) : channels_(format.channels), lame_(lame_init(), lame_close) {
    if (!lame_) return;
    const auto silent = [](const char*, va_list) {};
    lame_set_errorf(lame_.get(), silent);
    lame_set_debugf(lame_.get(), silent);
    lame_set_msgf(lame_.get(), silent);
    lame_set_in_samplerate(lame_.get(), static_cast<int>(format.rate));
    lame_set_num_channels(lame_.get(), format.channels);
    lame_set_mode(lame_.get(), format.channels == 1 ? MONO : JOINT_STEREO);
    lame_set_brate(lame_.get(), kMp3Kilobits * format.channels);
    lame_set_quality(lame_.get(), kMp3Quality);
    lame_set_bWriteVbrTag(lame_.get(), 0);  // it would be written last, at the beginning of the file
    if (lame_init_params(lame_.get()) < 0) lame_.reset();
  }
  bool works() const { return lame_ != nullptr; }

  std::string encode(std::span<const std::int16_t> samples) override {
    const auto count = samples.size() / channels_;
    std::string out(count * 5 / 4 + 7200, '\0');
    auto* const into = reinterpret_cast<unsigned char*>(out.data());
    auto* const from = const_cast<short*>(samples.data());  // lame only reads them
    const int wrote = channels_ == 1
                          ? lame_encode_buffer(lame_.get(), from, from, int(count), into, int(out.size()))
                          : lame_encode_buffer_interleaved(lame_.get(), from, int(count), into, int(out.size()));
    out.resize(wrote > 0 ? static_cast<std::size_t>(wrote) : 0);
    return out;
  }
  std::string end() override {
    std::string out(7200, '\0');
    const int wrote = lame_encode_flush(lame_.get(), reinterpret_cast<unsigned char*>(out.data()), int(out.size()));
    out.resize(wrote > 0 ? static_cast<std::size_t>(wrote) : 0);
    return out;
  }

 private:
  const std::uint16_t channels_;
  std::unique_ptr<lame_global_flags, int (*)(lame_t)> lame_;
};

class PcmEncoder final : public Encoder {
 public:
  explicit PcmEncoder(const WavFormat& format) : channels_(format.channels), resampler_(format.rate, kPcmRate) {}

  std::string encode(std::span<const std::int16_t> samples) override {
    std::vector<std::int16_t> mono;
    if (channels_ > 1) {
      mono.reserve(samples.size() / channels_);
      for (std::size_t at = 0; at + channels_ <= samples.size(); at += channels_) {
        int sum = 0;
        for (std::size_t channel = 0; channel < channels_; ++channel) sum += samples[at + channel];
        mono.push_back(static_cast<std::int16_t>(sum / channels_));
      }
      samples = mono;
    }
    std::vector<std::int16_t> out;
    resampler_.feed(samples, out);
    return bytes_of(out);
  }
  std::string end() override {
    std::vector<std::int16_t> out;
    resampler_.end(out);
    return bytes_of(out);
  }

 private:
  const std::uint16_t channels_;
  Resampler resampler_;
};

class SampleEncoder final : public Encoder {
 public:
  std::string encode(std::span<const std::int16_t> samples) override { return bytes_of(samples); }
  std::string end() override { return {}; }
};

class WavEncoder final : public Encoder {
 public:
  explicit WavEncoder(const WavFormat& format) : format_(format) {}

  std::string encode(std::span<const std::int16_t> samples) override {
    if (headed_) return bytes_of(samples);
    held_ += bytes_of(samples);
    if (held_.size() < kHeldWav) return {};
    headed_ = true;
    return wav_head(format_, kUnknownLength).append(std::exchange(held_, {}));
  }
  std::string end() override {
    if (headed_) return {};
    headed_ = true;
    return wav_head(format_, static_cast<std::uint32_t>(held_.size())).append(held_);
  }

 private:
  const WavFormat format_;
  std::string held_;
  bool headed_ = false;
};

}  // namespace

std::unique_ptr<Encoder> make_mp3_encoder(const WavFormat& format) {
  if (format.channels != 1 && format.channels != 2) return nullptr;
  auto encoder = std::make_unique<Mp3Encoder>(format);
  return encoder->works() ? std::move(encoder) : nullptr;
}

std::unique_ptr<Encoder> make_pcm_encoder(const WavFormat& format) { return std::make_unique<PcmEncoder>(format); }
std::unique_ptr<Encoder> make_sample_encoder(const WavFormat&) { return std::make_unique<SampleEncoder>(); }
std::unique_ptr<Encoder> make_wav_encoder(const WavFormat& format) { return std::make_unique<WavEncoder>(format); }

}  // namespace corral::dialects::audio
