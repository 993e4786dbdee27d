#include "json/lone_surrogates.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace corral::json {
namespace {

constexpr std::size_t kEscapeBytes = 6;  // bytes of \ud83d

bool is_high(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// The number of the escape \uXXXX at this place; 0: there is none.
std::uint32_t escaped_unit(const std::string& text, std::size_t at) {
  if (text.size() < at + kEscapeBytes || text[at] != '\\' || text[at + 1] != 'u') return 0;
  const char* const end = text.data() + at + kEscapeBytes;
  std::uint32_t unit = 0;
  return std::from_chars(text.data() + at + 2, end, unit, 16).ptr == end ? unit : 0;
}

bool replace_escapes(std::string& text) {
  bool found = false;
  for (auto at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const auto unit = escaped_unit(text, at);
    if (!is_high(unit) && !is_low(unit)) {
      at += 2;  // the backslash and what it escapes
    } else if (is_high(unit) && is_low(escaped_unit(text, at + kEscapeBytes))) {
      at += 2 * kEscapeBytes;
    } else {
      text.replace(at + 2, 4, "fffd");
      at += kEscapeBytes;
      found = true;
    }
  }
  return found;
}

bool replace_bytes(std::string& text) {
  bool found = false;
  for (auto at = text.find('\xED'); at != std::string::npos; at = text.find('\xED', at + 1)) {
    const auto is = [&](std::size_t place, unsigned mask, unsigned bits) {
      return place < text.size() && (static_cast<unsigned char>(text[place]) & mask) == bits;
    };
    if (!is(at + 1, 0xE0, 0xA0) || !is(at + 2, 0xC0, 0x80)) continue;
    text.replace(at, kReplacementCharacter.size(), kReplacementCharacter);
    found = true;
  }
  return found;
}

}  // namespace

bool replace_lone_surrogates(std::string& text) {
  const bool escapes = replace_escapes(text);
  return replace_bytes(text) || escapes;
}

}  // namespace corral::json
