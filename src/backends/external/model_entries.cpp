#include "backends/external/model_entries.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "backends/external/descriptor_fields.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "backends/external/model_keys.h"
#include "backends/external/model_macros.h"
#include "backends/external/placeholders.h"
#include "config/options/close_keys.h"
#include "config/options/value.h"

namespace corral::backends {
namespace {

constexpr std::size_t kMaxModels = 10'000;
// llama-server's recipe serves entries of corral's own engine that have keys of a program.
constexpr std::string_view kProgramForEngine = "llama-server";

Error bad(std::string_view where, std::string_view what, std::string_view key) {
  return Error(make_error_code(external::errc::bad_descriptor), fmt::format("{}: {}", where, what), std::string(key));
}

bool has_word(const Command& command, std::string_view placeholder) {
  return std::ranges::any_of(command, [&](const CommandPart& part) {
    return std::ranges::any_of(part.words,
                               [&](const std::string& word) { return with_own_words(word).contains(placeholder); });
  });
}

bool has_any(const toml::table& table, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return table.contains(key); });
}

// A command of the entry's own needs neither the program of its recipe nor its address.
void use_own_command(const toml::table& entry, Descriptor& own) {
  if (!has_any(entry, {"command", "cmd"})) return;
  if (!has_any(entry, {"program", "bin"}) && !has_word(own.command, "{program}")) {
    own.program.clear();
    own.install.clear();
  }
  if (has_word(own.command, "{socket}")) own.listen = Listen::socket;
  if (has_word(own.command, "{port}")) own.listen = Listen::port;
}

// Values for entries that don't set them.
struct Defaults {
  std::optional<Millis> ttl, deadline;
};

class ModelReader {
 public:
  ModelReader(const std::string& file, KnownBackends& into) : file_(file), into_(into) {}

  void read(toml::table& table) {
    Macros macros;
    if (const auto fine = read_macros(table.get("macros"), file_, macros); !fine) {
      into_.problems.push_back(fine.error());
      return;
    }
    for (auto&& [key, value] : table) top_key(key.str(), value, place(key), macros);
    auto* models = table.get_as<toml::table>("models");
    if (models == nullptr) return;
    for (auto&& [key, value] : *models) {
      auto entry = one(std::string(key.str()), value, macros, place(key));
      if (entry && into_.models.size() < kMaxModels) into_.models.push_back(std::move(*entry));
      if (!entry) into_.problems.push_back(std::move(entry.error()));
    }
  }

 private:
  std::string place(const toml::key& key) const { return fmt::format("{}:{}", file_, key.source().begin.line); }
  void warn(const std::string& where, std::string_view what, std::string_view key) {
    into_.warnings.push_back(bad(where, what, key));
  }

  void top_key(std::string_view key, toml::node& value, const std::string& where, const Macros& macros) {
    if (key == "macros" || key == "models") return;
    if (key == "hooks") return hooks(value, where, macros);
    const bool is_ttl = key == "globalTTL";
    if (is_ttl || key == "healthCheckTimeout") {
      const auto parsed = texts_of(value);
      const auto time = parsed && parsed->size() == 1 ? config::parse_duration(parsed->front()) : std::nullopt;
      if (!time || time->count() < 0 || (!is_ttl && time->count() == 0))
        return warn(where, fmt::format("{} is ignored: it is not a time such as 600 (seconds) or 10m", key), key);
      (is_ttl ? defaults_.ttl : defaults_.deadline) = *time;
      return;
    }
    if (const auto why = without_effect(key, KeyPlace::file); !why.empty())
      return warn(where, fmt::format("{} has no effect: {}", key, why), key);
    warn(where, fmt::format("unknown key '{}' is ignored; models are in tables [models.NAME]", key), key);
  }

  void hooks(toml::node& value, const std::string& where, const Macros& macros) {
    put_in(value, macros);
    const auto* on_startup = value.is_table() ? value.as_table()->get_as<toml::table>("on_startup") : nullptr;
    const auto* preload = on_startup != nullptr ? on_startup->get("preload") : nullptr;
    const auto names = preload != nullptr ? texts_of(*preload) : std::nullopt;
    if (!names)
      return warn(where, "hooks is ignored: only hooks.on_startup.preload, an array of models, is known", "hooks");
    into_.preload = *names;
  }

  Result<ModelEntry> one(std::string name, toml::node& value, Macros macros, const std::string& where) {
    auto* table = value.as_table();
    if (table == nullptr) return std::unexpected(bad(where, fmt::format("models.{}: it must be a table", name), name));
    const auto fine = read_macros(table->get("macros"), where, macros);
    if (!fine) return std::unexpected(fine.error());
    put_in(*table, macros);
    warn_of_keys(*table, name);
    const auto parsed = table->get_as<std::string>("recipe");
    std::string recipe = parsed ? parsed->get() : std::string(kCommandRecipe);
    const bool by_engine = recipe == kEngineRecipe && !has_program_keys(*table);
    if (recipe == kEngineRecipe) recipe = kProgramForEngine;
    if (recipe == kCommandRecipe && !has_any(*table, {"command", "cmd", "program", "bin"}))
      return std::unexpected(
          bad(where, fmt::format("models.{}: a command is missing: set cmd or recipe", name), "cmd"));
    const auto base = into_.find(recipe);
    if (!base)
      return std::unexpected(
          bad(where, fmt::format("models.{}: unknown backend '{}'; known: {}", name, recipe, into_.recipes.names()),
              "recipe"));
    ModelEntry entry;
    entry.name = std::move(name);
    entry.ttl = defaults_.ttl;
    Descriptor own = *base;
    if (defaults_.deadline) own.ready.deadline = *defaults_.deadline;
    const auto other = [&entry](std::string_view key, const toml::node& node, const std::string& at) {
      return read_model_key(entry, key, node, at);
    };
    const auto read = read_fields(*table, Of::model, file_, own, other);
    if (!read) return std::unexpected(read.error());
    use_own_command(*table, own);
    if (const auto right = check(entry, own, where); !right) return std::unexpected(right.error());
    if (!by_engine) entry.descriptor = std::make_shared<const Descriptor>(std::move(own));
    if (by_engine && entry.checkpoint.empty())
      return std::unexpected(bad(where, "checkpoint: it needs a GGUF file or the name of a model", "checkpoint"));
    return entry;
  }

  Result<> check(const ModelEntry& entry, Descriptor& own, const std::string& where) const {
    if (own.kind == ServerKind::server && !own.url.empty() && !own.url.starts_with("http://127.0.0.1") &&
        !own.url.starts_with("http://localhost"))
      return std::unexpected(
          bad(where, "url: a program that corral starts listens on this machine: http://127.0.0.1:PORT", "url"));
    own.possible |= own.device;
    if (const auto sound = check_whole(own, where); !sound) return sound;
    if (!serves(own, type_of_labels(entry.labels)) && names_a_type(entry.labels))
      return std::unexpected(bad(where,
                                 fmt::format("labels: the backend '{}' serves no models of type {}", own.recipe,
                                             name_of(type_of_labels(entry.labels))),
                                 "labels"));
    return {};
  }

  static bool names_a_type(const std::vector<std::string>& labels) {
    return std::ranges::any_of(labels, [](const std::string& label) { return type_of_label(label).has_value(); });
  }

  // Keys that say how a program is started and asked.
  static bool has_program_keys(const toml::table& table) {
    return std::ranges::any_of(descriptor_fields(), [&](const DescriptorField& field) {
      return field.of_models &&
             (table.contains(field.key) || (!field.synonym.empty() && table.contains(field.synonym)));
    });
  }

  // Removes keys without effect, and warns of them: they must not cost the model.
  void warn_of_keys(toml::table& table, const std::string& model) {
    std::vector<std::string> gone;
    for (const auto& [key, value] : table) {
      if (const auto why = without_effect(key.str(), KeyPlace::model); !why.empty()) {
        warn(place(key), fmt::format("models.{}: {} has no effect: {}", model, key.str(), why), key.str());
      } else if (!is_model_key(key.str())) {
        warn(place(key),
             fmt::format("models.{}: unknown key '{}' is ignored{}", model, key.str(),
                         config::did_you_mean(config::closest_of(std::string(key.str()), model_key_names()))),
             key.str());
      } else {
        continue;
      }
      gone.emplace_back(key.str());
    }
    for (const auto& key : gone) table.erase(key);
    auto* filters = table.get_as<toml::table>("filters");
    if (filters == nullptr) return;
    gone.clear();
    for (const auto& [key, value] : *filters) {
      if (is_filter_key(key.str())) continue;
      warn(place(key), fmt::format("models.{}: filters.{} is ignored; known: strip, set", model, key.str()), key.str());
      gone.emplace_back(key.str());
    }
    for (const auto& key : gone) filters->erase(key);
  }

  const std::string& file_;
  KnownBackends& into_;
  Defaults defaults_;
};

}  // namespace

void read_models(toml::table& table, const std::string& name, KnownBackends& into) {
  ModelReader(name, into).read(table);
}

void parse_models(std::string_view text, const std::string& name, KnownBackends& into) {
  auto table = parse_toml(text, name);
  if (!table) return into.problems.push_back(std::move(table.error()));
  read_models(*table, name, into);
}

}  // namespace corral::backends
