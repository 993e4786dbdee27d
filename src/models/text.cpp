#include "models/text.h"

#include <algorithm>

#include "base/utf8.h"

namespace corral::models {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool equal_folded(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool plain = step.valid && first >= 0x20 && first != 0x7F;
    const std::size_t taken = plain ? step.length : 1;
    if (out.size() + taken > limit) break;
    if (plain) {
      out.append(text.substr(0, taken));
    } else {
      out += '?';
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string printable_path(const std::filesystem::path& path) { return printable(path.native(), 4096); }

}  // namespace corral::models
