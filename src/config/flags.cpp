#include "config/flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "config/options/option.h"

namespace corral::config {
namespace {

std::string help_of(const Option& option) {
  if (option.fallback.empty() || option.secret) return std::string(option.help);
  return fmt::format("{} [{}]", option.help, option.fallback);
}

void add_switch(CLI::App& app, const Option& option, const std::string& flag, FlagValues& values) {
  const auto store = [&values, key = option.key](std::int64_t count) {
    values[std::string(key)] = {count > 0 ? "true" : "false"};
  };
  const std::string both = fmt::format("{},!--no-{}", flag, flag.substr(2));
  app.add_flag_function(both, store, help_of(option))->group(std::string(title(option.group)));
}

void add_valued(CLI::App& app, const Option& option, const std::string& flag, FlagValues& values) {
  const auto store = [&values, &option](const std::vector<std::string>& texts) {
    const bool one_text = option.several_words;
    values[std::string(option.key)] = one_text ? std::vector{fmt::format("{}", fmt::join(texts, " "))} : texts;
  };
  const std::string names = option.older_flag.empty() ? flag : fmt::format("{},{}", flag, option.older_flag);
  auto* added = app.add_option_function<std::vector<std::string>>(names, store, help_of(option));
  added->type_name(std::string(option.value_name))->group(std::string(title(option.group)));
  if (option.several_words) {
    added->expected(1, 16);
  } else if (is_list(option)) {
    added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

void add_config(CLI::App& app, Inputs& inputs) {
  const auto store = [&inputs](const std::string& path) { inputs.config_file = path; };
  app.add_option_function<std::string>("--config", store, "Read settings from FILE [~/.config/corral/config.toml]")
      ->type_name("FILE")
      ->group(std::string(title(Group::process)));
}

}  // namespace

void add_serve_flags(CLI::App& app, Inputs& inputs) {
  for (const Option& option : options()) {
    if (is_switch(option)) {
      add_switch(app, option, flag_of(option), inputs.flags);
    } else {
      add_valued(app, option, flag_of(option), inputs.flags);
    }
  }
  add_config(app, inputs);
}

void add_client_flags(CLI::App& app, Inputs& inputs) {
  struct Row {
    std::string_view key;
    std::string_view help;
  };
  static constexpr Row kRows[] = {
      {"host", "Host of the server [127.0.0.1]"},
      {"port", "Port of the server [8000]"},
      {"api_key", "API key; CORRAL_API_KEY is safer, because other users cannot read it"},
  };
  for (const Row& row : kRows) {
    const Option& option = *find_option(row.key);
    const auto store = [&inputs, &option](const std::string& text) { inputs.flags[std::string(option.key)] = {text}; };
    app.add_option_function<std::string>(flag_of(option), store, std::string(row.help))
        ->type_name(std::string(option.value_name))
        ->group("Server");
  }
  const auto store = [&inputs](const std::string& path) { inputs.config_file = path; };
  app.add_option_function<std::string>("--config", store, "Read host, port and key from FILE")
      ->type_name("FILE")
      ->group("Server");
}

void add_file_flags(CLI::App& app, Inputs& inputs) {
  const Option& option = *find_option("state_dir");
  const auto store = [&inputs, &option](const std::string& text) { inputs.flags[std::string(option.key)] = {text}; };
  app.add_option_function<std::string>(flag_of(option), store, "State folder of the server, as given to corral serve")
      ->type_name(std::string(option.value_name))
      ->group("Server");
  const auto store_file = [&inputs](const std::string& path) { inputs.config_file = path; };
  app.add_option_function<std::string>("--config", store_file, "Read state_dir from FILE")
      ->type_name("FILE")
      ->group("Server");
}

}  // namespace corral::config
