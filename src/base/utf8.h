// Possibly invalid UTF-8: texts of a tokenizer (characters split over tokens), of files, of other programs. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral {

// The first character of a text.
struct Utf8Step {
  std::size_t length;  // bytes of the character or invalid run, at least 1
  bool valid;          // they are a whole character
  bool open;           // they are the start of a character, cut off by the end of the text
};

// `bytes` must not be empty. Accepts the well-formed sequences of table 3-7 of the Unicode standard: no overlong forms,
// no surrogates, nothing above U+10FFFF. An invalid run is the longest part that could begin a sequence ("substitution
// of maximal subparts").
constexpr Utf8Step utf8_step(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true, false};
  if (lead < 0xC2 || lead > 0xF4) return {1, false, false};
  const std::size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < need; ++i) {
    if (i == bytes.size()) return {i, false, true};
    std::uint8_t low = 0x80, high = 0xBF;
    if (i == 1) {
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    if (byte(i) < low || byte(i) > high) return {i, false, false};
  }
  return {need, true, false};
}

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Length of the longest prefix that doesn't end inside a character: later bytes can complete the rest. Bytes that can't
// be part of any character count as complete.
std::size_t complete_utf8_length(std::string_view bytes);

// The text with each maximal invalid run replaced by U+FFFD. Valid text stays unchanged.
std::string valid_utf8(std::string_view bytes);

}  // namespace corral
