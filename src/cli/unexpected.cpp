#include "cli/unexpected.h"

#include <algorithm>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/close_names.h"
#include "base/text.h"

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

struct CommandName {
  std::string name;
  const CLI::App* command;
};

std::vector<CommandName> commands_of(const CLI::App& app) {
  std::vector<CommandName> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back({command->get_name(), command});
    for (const std::string& alias : command->get_aliases()) names.push_back({alias, command});
  }
  return names;
}

// Commands that begin with the word, or else those with the fewest edits between, each by one of its names. Short words
// are close to too many, so they may have one edit.
std::vector<std::string> likely_commands(const CLI::App& app, const std::string& word) {
  constexpr std::size_t kMaxLikely = 3;
  constexpr std::size_t kLettersPerEdit = 3;
  std::vector<CommandName> likely;
  const auto add = [&](const CommandName& one) {
    const bool named = std::ranges::find(likely, one.command, &CommandName::command) != likely.end();
    if (!named && likely.size() < kMaxLikely) likely.push_back(one);
  };
  const auto names = commands_of(app);
  for (const CommandName& one : names) {
    if (!word.empty() && one.name.starts_with(word)) add(one);
  }
  std::size_t fewest = std::max<std::size_t>(1, word.size() / kLettersPerEdit);
  const auto edits = [&](const CommandName& one) { return edit_distance(word, one.name); };
  if (likely.empty() && word.size() > 1) {
    for (const CommandName& one : names) fewest = std::min(fewest, edits(one));
    for (const CommandName& one : names) {
      if (edits(one) == fewest) add(one);
    }
  }
  std::vector<std::string> result;
  for (CommandName& one : likely) result.push_back(std::move(one.name));
  return result;
}

bool is_flag(const std::string& word) { return word.starts_with('-'); }

// The closest flag, or the likely commands.
std::vector<std::string> suggestions(const CLI::App& command, const std::string& word) {
  return is_flag(word) ? close_names(word, flags_of(command), 1) : likely_commands(command, to_lower(word));
}

}  // namespace

std::string help_command(const CLI::App& app) { return full_name(innermost(app)) + " --help"; }

std::string explain_unexpected(const CLI::App& app) {
  const auto words = app.remaining(true);
  const CLI::App& command = innermost(app);
  std::string text = fmt::format("unexpected: {}", fmt::join(words, " "));
  if (words.empty()) return text;
  const std::string& first = words.front();
  const std::string name = first.substr(0, first.find('='));
  const auto close = suggestions(command, name);
  const auto flags = flags_of(command);
  if (std::ranges::find(flags, name) != flags.end()) {
    text += "; put flags of a command after its name";
  } else if (!close.empty()) {
    text += fmt::format("; did you mean {}?", fmt::join(close, " or "));
  }
  return text + "\nsee: " + help_command(app);
}

bool names_no_command(const CLI::App& app) {
  const auto words = app.remaining(true);
  return !words.empty() && !is_flag(words.front()) && !innermost(app).get_subcommands(nullptr).empty();
}

std::string explain_missing(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : innermost(app).get_options()) {
    if (option->get_positional() && message == option->get_name() + " is required")
      return fmt::format("{}: {}\nsee: {}", message, option->get_description(), help_command(app));
  }
  return fmt::format("{}\nsee: {}", message, help_command(app));
}

}  // namespace corral::cli
