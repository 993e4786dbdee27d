#include "cli/terminal/terminal.h"

#include <cwchar>
#include <iostream>

#include <fmt/format.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

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

// wcwidth() uses the locale of the thread. The program has none of its own: its output must not depend on one.
class Utf8Locale {
 public:
  Utf8Locale() : old_(shared() == locale_t{} ? locale_t{} : ::uselocale(shared())) {}
  ~Utf8Locale() {
    if (old_ != locale_t{}) ::uselocale(old_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  bool works() const { return old_ != locale_t{}; }

 private:
  static locale_t shared() {
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return locale;
  }

  const locale_t old_;
};

// `character`: the bytes of one.
wchar_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead;
  auto code = static_cast<std::uint32_t>(lead & (0xFF >> (character.size() + 1)));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return static_cast<wchar_t>(code);
}

// Calls use(bytes, columns) for each character until it returns false.
void each_character(std::string_view text, const auto& use) {
  const Utf8Locale locale;
  while (!text.empty()) {
    const auto step = utf8_step(text);
    const auto character = text.substr(0, step.length);
    const bool counted = locale.works() && step.valid && step.length > 1;
    const int width = counted ? ::wcwidth(code_point(character)) : 1;
    if (!use(character.size(), width < 0 ? std::size_t{1} : static_cast<std::size_t>(width))) return;
    text.remove_prefix(step.length);
  }
}

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
  std::size_t total = 0;
  each_character(text, [&](std::size_t, std::size_t columns) {
    total += columns;
    return true;
  });
  return total;
}

std::string_view first_columns(std::string_view text, std::size_t width) {
  std::size_t end = 0, used = 0;
  each_character(text, [&](std::size_t bytes, std::size_t columns) {
    if (used + columns > width) return false;
    used += columns;
    end += bytes;
    return true;
  });
  return text.substr(0, end);
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(first_columns(text, width - 1)) + "…";
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
