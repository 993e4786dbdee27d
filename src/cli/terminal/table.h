// Rows of text in columns that fit the terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace corral::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  // A terminal that is too narrow gets the table without some columns: the highest number first, 0 never.
  int drop = 0;
};

// The first column has the names that a user types, so it is never cut.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. Control characters are dropped.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // If the table is wider than a terminal: columns are left out, texts are wrapped in their columns, and a long name
  // gets a line of its own. A pipe, and Terminal::tables.wide, get everything.
  void print(const Terminal& terminal) const;

 private:
  // A column of the printed table.
  struct Shown {
    std::size_t index;
    std::size_t width;
  };

  std::vector<Shown> chosen(const Terminal& terminal) const;
  std::size_t natural_width(std::size_t column) const;
  std::size_t narrow_width(std::size_t column) const;
  bool has_text(std::size_t column) const;
  // Returns the titles of the columns that were left out, other than empty ones.
  std::vector<std::string> drop_columns(std::vector<Shown>& shown, std::size_t width) const;
  void shrink(std::vector<Shown>& shown, std::size_t width) const;
  std::string lines(const std::vector<Shown>& shown, const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace corral::cli
