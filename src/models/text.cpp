#include "models/text.h"

#include <algorithm>

#include "base/utf8.h"

namespace corral::models {
namespace {

// C0, DEL and C1 (U+0080 to U+009F), some of which terminals obey.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const bool is_c1 = first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || is_c1;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const std::string_view character = text.substr(0, step.valid ? step.length : 1);
    const std::string_view shown = step.valid && !is_control(character) ? character : "?";
    if (out.size() + shown.size() > limit) break;
    out += shown;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string printable_path(const std::filesystem::path& path) { return printable(path.native(), 4096); }

}  // namespace corral::models
