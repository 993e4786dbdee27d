#include "cli/terminal/help_formatter.h"

#include <algorithm>
#include <sstream>

namespace corral::cli {
namespace {

constexpr std::size_t kLeft = 30;       // width of the column with the names
constexpr std::size_t kNarrowest = 60;  // leaves half for the descriptions
constexpr std::size_t kWidest = 120;    // longer lines are hard to read

// Breaks lines that are too long, at spaces. Continued lines have the same indent.
std::string wrap_lines(const std::string& text, std::size_t width) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    while (line.size() > width) {
      const auto space = line.rfind(' ', width);
      if (space == std::string::npos || space <= indent.size()) break;
      result += line.substr(0, space) + '\n';
      line = indent + line.substr(space + 1);
    }
    result += line + '\n';
  }
  return result;
}

}  // namespace

std::size_t help_width(const Terminal& terminal) {
  return terminal.out_tty ? std::clamp(terminal.width, kNarrowest, kWidest) : kHelpWidth;
}

std::string HelpFormatter::two_columns(const std::string& name, const std::string& description) const {
  std::string text = "  " + name;
  std::size_t column = text.size();
  const auto new_line = [&] {
    text += '\n' + std::string(kLeft, ' ');
    column = kLeft;
  };
  if (column + 2 > kLeft) {
    new_line();
  } else {
    text.append(kLeft - column, ' ');
    column = kLeft;
  }
  std::istringstream words(description);
  std::string word;
  while (words >> word) {
    if (column > kLeft && column + 1 + word.size() > width_) new_line();
    if (column > kLeft) text += ' ';
    column += word.size() + (column > kLeft ? 1 : 0);
    text += word;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  // The library separates sections by two empty lines, and the description from the usage by none.
  for (std::size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
  while (help.ends_with("\n\n")) help.pop_back();
  if (const auto usage = help.find("\nUsage:"); usage != std::string::npos) help.insert(usage, "\n");
  return wrap_lines(help, width_);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = option->get_name(is_positional, true);
  // "--x,--no-x{false}": removes the library's internal note.
  if (const auto note = name.find("{false}"); note != std::string::npos) name.erase(note);
  for (auto comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 1))
    name.insert(comma + 1, " ");
  if (!is_positional && !option->get_type_name().empty()) name += ' ' + option->get_type_name();
  return two_columns(name, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

}  // namespace corral::cli
