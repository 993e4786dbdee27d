#include "base/excerpt.h"

#include "base/utf8.h"

namespace corral {

std::string excerpt(std::string_view text, std::size_t max) {
  if (text.size() <= max) return valid_utf8(text);
  constexpr std::string_view kRest = "…";
  auto shown = text.substr(0, max > kRest.size() ? max - kRest.size() : 0);
  shown = shown.substr(0, complete_utf8_length(shown));
  return valid_utf8(shown).append(kRest);
}

}  // namespace corral
