// Where a command writes, and what that place can do. Plain values and functions; tests pass string streams.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "config/load.h"

namespace corral::cli {

enum class Style { bold, dim, red, green, yellow };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool in_tty = false;  // a person types
  bool out_tty = false;
  bool err_tty = false;
  bool colour = false;
  std::size_t width = 80;  // columns of out; only meaningful on a tty

  std::string paint(Style style, std::string_view text) const;
};

// The process's own: standard streams, their width, NO_COLOR and TERM=dumb respected.
Terminal process_terminal(const config::Environment& environment);

// Characters as a terminal counts them: code points (wide and combining ones are not told apart).
std::size_t display_width(std::string_view text);
// At most `width` characters, with an ellipsis for what is cut.
std::string shorten(std::string_view text, std::size_t width);
// Without control characters other than line ends and tabs: what a model says can't drive the terminal.
std::string printable(std::string_view text);

}  // namespace corral::cli
