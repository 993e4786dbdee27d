#include "engine_server/preparation/base64.h"

#include <array>

namespace corral::engine_server {
namespace {

constexpr std::uint8_t kOther = 255, kBlank = 254, kPadding = 253;

constexpr std::array<std::uint8_t, 256> table() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kOther);
  std::uint8_t value = 0;
  for (const std::string_view range : {"AZ", "az", "09"}) {
    for (char c = range[0]; c <= range[1]; ++c) values[static_cast<unsigned char>(c)] = value++;
  }
  values['+'] = values['-'] = 62;
  values['/'] = values['_'] = 63;
  values['='] = kPadding;
  for (const char blank : {' ', '\t', '\r', '\n'}) values[static_cast<unsigned char>(blank)] = kBlank;
  return values;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text) {
  static constexpr auto kTable = table();
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0, digits = 0;
  bool padded = false;
  for (const char c : text) {
    const std::uint8_t value = kTable[static_cast<unsigned char>(c)];
    if (value == kBlank) continue;
    if (value == kOther || (padded && value != kPadding)) return std::nullopt;
    if (value == kPadding) {
      padded = true;
      continue;
    }
    group = group << 6 | value;
    if (++digits < 4) continue;
    bytes.push_back(static_cast<std::uint8_t>(group >> 16));
    bytes.push_back(static_cast<std::uint8_t>(group >> 8));
    bytes.push_back(static_cast<std::uint8_t>(group));
    group = digits = 0;
  }
  if (digits == 1) return std::nullopt;
  if (digits >= 2) bytes.push_back(static_cast<std::uint8_t>(group >> (digits == 2 ? 4 : 10)));
  if (digits == 3) bytes.push_back(static_cast<std::uint8_t>(group >> 2));
  return bytes;
}

}  // namespace corral::engine_server
