#include "engine/utf8.h"

#include <algorithm>
#include <cstdint>

namespace corral::engine {
namespace {

struct Scan {
  std::size_t length;  // bytes looked at that belong together
  bool valid;          // they are a whole character
  bool open;           // they are the start of one, cut off by the end of the text
};

// The well-formed sequences of table 3-7 of the Unicode standard.
Scan scan_character(std::string_view bytes) {
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

}  // namespace

std::size_t complete_utf8_length(std::string_view bytes) {
  // Only the last three bytes can be an unfinished character.
  const std::size_t from = bytes.size() > 3 ? bytes.size() - 3 : 0;
  for (std::size_t i = bytes.size(); i-- > from;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (byte < 0x80) break;
    if (byte >= 0xC0) return scan_character(bytes.substr(i)).open ? i : bytes.size();
  }
  return bytes.size();
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Scan scan = scan_character(bytes);
    if (scan.valid) {
      text.append(bytes.substr(0, scan.length));
    } else {
      text += "\xEF\xBF\xBD";
    }
    bytes.remove_prefix(scan.length);
  }
  return text;
}

}  // namespace corral::engine
