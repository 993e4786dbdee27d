#include "cli/terminal/table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace corral::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kReadable = 24;   // texts get no narrower than this as long as columns can be left out
constexpr std::size_t kNarrowest = 12;  // of a wrapped text
constexpr std::size_t kFirst = 4;       // of the first column; a longer name gets a line of its own

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::right ? space + text : text + space;
}

// Breaks at spaces, and inside a word that is longer than a line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (display_width(text) > width) {
    std::size_t end = first_columns(text, width).size();
    if (end == 0) break;
    if (text[end] != ' ') {
      const auto space = text.substr(0, end).find_last_of(' ');
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    longest = std::max(longest, display_width(word));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return longest;
}

// "on-disk" and "ON DISK" are the same column.
std::string folded(std::string_view title) {
  std::string name = to_lower(title);
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '_'; }, ' ');
  return name;
}

std::size_t total_width(const auto& shown) {
  std::size_t total = 0;
  for (const auto& column : shown) total += column.width + (total > 0 ? kGap : 0);
  return total;
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

std::size_t Table::natural_width(std::size_t column) const {
  std::size_t width = display_width(columns_[column].title);
  for (const auto& row : rows_) width = std::max(width, display_width(row[column]));
  return width;
}

// With texts wrapped at spaces. Numbers and the first column of a table are not wrapped.
std::size_t Table::narrow_width(std::size_t column) const {
  const std::size_t natural = natural_width(column);
  if (column == 0 || columns_[column].align == Align::right) return natural;
  std::size_t width = std::max(kReadable, display_width(columns_[column].title));
  for (const auto& row : rows_) width = std::max(width, longest_word(row[column]));
  return std::min(width, natural);
}

bool Table::has_text(std::size_t column) const {
  return std::ranges::any_of(rows_, [&](const auto& row) { return !row[column].empty(); });
}

std::vector<Table::Shown> Table::chosen(const Terminal& terminal) const {
  std::vector<Shown> shown;
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(folded(column.title));
  for (const std::string& wanted : terminal.tables.columns) {
    const auto found = std::ranges::find(titles, folded(wanted));
    if (found == titles.end()) {
      terminal.err << printable(
          fmt::format("warning: no column '{}': there are {}\n", wanted, fmt::join(titles, ", ")));
      continue;
    }
    const auto index = static_cast<std::size_t>(found - titles.begin());
    shown.push_back({index, natural_width(index)});
  }
  if (!shown.empty()) return shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) shown.push_back({i, natural_width(i)});
  return shown;
}

std::vector<std::string> Table::drop_columns(std::vector<Shown>& shown, std::size_t width) const {
  std::vector<std::string> dropped;
  std::vector<Shown> narrow = shown;
  for (Shown& column : narrow) column.width = narrow_width(column.index);
  // Columns without text go before all others.
  const auto rank = [this](const Shown& column) {
    return std::pair(columns_[column.index].drop > 0 && !has_text(column.index), columns_[column.index].drop);
  };
  while (narrow.size() > 1 && total_width(narrow) > width) {
    const auto next = std::ranges::max_element(narrow.begin() + 1, narrow.end(), {}, rank);
    if (columns_[next->index].drop == 0) break;
    if (has_text(next->index)) dropped.push_back(columns_[next->index].title);
    std::erase_if(shown, [&](const Shown& column) { return column.index == next->index; });
    narrow.erase(next);
  }
  return dropped;
}

// Takes width from the widest texts, then from the first column.
void Table::shrink(std::vector<Shown>& shown, std::size_t width) const {
  while (total_width(shown) > width) {
    Shown* widest = nullptr;
    for (std::size_t i = 1; i < shown.size(); ++i) {
      const Column& column = columns_[shown[i].index];
      const bool wraps = shown[i].index != 0 && column.align == Align::left &&
                         shown[i].width > std::max(kNarrowest, display_width(column.title));
      if (wraps && (widest == nullptr || shown[i].width > widest->width)) widest = &shown[i];
    }
    if (widest == nullptr) break;
    --widest->width;
  }
  const std::size_t total = total_width(shown);
  if (total <= width || shown.size() < 2) return;
  std::size_t& first = shown.front().width;
  first = std::max(std::min(first, kFirst), first - std::min(first, total - width));
}

std::string Table::lines(const std::vector<Shown>& shown, const std::vector<std::string>& cells) const {
  std::string text;
  std::vector<std::vector<std::string>> parts;
  std::size_t count = 1;
  for (const Shown& column : shown) {
    const std::string& cell = cells[column.index];
    const bool is_first = parts.empty();
    if (is_first && shown.size() > 1 && display_width(cell) > column.width) {
      text = cell + '\n';
      parts.emplace_back();
    } else {
      parts.push_back(is_first ? std::vector{cell} : wrapped(cell, column.width));
    }
    count = std::max(count, parts.back().size());
  }
  for (std::size_t line = 0; line < count; ++line) {
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (i > 0) text.append(kGap, ' ');
      const auto part = line < parts[i].size() ? parts[i][line] : std::string();
      text += pad(part, shown[i].width, columns_[shown[i].index].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

void Table::print(const Terminal& terminal) const {
  auto shown = chosen(terminal);
  std::vector<std::string> dropped;
  if (terminal.out_tty && !terminal.tables.wide && total_width(shown) > terminal.width) {
    if (terminal.tables.columns.empty()) dropped = drop_columns(shown, terminal.width);
    shrink(shown, terminal.width);
  }
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string head = lines(shown, titles);
  head.pop_back();
  terminal.out << terminal.paint(Style::bold, head) << '\n';
  for (const auto& row : rows_) terminal.out << lines(shown, row);
  if (dropped.empty()) return;
  terminal.out << std::flush;
  terminal.err << fmt::format("Not shown: {} (--wide shows all)\n", fmt::join(dropped, ", "));
}

}  // namespace corral::cli
