#include "dialects/audio/wav_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

constexpr std::uint16_t kMsAdpcm = 2, kALaw = 6, kMuLaw = 7, kImaAdpcm = 17;
// Programs that write to a pipe don't know the length: they write 0, or at least this.
constexpr std::uint64_t kUnknownFrom = 0x7f000000;

struct Coding {
  std::uint16_t code;
  std::uint16_t bits;
  std::optional<SampleKind> kind = {};
  bool is_packed = false;  // a block has many samples
};
constexpr auto kCodings = std::to_array<Coding>({
    {kWavPcm, 8, SampleKind::unsigned_8},
    {kWavPcm, 16, SampleKind::signed_16},
    {kWavPcm, 24, SampleKind::signed_24},
    {kWavPcm, 32, SampleKind::signed_32},
    {kWavFloat, 32, SampleKind::float_32},
    {kWavFloat, 64},
    {kALaw, 8},
    {kMuLaw, 8},
    {kMsAdpcm, 4, std::nullopt, true},
    {kImaAdpcm, 4, std::nullopt, true},
});

class HeaderReader {
 public:
  HeaderReader(std::string_view head, std::uint64_t size, std::string_view param)
      : head_(head), size_(size), param_(param), big_endian_(head.starts_with("RIFX")) {}

  Result<CheckedWav> read() {
    constexpr std::uint64_t kFirst = 12, kChunkHead = 8;
    for (std::uint64_t at = kFirst;;) {
      if (at + kChunkHead > head_.size()) return end_of_head();
      const auto name = head_.substr(at, 4);
      const std::uint64_t length = number(at + 4, 4);
      at += kChunkHead;
      if (name == "data") return samples(at, length);
      if (at + length > head_.size()) return end_of_head();
      if (name == "fmt ") {
        if (auto done = read_format(at, length); !done) return std::unexpected(std::move(done.error()));
      }
      at += length + length % 2;
    }
  }

 private:
  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(protocol::errc::bad_value, fmt::format("'{}' is a wav file that cannot be used: {}", param_, what),
                std::string(param_));
  }

  std::unexpected<Error> end_of_head() const {
    if (head_.size() >= size_)
      return wrong(fmt::format("it ends within its header, after {} bytes; send the complete file", size_));
    return wrong(fmt::format("its samples do not begin within the first {} bytes; remove pictures and texts from it",
                             WavLimits::kLongestHeader));
  }

  std::uint32_t number(std::uint64_t at, std::size_t bytes) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto from = big_endian_ ? at + i : at + bytes - 1 - i;
      value = value << 8 | static_cast<unsigned char>(head_[from]);
    }
    return value;
  }

  Result<> read_format(std::uint64_t at, std::uint64_t length) {
    constexpr std::uint64_t kShortest = 16, kSubFormat = 24;
    if (coding_ != nullptr) return wrong("its header has two formats");
    if (length < kShortest) return wrong(fmt::format("its format has {} bytes, not at least {}", length, kShortest));
    auto code = number(at, 2);
    if (code == kWavExtensible && length >= kSubFormat + 2) code = number(at + kSubFormat, 2);
    const auto channels = number(at + 2, 2), rate = number(at + 4, 4), block = number(at + 12, 2),
               bits = number(at + 14, 2);
    if (rate < WavLimits::kLowestRate || rate > WavLimits::kHighestRate) {
      return wrong(fmt::format("its header claims {} samples per second; supported: {} to {}", rate,
                               WavLimits::kLowestRate, WavLimits::kHighestRate));
    }
    if (channels < 1 || channels > WavLimits::kMaxChannels)
      return wrong(fmt::format("its header claims {} channels; supported: 1 to {}", channels, WavLimits::kMaxChannels));
    const auto is_it = [&](const Coding& coding) { return coding.code == code && coding.bits == bits; };
    const auto* const found = std::ranges::find_if(kCodings, is_it);
    if (found == kCodings.end()) {
      return wrong(
          fmt::format("its header claims format {} with {} bits per sample; supported: 1 (whole numbers) with "
                      "8, 16, 24 or 32 bits, 3 (floating-point) with 32 or 64, 6 and 7 (A-law, mu-law) with "
                      "8, 2 and 17 (ADPCM) with 4",
                      code, bits));
    }
    const auto frame = channels * bits / 8;
    if (found->is_packed ? block == 0 : block != frame) {
      return wrong(
          fmt::format("its header claims blocks of {} bytes, which does not fit {} channels with {} bits per "
                      "sample",
                      block, channels, bits));
    }
    coding_ = found;
    wav_.format = {rate, static_cast<std::uint16_t>(channels)};
    if (!big_endian_) wav_.kind = found->kind;
    block_ = block;
    return {};
  }

  Result<CheckedWav> samples(std::uint64_t at, std::uint64_t claimed) {
    if (coding_ == nullptr) return wrong("its header has samples before their format");
    const auto there = size_ - std::min(size_, at);
    const bool is_known = claimed > 0 && claimed < kUnknownFrom;
    if (is_known && claimed > there) {
      return wrong(fmt::format("its header claims {} bytes of samples, and the file has {}; send the complete file",
                               claimed, there));
    }
    wav_.samples_at = at;
    wav_.bytes = is_known ? claimed : there;
    if (wav_.bytes < block_) return wrong("it has no samples");
    return wav_;
  }

  const std::string_view head_;
  const std::uint64_t size_;
  const std::string_view param_;
  const bool big_endian_;
  const Coding* coding_ = nullptr;  // null: the format hasn't come yet
  std::uint64_t block_ = 1;
  CheckedWav wav_;
};

}  // namespace

double CheckedWav::duration() const {
  if (!kind) return 0;
  return static_cast<double>(bytes) / static_cast<double>(bytes_of(*kind) * format.channels) / format.rate;
}

Result<CheckedWav> check_wav(std::string_view head, std::uint64_t size, std::string_view param) {
  return HeaderReader(head, size, param).read();
}

}  // namespace corral::dialects::audio
