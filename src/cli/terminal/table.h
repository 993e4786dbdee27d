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
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. Control characters are dropped.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // The first column is shortened if the table is wider than a terminal. A pipe gets everything.
  void print(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace corral::cli
