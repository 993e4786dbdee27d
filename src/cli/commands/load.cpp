#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

Result<int> load(const LoadRequest& options, CommandContext& context) {
  warn_if_pinned_full(context, options.model);
  if (context.json) {
    const auto text = fetch(context.api, ApiRequest::post("/api/v1/load", load_body(options, false)));
    if (!text) return std::unexpected(text.error());
    return print_json(context, *text);
  }
  const MonoTime start = context.clock.now();
  const auto loaded = load_with_progress(context, options);
  if (!loaded) return std::unexpected(loaded.error());
  const auto took = std::chrono::duration_cast<Millis>(context.clock.now() - start);
  const auto window =
      loaded->context ? fmt::format("{} tokens of context", context_or_unknown(loaded->context, loaded->max_context))
                      : std::string();
  auto& out = context.terminal.out;
  if (loaded->already_loaded) {
    out << fmt::format("{} is already loaded{}\n", options.model, window.empty() ? "" : fmt::format(" ({})", window));
    return kExitOk;
  }
  out << fmt::format("{} is loaded ({}{})\n", options.model, human_duration(took), window.empty() ? "" : ", " + window);
  return kExitOk;
}

using Values = config::LoadOptions;

// An absolute path, because the server's working directory differs from the shell's.
std::string for_server(const config::LoadOption& option, const std::string& text) {
  const bool word = !option.none.empty() && (text.empty() || text == "auto" || text == option.none);
  return option.names_files && !word ? std::filesystem::absolute(text).native() : text;
}

// The library's own message says only that it could not convert the text.
template <typename T>
std::function<std::string(const std::string&)> is_number(std::string right) {
  return [right = std::move(right)](const std::string& text) {
    T number{};
    return CLI::detail::lexical_cast(text, number) ? std::string() : fmt::format("'{}' is not {}", text, right);
  };
}

// Adds the flag of one row; stores its value in `values`.
struct FlagAdder {
  CLI::App& app;
  const config::LoadOption& option;
  Values& values;

  std::string flag() const {
    std::string name(option.key);
    std::ranges::replace(name, '_', '-');
    return "--" + name;
  }
  template <typename T, typename Store>
  CLI::Option* add(const Store& store) const {
    const auto names = option.older_flag.empty() ? flag() : fmt::format("{},{}", flag(), option.older_flag);
    return app.add_option_function<T>(names, store, std::string(option.help))
        ->type_name(std::string(option.value_name));
  }

  void operator()(std::optional<std::int64_t> Values::* member) const {
    auto* const flag = add<std::int64_t>([&to = values.*member](std::int64_t number) { to = number; });
    flag->check(is_number<std::int64_t>(option.automatic ? "a whole number, or auto" : "a whole number"));
    if (!option.automatic) return;
    flag->transform([number = *option.automatic](const std::string& text) {
      return text == "auto" ? std::to_string(number) : text;
    });
  }
  void operator()(std::optional<double> Values::* member) const {
    add<double>([&to = values.*member](double number) { to = number; })->check(is_number<double>("a number"));
  }
  void operator()(std::optional<Millis> Values::* member) const {
    add<double>([&to = values.*member](double seconds) {
      to = Millis(std::llround(seconds * 1000));
    })->check(is_number<double>("a number"));
  }
  void operator()(std::optional<bool> Values::* member) const {
    const auto both = fmt::format("{},!--no-{}", flag(), flag().substr(2));
    const auto store = [&to = values.*member](std::int64_t count) { to = count > 0; };
    app.add_flag_function(both, store, std::string(option.help));
  }
  void operator()(std::optional<std::string> Values::* member) const {
    add<std::string>([&to = values.*member, &row = option](const std::string& text) { to = for_server(row, text); });
    if (option.none.empty()) return;
    app.add_flag_function(
        "--no-" + flag().substr(2), [&to = values.*member, &row = option](std::int64_t) { to = std::string(row.none); },
        fmt::format("The same as {} {}", flag(), option.none));
  }
  void operator()(std::optional<std::vector<std::string>> Values::* member) const {
    const auto store = [&to = values.*member, &row = option](const std::string& text) {
      if (!to) to.emplace();
      to->push_back(for_server(row, text));
    };
    add<std::string>(store)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->trigger_on_parse();
  }
};

}  // namespace

void declare_load_options(CLI::App& app, LoadRequest& options) {
  app.add_option("MODEL", options.model, "Name of the model")->required()->type_name("");
  for (const auto& option : config::load_options()) {
    if (!option.internal) std::visit(FlagAdder{app, option, options.values}, option.field);
  }
}

Action declare_load(CLI::App& app) {
  const auto options = std::make_shared<LoadRequest>();
  declare_load_options(app, *options);
  const auto set_pinned = [options](std::int64_t count) { options->pinned = count > 0; };
  app.add_flag_function("--pinned,!--no-pinned", set_pinned, "Pin it: never evict it automatically");
  app.add_flag("--save-options", options->save, "Save these options for later loads of the model");
  app.add_option("--split", options->split,
                 "Split it over these nodes of the mesh, separated by commas: for a model that fits no single node")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NODES");
  return [options](CommandContext& context) { return load(*options, context); };
}

}  // namespace corral::cli
