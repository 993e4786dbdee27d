#include "config/sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/state_file.h"
#include "config/errors.h"
#include "config/files/keys.h"
#include "config/load/request_defaults.h"
#include "config/options/assign.h"
#include "config/options/option.h"
#include "config/options/origins.h"

namespace corral::config {
namespace {

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// In the user's form; nullopt for null and nested values.
std::optional<std::string> scalar(const json::Value& value) {
  if (const auto* text = value.if_string()) return std::string(*text);
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (const auto* number = value.if_double()) return fmt::format("{}", *number);
  if (value.is_number()) return json::serialize(value);
  return std::nullopt;
}

}  // namespace

ConfigFile config_file(const Inputs& inputs, const Paths& paths) {
  if (inputs.config_file) return {*inputs.config_file, MissingFile::is_an_error};
  if (const auto path = inputs.environment("CORRAL_CONFIG"); path && !path->empty()) {
    return {paths.expand(*path, {}), MissingFile::is_an_error};
  }
  return {paths.config_home / "corral/config.toml", MissingFile::is_fine};
}

Result<std::vector<std::string>> texts_of(const Option& option, const json::Value& value, std::string_view where) {
  const auto wrong = [&] {
    const std::string shown = option.secret ? "(hidden)" : json::serialize(value);
    return fail(errc::invalid_value, fmt::format("{}: {} is not {}", where, shown, expectation(option)),
                std::string(option.key));
  };
  if (option.table && value.is_object()) return std::vector{json::serialize(value)};
  const auto* array = value.if_array();
  if (!array) {
    auto text = scalar(value);
    if (!text) return wrong();
    return std::vector{std::move(*text)};
  }
  if (!takes_array(option)) return wrong();
  std::vector<std::string> texts;
  for (const json::Value& item : *array) {
    auto text = scalar(item);
    if (!text) return wrong();
    texts.push_back(std::move(*text));
  }
  if (is_list(option)) return texts;
  if (!are_items(option, texts)) return wrong();
  return std::vector{joined(option, texts)};
}

// The sources, highest precedence first.
Result<Given> find_value(const Option& option, const Sources& sources) {
  const Inputs& inputs = sources.inputs;
  if (const auto flag = inputs.flags.find(option.key); flag != inputs.flags.end()) {
    return Given{flag->second, {Source::flag, flag_of(option)}, {}};
  }
  const std::string variable = variable_of(option);
  if (const auto value = inputs.environment(variable); value && !value->empty()) {
    return Given{is_list(option) ? split_paths(*value) : std::vector{*value}, {Source::environment, variable}, {}};
  }
  if (const auto set = sources.set.find(option.key); set != sources.set.end() && option.settable) {
    auto texts = texts_of(option, set->second, option.key);
    if (!texts) return std::unexpected(texts.error());
    return Given{std::move(*texts), {Source::set, "settings.json"}, {}};
  }
  if (const auto given = sources.file.find(option.key); given != sources.file.end()) return given->second;
  return Given{{std::string(option.fallback)}, {Source::fallback, "default"}, {}};
}

Result<> check_bind(const ServeSettings& settings) {
  const bool keyed = !settings.api_key.empty() || settings.has_key_file;
  if (std::ranges::all_of(names_in(settings.host), is_loopback) || keyed || settings.allow_open) return {};
  return fail(errc::unsafe_bind,
              fmt::format("{}: '{}' is reachable from other machines, but no key is required: create one with corral "
                          "key create or set CORRAL_API_KEY ({}), or give --allow-open",
                          settings.origins.at("host").where, settings.host, kOthersAreRejected),
              "host");
}

// model_file or hub_model, not both.
Result<> check_one_model(const ServeSettings& settings) {
  if (settings.model_file.empty() || settings.hub_model.empty()) return {};
  return fail(errc::invalid_value,
              fmt::format("{}: '{}' conflicts with model_file '{}': give one of both",
                          settings.origins.at("hub_model").where, settings.hub_model, settings.model_file.native()),
              "hub_model");
}

Result<ServeSettings> resolve(const Sources& sources) {
  ServeSettings settings;
  for (const Option& option : options()) {
    const auto given = find_value(option, sources);
    if (!given) return std::unexpected(given.error());
    if (auto done = assign(option, *given, sources.paths, settings); !done) return std::unexpected(done.error());
  }
  settings.ctx_size = std::max(settings.ctx_size, 0);  // -1 is another way to say auto
  settings.has_key_file = sources.has_key_file;
  if (auto safe = check_bind(settings); !safe) return std::unexpected(safe.error());
  if (auto one = check_one_model(settings); !one) return std::unexpected(one.error());
  return settings;
}

Result<Sources> read_sources(const Inputs& inputs, UnknownKeys unknown, std::optional<Error>* broken,
                             std::optional<Error>* broken_file) {
  Sources sources{inputs, Paths::from(inputs.environment), {}, {}, false};
  const auto [path, missing] = config_file(inputs, sources.paths);
  auto file = read_file(path, sources.paths, missing, unknown);
  if (file) {
    sources.file = std::move(*file);
  } else if (broken_file == nullptr ||
             (missing == MissingFile::is_an_error && file.error().code == errc::unreadable_file)) {
    return std::unexpected(file.error());
  } else {
    *broken_file = file.error();
  }

  ServeSettings place;
  const Option& option = *find_option("state_dir");
  const auto put = [&]() -> Result<> {
    const auto given = find_value(option, sources);
    return given ? assign(option, *given, sources.paths, place) : std::unexpected(given.error());
  };
  auto done = put();
  if (!done && broken_file != nullptr && sources.file.erase(std::string(option.key)) > 0) {
    *broken_file = done.error();
    done = put();
  }
  if (!done) return std::unexpected(done.error());
  std::error_code ignored;
  sources.has_key_file = std::filesystem::exists(place.keys_file(), ignored);
  const auto text = read_state_file(place.set_values_file());
  const std::string name = sources.paths.shorten(place.set_values_file());
  auto set = text ? parse_set_values(text->value_or("{}"), name) : std::unexpected(text.error());
  if (set) {
    sources.set = std::move(*set);
  } else if (broken) {
    *broken = set.error();
  }
  return sources;
}

Result<SetValues> parse_set_values(std::string_view text, const std::string& name) {
  const auto parsed = json::parse(text);
  if (!parsed) return fail(errc::malformed_file, fmt::format("{}: {}", name, parsed.error().message));
  const auto* object = parsed->if_object();
  if (!object) return fail(errc::malformed_file, fmt::format("{}: not a JSON object", name));
  SetValues values;
  for (const auto& [key, value] : *object) values[std::string(key)] = value;
  return values;
}

std::string to_text(const SetValues& values) {
  std::string text = "{";
  for (const auto& [key, value] : values) {
    text += fmt::format("{}\n  {}: {}", text.size() > 1 ? "," : "", json::serialize(json::Value(key)),
                        json::serialize(value));
  }
  return text + "\n}\n";
}

}  // namespace corral::config
