#include "cli/terminal/table.h"

#include <algorithm>
#include <numeric>

namespace corral::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // minimum width of the first column

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::right ? space + text : text + space;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) {
    cell = printable(cell);
    std::ranges::replace(cell, '\n', ' ');
    std::ranges::replace(cell, '\t', ' ');
  }
  rows_.push_back(std::move(cells));
}

void Table::print(const Terminal& terminal) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  if (terminal.out_tty && total > terminal.width) {
    const std::size_t excess = total - terminal.width;
    const std::size_t first = widths.front();
    widths.front() = std::max(std::min(first, kNarrowest), first - std::min(first, excess));
  }

  const auto line = [&](const auto& cell_at) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text.append(kGap, ' ');
      text += pad(shorten(cell_at(i), widths[i]), widths[i], columns_[i].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  terminal.out << terminal.paint(Style::bold, line([&](std::size_t i) { return columns_[i].title; })) << '\n';
  for (const auto& row : rows_) terminal.out << line([&](std::size_t i) { return row[i]; }) << '\n';
}

}  // namespace corral::cli
