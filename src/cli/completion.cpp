#include "cli/completion.h"

#include <algorithm>

#include <CLI/App.hpp>

namespace corral::cli {
namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool is_model(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) == "MODEL" : option.get_type_name() == "MODEL";
}

// The finished words, read by the tables.
struct Reading {
  const CLI::App* app;
  std::size_t positionals = 0;
  const CLI::Option* open = nullptr;  // a flag whose value comes next
};

// Flags of a command apply to its sub-commands, too; those of the program do not.
std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
  std::vector<const CLI::Option*> flags;
  const CLI::App* app = &command;
  do {
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_group().empty() && !option->get_lnames().empty()) flags.push_back(option);
    }
    app = app->get_parent();
  } while (app != nullptr && app->get_parent() != nullptr);
  return flags;
}

const CLI::Option* flag_that_waits(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* flag : flags_of(command)) {
    if (takes_value(*flag) && flag->check_name(word)) return flag;
  }
  return nullptr;
}

Reading read(const CLI::App& program, std::span<const std::string> words) {
  Reading reading{&program};
  for (const std::string& word : words) {
    if (reading.open != nullptr) {
      reading.open = nullptr;
    } else if (word.starts_with('-')) {
      reading.open = flag_that_waits(*reading.app, word);
    } else {
      const auto subs = reading.app->get_subcommands(nullptr);
      const auto sub = std::ranges::find_if(subs, [&](const CLI::App* one) { return one->check_name(word); });
      if (reading.positionals == 0 && sub != subs.end()) {
        reading.app = *sub;
      } else {
        ++reading.positionals;
      }
    }
  }
  return reading;
}

const CLI::Option* next_positional(const Reading& reading) {
  const auto all = reading.app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (reading.positionals < all.size()) return all[reading.positionals];
  return !all.empty() && all.back()->get_items_expected_max() > 1 ? all.back() : nullptr;
}

}  // namespace

std::vector<Candidate> complete(const CLI::App& program, std::span<const std::string> words,
                                const std::function<std::vector<std::string>()>& models) {
  if (words.empty()) return {};
  const std::string& begun = words.back();
  const Reading reading = read(program, words.first(words.size() - 1));
  std::vector<Candidate> candidates;
  const auto add = [&](std::string text, const std::string& help) {
    if (text.starts_with(begun)) candidates.push_back({std::move(text), help});
  };
  const CLI::Option* place = reading.open;
  if (place == nullptr && begun.starts_with('-')) {
    for (const CLI::Option* flag : flags_of(*reading.app)) {
      for (const std::string& name : flag->get_lnames()) add("--" + name, flag->get_description());
    }
    return candidates;
  }
  if (place == nullptr) {
    if (reading.positionals == 0) {
      for (const CLI::App* sub : reading.app->get_subcommands(nullptr)) add(sub->get_name(), sub->get_description());
    }
    place = next_positional(reading);
  }
  if (place != nullptr && is_model(*place)) {
    for (std::string& name : models()) add(std::move(name), {});
  }
  return candidates;
}

}  // namespace corral::cli
