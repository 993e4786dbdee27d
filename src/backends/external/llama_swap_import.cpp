#include "backends/external/llama_swap_import.h"

#include <fmt/format.h>

#include "backends/external/errors.h"
#include "backends/external/known_backends.h"
#include "backends/external/model_keys.h"
#include "backends/external/yaml_reader.h"
#include "json/writer.h"

namespace corral::backends {
namespace {

constexpr std::string_view kFile = "models.toml";

// A text, as TOML and JSON write it. TOML allows no DEL.
std::string toml_text(std::string_view text) {
  std::string json, out;
  json::append_quoted(json, text);
  for (const char c : json) {
    if (c == '\x7f') {
      out += "\\u007F";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// Appends a value. False, and nothing: it is null, which TOML doesn't have.
bool append(std::string& out, const json::Value& value) {
  if (value.is_null()) return false;
  if (const auto* text = value.if_string()) return out += toml_text({text->data(), text->size()}), true;
  if (const auto* flag = value.if_bool()) return out += *flag ? "true" : "false", true;
  if (const auto* number = value.if_int64()) return out += std::to_string(*number), true;
  if (const auto* number = value.if_double()) {
    auto digits = fmt::format("{}", *number);
    if (digits.find_first_of(".e") == digits.npos) digits += ".0";
    return out += digits, true;
  }
  const bool is_array = value.is_array();
  std::string inner;
  const auto add = [&](std::string_view lead, const json::Value& element) {
    std::string text;
    if (append(text, element)) inner += fmt::format("{}{}{}", inner.empty() ? "" : ", ", lead, text);
  };
  if (is_array)
    for (const auto& element : value.get_array()) add("", element);
  if (const auto* object = value.if_object())
    for (const auto& [key, member] : *object) add(toml_text({key.data(), key.size()}) + " = ", member);
  out += is_array ? fmt::format("[{}]", inner) : fmt::format("{{ {} }}", inner);
  return true;
}

class Importer {
 public:
  explicit Importer(ImportedConfiguration& into) : into_(into) {}

  void run(const json::Object& file) {
    for (const auto& [name, value] : file) top(std::string_view(name.data(), name.size()), value);
    table("macros", file.if_contains("macros"));
    const auto& models = file.at("models").get_object();
    for (const auto& [name, model] : models) one(std::string(name.data(), name.size()), model);
  }

 private:
  void line(std::string_view key, const json::Value& value) {
    std::string text;
    if (append(text, value)) into_.toml += fmt::format("{} = {}\n", toml_text(key), text);
  }
  void warn(std::string text) { into_.warnings.push_back(std::move(text)); }

  void top(std::string_view key, const json::Value& value) {
    if (key == "models" || key == "macros") return;
    if (key == "hooks" || key == "globalTTL" || key == "healthCheckTimeout") return line(key, value);
    const auto why = without_effect(key, KeyPlace::file);
    warn(why.empty() ? fmt::format("{} is left out: corral does not know it", key)
                     : fmt::format("{} is left out: {}", key, why));
  }

  void table(std::string_view name, const json::Value* value) {
    if (value == nullptr || !value->is_object()) return;
    into_.toml += fmt::format("\n[{}]\n", name);
    for (const auto& [key, member] : value->get_object()) line({key.data(), key.size()}, member);
  }

  void one(const std::string& name, const json::Value& model) {
    if (!model.is_object()) return warn(fmt::format("models.{} is left out: it is not a map", name));
    into_.toml += fmt::format("\n[models.{}]\n", toml_text(name));
    for (const auto& [key, value] : model.get_object()) {
      const std::string_view word(key.data(), key.size());
      if (const auto why = without_effect(word, KeyPlace::model); !why.empty()) {
        warn(fmt::format("models.{}: {} is left out: {}", name, word, why));
      } else if (!is_model_key(word)) {
        warn(fmt::format("models.{}: {} is left out: corral does not know it", name, word));
      } else if (word == "filters" && value.is_object()) {
        line(word, known_filters(name, value.get_object()));
      } else {
        line(word, value);
      }
    }
  }

  json::Value known_filters(const std::string& model, const json::Object& filters) {
    json::Object known;
    for (const auto& [key, value] : filters) {
      const std::string_view word(key.data(), key.size());
      if (is_filter_key(word)) {
        known.emplace(key, value);
      } else {
        warn(fmt::format("models.{}: filters.{} is left out: corral does not know it", model, word));
      }
    }
    return json::Value(std::move(known));
  }

  ImportedConfiguration& into_;
};

}  // namespace

Result<ImportedConfiguration> import_llama_swap(std::string_view yaml, const std::string& name) {
  const auto file = read_yaml(yaml, name);
  if (!file) return std::unexpected(file.error());
  const auto* models = json::find(*file, "models");
  if (models == nullptr || !models->is_object() || models->get_object().empty())
    return fail(external::errc::bad_descriptor,
                fmt::format("{}: it has no 'models', so it is no configuration of llama-swap", name));
  ImportedConfiguration imported;
  imported.toml = "# Written by corral import llama-swap. docs/backends.md describes the keys.\n";
  Importer(imported).run(file->get_object());
  // As the server will read it.
  auto known = read_backends({});
  parse_models(imported.toml, std::string(kFile), known);
  imported.models = known.models.size();
  for (const auto* list : {&known.problems, &known.warnings})
    for (const auto& problem : *list) imported.warnings.push_back(problem.message);
  return imported;
}

}  // namespace corral::backends
