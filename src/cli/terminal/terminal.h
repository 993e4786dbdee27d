// The output of a command and its abilities. Plain values and functions; tests pass string streams.
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
  std::size_t width = 80;   // columns of out; only meaningful on a tty
  std::size_t height = 24;  // lines

  std::string paint(Style style, std::string_view text) const;
};

// The process's own: standard streams, their width, NO_COLOR and TERM=dumb respected.
Terminal process_terminal(const config::Environment& environment);

// Number of code points; wide and combining ones are counted like others.
std::size_t display_width(std::string_view text);
// At most `width` characters, with an ellipsis for the rest.
std::string shorten(std::string_view text, std::size_t width);
// Without control characters other than line ends and tabs, so that a model's output can't control the terminal.
std::string printable(std::string_view text);

}  // namespace corral::cli
