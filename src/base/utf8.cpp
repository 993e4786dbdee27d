#include "base/utf8.h"

namespace corral {
std::size_t complete_utf8_length(std::string_view bytes) {
  // Only the last three bytes can be an unfinished character.
  const std::size_t from = bytes.size() > 3 ? bytes.size() - 3 : 0;
  for (std::size_t i = bytes.size(); i-- > from;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (byte < 0x80) break;
    if (byte >= 0xC0) return utf8_step(bytes.substr(i)).open ? i : bytes.size();
  }
  return bytes.size();
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    if (step.valid) {
      text.append(bytes.substr(0, step.length));
    } else {
      text += kReplacementCharacter;
    }
    bytes.remove_prefix(step.length);
  }
  return text;
}

}  // namespace corral
