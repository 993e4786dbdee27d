#include "cli/unexpected.h"

#include <algorithm>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/close_names.h"

namespace corral::cli {
namespace {

// The given command, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* found = &app;
  for (auto chosen = found->get_subcommands(); !chosen.empty(); chosen = found->get_subcommands())
    found = chosen.front();
  return *found;
}

std::string full_name(const CLI::App& app) {
  const auto* const parent = app.get_parent();
  return parent ? fmt::format("{} {}", full_name(*parent), app.get_name()) : app.get_name();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    for (const std::string& alias : command->get_aliases()) names.push_back(alias);
  }
  return names;
}

}  // namespace

std::string help_command(const CLI::App& app) { return full_name(innermost(app)) + " --help"; }

std::string explain_unexpected(const CLI::App& app) {
  const auto words = app.remaining(true);
  const CLI::App& command = innermost(app);
  std::string text = fmt::format("unexpected: {}", fmt::join(words, " "));
  if (words.empty()) return text;
  const std::string& first = words.front();
  const bool is_flag = first.starts_with("--");
  const auto known = is_flag ? flags_of(command) : commands_of(command);
  const std::string name = first.substr(0, first.find('='));
  const auto close = close_names(name, known, 1);
  if (std::ranges::find(known, name) != known.end()) {
    text += "; put flags of a command after its name";
  } else if (!close.empty()) {
    text += fmt::format("; did you mean {}?", close.front());
  }
  return text + "\nsee: " + help_command(app);
}

std::string explain_missing(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : innermost(app).get_options()) {
    if (option->get_positional() && message == option->get_name() + " is required")
      return fmt::format("{}: {}\nsee: {}", message, option->get_description(), help_command(app));
  }
  return fmt::format("{}\nsee: {}", message, help_command(app));
}

}  // namespace corral::cli
