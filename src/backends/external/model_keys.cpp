#include "backends/external/model_keys.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/external/descriptor_fields.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "config/options/value.h"

namespace corral::backends {
namespace {

constexpr std::int64_t kMaxContext = 1'000'000'000;

// What a value should be; empty: it is that.
using Wanted = std::string_view;

Wanted read_text(const toml::node& node, std::string& into) {
  if (!node.is_string()) return "a text";
  into = node.as_string()->get();
  return {};
}

Wanted read_flag(const toml::node& node, bool& into) {
  if (!node.is_boolean()) return "true or false";
  into = node.as_boolean()->get();
  return {};
}

Wanted read_ability(const toml::node& node, std::optional<bool>& into) {
  bool parsed = false;
  const auto wrong = read_flag(node, parsed);
  if (wrong.empty()) into = parsed;
  return wrong;
}

Wanted checkpoint(ModelEntry& entry, const toml::node& node) { return read_text(node, entry.checkpoint); }

Wanted checkpoints(ModelEntry& entry, const toml::node& node) {
  constexpr Wanted kWanted = "a table of texts";
  const auto* table = node.as_table();
  if (table == nullptr) return kWanted;
  for (const auto& [name, value] : *table) {
    if (!value.is_string()) return kWanted;
    (name == "main" ? entry.checkpoint : entry.parts[std::string(name.str())]) = value.as_string()->get();
  }
  return {};
}

Wanted labels(ModelEntry& entry, const toml::node& node) {
  auto parsed = texts_of(node);
  if (!parsed) return "an array of texts";
  entry.labels = std::move(*parsed);
  return {};
}

// Texts, or llama-swap's tables with `id`.
Wanted aliases(ModelEntry& entry, const toml::node& node) {
  constexpr Wanted kWanted = "an array of texts";
  const auto* array = node.as_array();
  if (array == nullptr) return kWanted;
  std::vector<std::string> names;
  for (const auto& element : *array) {
    const auto* table = element.as_table();
    const auto* name = table != nullptr ? table->get_as<std::string>("id") : element.as_string();
    if (name == nullptr) return kWanted;
    names.push_back(name->get());
  }
  entry.aliases = std::move(names);
  return {};
}

Wanted ttl(ModelEntry& entry, const toml::node& node) {
  // llama-swap's -1: the value for all models.
  if (node.is_integer() && node.as_integer()->get() == -1) return {};
  const auto parsed = texts_of(node);
  const auto time = parsed && parsed->size() == 1 ? config::parse_duration(parsed->front()) : std::nullopt;
  if (!time || time->count() < 0) return "a time such as 600 (seconds) or 10m; 0 for never";
  entry.ttl = *time;
  return {};
}

Wanted context(ModelEntry& entry, const toml::node& node) {
  const auto* parsed = node.as_integer();
  if (parsed == nullptr || parsed->get() < 1 || parsed->get() > kMaxContext)
    return "a whole number from 1 to 1000000000";
  entry.declared.context = static_cast<std::uint64_t>(parsed->get());
  return {};
}

Wanted metadata(ModelEntry& entry, const toml::node& node) {
  const auto json = node.is_table() ? to_json(node) : std::nullopt;
  if (!json) return "a table of values with an equivalent in JSON";
  entry.declared.metadata = *json;
  return {};
}

Wanted nothing(ModelEntry&, const toml::node&) { return {}; }

struct Row {
  std::string_view key;
  Wanted (*read)(ModelEntry& entry, const toml::node& node);
};
constexpr auto kRows = std::to_array<Row>({
    {"recipe", nothing},  // read before
    {"macros", nothing},
    {"checkpoint", checkpoint},
    {"checkpoints", checkpoints},
    {"labels", labels},
    {"aliases", aliases},
    {"ttl", ttl},
    {"context", context},
    {"tools", [](ModelEntry& entry, const toml::node& node) { return read_ability(node, entry.declared.tools); }},
    {"vision", [](ModelEntry& entry, const toml::node& node) { return read_ability(node, entry.declared.vision); }},
    {"name", [](ModelEntry& entry, const toml::node& node) { return read_text(node, entry.declared.title); }},
    {"description",
     [](ModelEntry& entry, const toml::node& node) { return read_text(node, entry.declared.description); }},
    {"metadata", metadata},
    {"unlisted", [](ModelEntry& entry, const toml::node& node) { return read_flag(node, entry.declared.unlisted); }},
});

struct Ignored {
  KeyPlace place;
  std::string_view key, why;
};
constexpr auto kIgnored = std::to_array<Ignored>({
    {KeyPlace::file, "groups",
     "corral loads as many models as max_loaded_models and the memory allow; pin those that must stay"},
    {KeyPlace::file, "matrix",
     "corral loads as many models as max_loaded_models and the memory allow; pin those that must stay"},
    {KeyPlace::file, "routing",
     "corral loads as many models as max_loaded_models and the memory allow; pin those that must stay"},
    {KeyPlace::file, "startPort", "corral uses free ports"},
    {KeyPlace::file, "logLevel", "use log_level of config.toml"},
    {KeyPlace::file, "logTimeFormat", "the log has one format"},
    {KeyPlace::file, "logToStdout", "the output of programs is in the folder log of state_dir"},
    {KeyPlace::file, "metricsMaxInMemory", "use max_activity_rows of config.toml"},
    {KeyPlace::file, "captureBuffer", "use capture_bodies of config.toml"},
    {KeyPlace::file, "sendLoadingState", "streams get comments while a model loads"},
    {KeyPlace::file, "includeAliasesInList", "use corral alias for aliases that lists show"},
    {KeyPlace::file, "apiKeys", "run corral key create"},
    {KeyPlace::file, "peers", "use a model of kind attach for each server, or a mesh"},
    {KeyPlace::model, "sendLoadingState", "streams get comments while a model loads"},
    {KeyPlace::model, "timeouts", "use request_timeout"},
    {KeyPlace::model, "unloadTimeout", "a program gets some seconds to end"},
    {KeyPlace::model, "capabilities", "use context, tools, vision and labels"},
    {KeyPlace::model, "compat", "corral has no such modes"},
});

}  // namespace

Result<bool> read_model_key(ModelEntry& entry, std::string_view key, const toml::node& node, const std::string& where) {
  const auto row = std::ranges::find(kRows, key, &Row::key);
  if (row == kRows.end()) return false;
  const auto wanted = row->read(entry, node);
  if (wanted.empty()) return true;
  return fail(external::errc::bad_descriptor, fmt::format("{}: {}: it is not {}", where, key, wanted),
              std::string(key));
}

bool is_model_key(std::string_view key) {
  // Keys of descriptors alone are errors, with a reason of their own.
  const auto is_it = [&](const DescriptorField& field) { return field.key == key || field.synonym == key; };
  return std::ranges::find(kRows, key, &Row::key) != kRows.end() || std::ranges::any_of(descriptor_fields(), is_it);
}

std::vector<std::string_view> model_key_names() {
  std::vector<std::string_view> names;
  for (const auto& row : kRows) names.push_back(row.key);
  for (const auto& field : descriptor_fields())
    if (field.of_models) names.push_back(field.key);
  return names;
}

bool is_filter_key(std::string_view key) {
  constexpr std::array<std::string_view, 6> kKeys = {"strip", "stripParams", "strip_params",
                                                     "set",   "setParams",   "set_params"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

std::string_view without_effect(std::string_view key, KeyPlace place) {
  const auto is_it = [&](const Ignored& row) { return row.place == place && row.key == key; };
  const auto row = std::ranges::find_if(kIgnored, is_it);
  return row == kIgnored.end() ? std::string_view() : row->why;
}

}  // namespace corral::backends
