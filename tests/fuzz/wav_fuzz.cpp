// Sound of clients: a header that passes fits the file and the limits, and pieces have all samples, however they come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dialects/audio/sound_cutter.h"
#include "dialects/audio/sound_kind.h"
#include "dialects/audio/wav_check.h"

namespace {

using namespace corral::dialects::audio;

void must(bool fine) {
  if (!fine) std::abort();
}

// With short pieces, so that small inputs are cut.
constexpr CutRules kRules{.shortest = 0.01, .longest = 0.02, .last = 0.001};

std::uint64_t cut(const CheckedWav& wav, std::string_view bytes, std::size_t step) {
  const auto frame = bytes_of(*wav.kind) * wav.format.channels;
  SoundCutter cutter(wav.format, kRules);
  std::uint64_t frames = 0;
  const auto take = [&] {
    while (const auto piece = cutter.next()) {
      must(piece->first == frames && !piece->samples.empty());
      frames += piece->samples.size();
    }
  };
  for (std::size_t at = 0; at < bytes.size(); at += step * frame) {
    cutter.feed(read_samples(bytes.substr(at, step * frame), *wav.kind));
    take();
  }
  cutter.end();
  take();
  return frames;
}

}  // namespace

// The number of samples in a step, then a file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)read_wav_start(file);
  if (kind_of(file) != SoundKind::wav) return 0;
  const auto wav = check_wav(file, file.size(), "file");
  if (!wav) {
    must(wav.error().param == "file" && !wav.error().message.empty());
    return 0;
  }
  must(wav->samples_at <= file.size() && wav->bytes <= file.size() - wav->samples_at);
  must(wav->format.rate >= WavLimits::kLowestRate && wav->format.rate <= WavLimits::kHighestRate);
  must(wav->format.channels >= 1 && wav->format.channels <= WavLimits::kMaxChannels);
  if (!wav->kind) return 0;
  const auto frame = bytes_of(*wav->kind) * wav->format.channels;
  const auto whole = wav->bytes / frame * frame;
  must(cut(*wav, file.substr(wav->samples_at, whole), data[0] % 64 + 1) == whole / frame);
  return 0;
}
