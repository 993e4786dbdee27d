#include "dialects/audio/wav.h"

#include <bit>
#include <cstring>

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
  constexpr std::uint16_t kPcm = 1, kBits = 16;
  const auto frame = static_cast<std::uint16_t>(format.channels * kBits / 8);
  std::string head = "RIFF";
  put<std::uint32_t>(head, bytes == kUnknownLength ? 0xffffffff : bytes + std::uint32_t{kWavHead} - 8);
  head += "WAVEfmt ";
  put<std::uint32_t>(head, 16);
  put<std::uint16_t>(head, kPcm);
  put<std::uint16_t>(head, format.channels);
  put<std::uint32_t>(head, format.rate);
  put<std::uint32_t>(head, format.rate * frame);
  put<std::uint16_t>(head, frame);
  put<std::uint16_t>(head, kBits);
  head += "data";
  put<std::uint32_t>(head, bytes == kUnknownLength ? 0xffffffff : bytes);
  return head;
}

std::optional<WavStart> read_wav_start(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with("RIFF") || bytes.substr(8, 4) != "WAVE") return std::nullopt;
  WavStart start;
  for (std::size_t at = 12; bytes.size() >= at + 8;) {
    const auto name = bytes.substr(at, 4);
    const auto length = get<std::uint32_t>(bytes, at + 4);
    at += 8;
    if (name == "data") return start.format.rate > 0 ? std::optional(WavStart{start.format, at}) : std::nullopt;
    if (bytes.size() - at < length) return std::nullopt;
    if (name == "fmt ") {
      if (length < 16 || get<std::uint16_t>(bytes, at) != 1 || get<std::uint16_t>(bytes, at + 14) != 16)
        return std::nullopt;
      start.format = {get<std::uint32_t>(bytes, at + 4), get<std::uint16_t>(bytes, at + 2)};
    }
    at += length + length % 2;
  }
  return std::nullopt;
}

}  // namespace corral::dialects::audio
