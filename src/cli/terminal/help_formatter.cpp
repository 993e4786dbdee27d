#include "cli/terminal/help_formatter.h"

#include <sstream>

namespace corral::cli {
namespace {

constexpr std::size_t kLeft = 30;    // width of the column with the names
constexpr std::size_t kWidth = 100;  // width of a line

std::string two_columns(const std::string& name, const std::string& description) {
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
    if (column > kLeft && column + 1 + word.size() > kWidth) new_line();
    if (column > kLeft) text += ' ';
    column += word.size() + (column > kLeft ? 1 : 0);
    text += word;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  // The library separates sections by two empty lines, and the description from the usage by none.
  for (std::size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
  while (help.ends_with("\n\n")) help.pop_back();
  if (const auto usage = help.find("\nUsage:"); usage != std::string::npos) help.insert(usage, "\n");
  return help;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = option->get_name(is_positional, true);
  // "--x,--no-x{false}": removes the library's internal note.
  if (const auto note = name.find("{false}"); note != std::string::npos) name.erase(note);
  if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
  if (!is_positional && !option->get_type_name().empty()) name += ' ' + option->get_type_name();
  return two_columns(name, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

}  // namespace corral::cli
