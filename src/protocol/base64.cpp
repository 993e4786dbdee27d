#include "protocol/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace corral::protocol {
namespace {

// Six bits for each character; kNone, whose highest bit no digit has, for others.
constexpr std::uint8_t kNone = 0xff;
constexpr auto kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNone);
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return digits;
}();

std::uint8_t digit_of(char c) { return kDigits[static_cast<unsigned char>(c)]; }

std::string_view without_padding(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return text;
}

// Without a branch for each character: a body may have many megabytes.
bool all_digits(std::string_view text) {
  std::uint8_t seen = 0;
  for (const char c : text) seen |= digit_of(c);
  return seen < 64;
}

}  // namespace

std::string base64_fault(std::string_view text) {
  const auto digits = without_padding(text);
  if (!all_digits(digits)) {
    const auto at = static_cast<std::size_t>(std::ranges::find_if(digits, [](char c) { return digit_of(c) == kNone; }) -
                                             digits.begin());
    const auto c = static_cast<unsigned char>(digits[at]);
    if (c == '\n' || c == '\r') return fmt::format("has a line break at position {}", at);
    if (c > ' ' && c < 0x7f) return fmt::format("has '{}' at position {}", digits[at], at);
    return fmt::format("has the byte 0x{:02x} at position {}", c, at);
  }
  if (digits.size() % 4 == 1) return fmt::format("ends in the middle of a byte, after {} digits", digits.size());
  if (digits.size() != text.size() && text.size() % 4 != 0) {
    return fmt::format("has {} digits and {} '=' behind them, which is not a multiple of 4", digits.size(),
                       text.size() - digits.size());
  }
  return {};
}

std::size_t base64_size(std::string_view text) { return without_padding(text).size() * 3 / 4; }

std::optional<std::string> from_base64(std::string_view text) {
  if (!base64_fault(text).empty()) return std::nullopt;
  std::string bytes;
  bytes.reserve(base64_size(text) + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : without_padding(text)) {
    bits = bits << 6 | digit_of(c);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

}  // namespace corral::protocol
