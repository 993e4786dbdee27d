// The output of a command and its abilities. Plain values and functions; tests pass string streams.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace corral::cli {

enum class Style { bold, dim, red, green, yellow };

// How tables are printed, by the flags of table_flags.h.
struct TableView {
  bool wide = false;                      // whole on a terminal, too
  std::vector<std::string> columns = {};  // only these, in this order; empty: all
};

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool in_tty = false;  // a person types
  bool out_tty = false;
  bool err_tty = false;
  bool colour = false;
  std::size_t width = 80;   // columns of out; only meaningful on a tty
  std::size_t height = 24;  // lines
  TableView tables = {};

  std::string paint(Style style, std::string_view text) const;
};

// The process's own: standard streams, their width, NO_COLOR and TERM=dumb respected.
Terminal process_terminal(const config::Environment& environment);

// Columns on a terminal: 2 for wide characters (East Asian ones, emoji), 0 for combining ones. An invalid byte and a
// control character count as 1.
std::size_t display_width(std::string_view text);
// The longest beginning of at most `width` columns that ends between characters.
std::string_view first_columns(std::string_view text, std::size_t width);
// At most `width` columns, with an ellipsis for the rest.
std::string shorten(std::string_view text, std::size_t width);
// Without control characters other than line ends and tabs, so that a model's output can't control the terminal.
std::string printable(std::string_view text);

}  // namespace corral::cli
