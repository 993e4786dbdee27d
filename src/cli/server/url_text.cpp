#include "cli/server/url_text.h"

#include <cctype>

#include <fmt/format.h>

namespace corral::cli {

std::string escaped(std::string_view text, std::string_view plain) {
  std::string out;
  for (const char c : text) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       plain.find(c) != std::string_view::npos;
    out += stays ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace corral::cli
