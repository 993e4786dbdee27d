#include "cli/terminal/terminal.h"

#include <iostream>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace corral::cli {
namespace {

std::string_view code_of(Style style) {
  switch (style) {
    case Style::bold:
      return "1";
    case Style::dim:
      return "2";
    case Style::red:
      return "31";
    case Style::green:
      return "32";
    case Style::yellow:
      return "33";
  }
  return "0";
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::string Terminal::paint(Style style, std::string_view text) const {
  if (!colour || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

Terminal process_terminal(const config::Environment& environment) {
  Terminal terminal{std::cout, std::cerr};
  terminal.in_tty = ::isatty(STDIN_FILENO) == 1;
  terminal.out_tty = ::isatty(STDOUT_FILENO) == 1;
  terminal.err_tty = ::isatty(STDERR_FILENO) == 1;
  const auto no_colour = environment("NO_COLOR");  // no-color.org: set and not empty
  terminal.colour =
      terminal.out_tty && (!no_colour || no_colour->empty()) && environment("TERM").value_or("dumb") != "dumb";
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return terminal;
  if (size.ws_col > 0) terminal.width = size.ws_col;
  if (size.ws_row > 0) terminal.height = size.ws_row;
  return terminal;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += starts_character(c) ? 1 : 0;
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if (starts_character(text[end]) && ++characters == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) continue;
    // U+0080…U+009F, the second set of control characters, are C2 80…C2 9F.
    const bool second_set = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (second_set) {
      ++i;
      continue;
    }
    result += text[i];
  }
  return result;
}

}  // namespace corral::cli
