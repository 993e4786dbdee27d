#include "backends/external/known_backends.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "backends/errors.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "config/options/value.h"

namespace corral::backends {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModels = 10'000;
constexpr std::size_t kLongestMacro = 64 * 1024;

struct BuiltIn {
  std::string_view name;
  std::string_view text;
};
constexpr BuiltIn kBuiltIn[] = {
#include CORRAL_BUILTIN_DESCRIPTORS
};

Result<Descriptor> descriptor_of(const toml::table& table, const std::string& name) {
  Descriptor descriptor;
  descriptor.types = {ModelType::llm};
  const auto read = read_fields(table, Of::recipe, name, descriptor);
  if (!read) return std::unexpected(read.error());
  if (descriptor.possible == Device::none) descriptor.possible = descriptor.device;
  descriptor.possible |= descriptor.device;
  const auto sound = check_whole(descriptor, name);
  if (!sound) return std::unexpected(sound.error());
  return descriptor;
}

using Macros = std::map<std::string, std::string, std::less<>>;

std::string with_macros(std::string_view text, const Macros& macros) {
  std::string out;
  while (!text.empty() && out.size() < kLongestMacro) {
    const auto at = text.find("${");
    const auto end = at == text.npos ? text.npos : text.find('}', at);
    if (end == text.npos) break;
    const auto known = macros.find(text.substr(at + 2, end - at - 2));
    out.append(text.substr(0, at));
    if (known == macros.end()) {
      out.append(text.substr(at, end + 1 - at));
    } else {
      out.append(known->second);
    }
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

void put_in(toml::node& node, const Macros& macros) {
  if (auto* text = node.as_string()) {
    text->get() = with_macros(text->get(), macros);
  } else if (auto* array = node.as_array()) {
    for (auto& element : *array) put_in(element, macros);
  } else if (auto* table = node.as_table()) {
    for (auto&& [key, value] : *table) put_in(value, macros);
  }
}

// In the order of the file, so that a macro may use earlier ones.
Result<> read_macros(const toml::node* node, const std::string& where, Macros& macros) {
  if (node == nullptr) return {};
  const auto* table = node->as_table();
  if (table == nullptr)
    return fail(external::errc::bad_descriptor, fmt::format("{}: macros: it must be a table of strings", where),
                "macros");
  std::vector<std::pair<toml::source_index, std::string>> names;
  for (const auto& [key, value] : *table) names.emplace_back(key.source().begin.line, key.str());
  std::ranges::sort(names);
  for (const auto& [line, name] : names) {
    const auto text = texts_of(*table->get(name));
    if (!text || table->get(name)->is_array() || name == "PORT" || name == "MODEL_ID" || name == "PID")
      return fail(external::errc::bad_descriptor,
                  fmt::format("{}: macros: '{}' must be a string with a unique name", where, name), "macros");
    macros[name] = with_macros(text->front(), macros);
  }
  return {};
}

class ModelReader {
 public:
  ModelReader(const std::string& file, KnownBackends& into) : file_(file), into_(into) {}

  void read(toml::table& table) {
    for (const auto& [key, value] : table) {
      if (key == "macros" || key == "models") continue;
      into_.problems.push_back(Error(make_error_code(external::errc::bad_descriptor),
                                     fmt::format("{}:{}: unknown key '{}'; models are in tables [models.NAME]", file_,
                                                 key.source().begin.line, key.str()),
                                     std::string(key.str())));
    }
    Macros macros;
    if (const auto fine = read_macros(table.get("macros"), file_, macros); !fine) {
      into_.problems.push_back(fine.error());
      return;
    }
    auto* models = table.get_as<toml::table>("models");
    if (models == nullptr) return;
    for (auto&& [key, value] : *models) {
      const auto where = fmt::format("{}:{}", file_, key.source().begin.line);
      auto entry = one(std::string(key.str()), value, macros, where);
      if (entry && into_.models.size() < kMaxModels) into_.models.push_back(std::move(*entry));
      if (!entry) into_.problems.push_back(std::move(entry.error()));
    }
  }

 private:
  Result<ModelEntry> one(std::string name, toml::node& value, Macros macros, const std::string& where) const {
    auto* table = value.as_table();
    if (table == nullptr)
      return fail(external::errc::bad_descriptor, fmt::format("{}: models.{}: it must be a table", where, name), name);
    const auto fine = read_macros(table->get("macros"), where, macros);
    if (!fine) return std::unexpected(fine.error());
    put_in(*table, macros);
    const auto said = table->get_as<std::string>("recipe");
    const std::string recipe = said ? said->get() : std::string(kCommandRecipe);
    const auto base = into_.find(recipe);
    if (!base) {
      return fail(external::errc::bad_descriptor,
                  fmt::format("{}: models.{}: unknown backend '{}'; known: {}", where, name, recipe, recipe_names()),
                  "recipe");
    }
    ModelEntry entry{.name = std::move(name),
                     .checkpoint = {},
                     .parts = {},
                     .labels = {},
                     .aliases = {},
                     .ttl = {},
                     .descriptor = {}};
    Descriptor own = *base;
    const auto other = [&entry](std::string_view key, const toml::node& node, const std::string& at) {
      return read_own(entry, key, node, at);
    };
    const auto read = read_fields(*table, Of::model, file_, own, other);
    if (!read) return std::unexpected(read.error());
    if (own.kind == ServerKind::server && !own.url.empty() && !own.url.starts_with("http://127.0.0.1") &&
        !own.url.starts_with("http://localhost"))
      return fail(
          external::errc::bad_descriptor,
          fmt::format("{}: url: a program that corral starts listens on this machine: http://127.0.0.1:PORT", where),
          "url");
    own.possible |= own.device;
    const auto sound = check_whole(own, where);
    if (!sound) return std::unexpected(sound.error());
    if (!serves(own, type_of_labels(entry.labels)) && !entry.labels.empty() && says_a_type(entry.labels)) {
      return fail(external::errc::bad_descriptor,
                  fmt::format("{}: labels: the backend '{}' serves no models of type {}", where, own.recipe,
                              name_of(type_of_labels(entry.labels))),
                  "labels");
    }
    entry.descriptor = std::make_shared<const Descriptor>(std::move(own));
    return entry;
  }

  static bool says_a_type(const std::vector<std::string>& labels) {
    return std::ranges::any_of(labels, [](const std::string& label) { return type_of_label(label).has_value(); });
  }

  // Keys of a model's entry that no descriptor has.
  static Result<bool> read_own(ModelEntry& entry, std::string_view key, const toml::node& node,
                               const std::string& where) {
    const auto wrong = [&](std::string_view what) {
      return fail(external::errc::bad_descriptor, fmt::format("{}: {}: it is not {}", where, key, what),
                  std::string(key));
    };
    if (key == "recipe" || key == "macros") return true;
    if (key == "checkpoint") {
      if (!node.is_string()) return wrong("a text");
      entry.checkpoint = node.as_string()->get();
    } else if (key == "checkpoints") {
      const auto* table = node.as_table();
      if (table == nullptr) return wrong("a table of texts");
      for (const auto& [name, value] : *table) {
        if (!value.is_string()) return wrong("a table of texts");
        (name == "main" ? entry.checkpoint : entry.parts[std::string(name.str())]) = value.as_string()->get();
      }
    } else if (key == "labels" || key == "aliases") {
      auto said = texts_of(node);
      if (!said) return wrong("an array of texts");
      (key == "labels" ? entry.labels : entry.aliases) = std::move(*said);
    } else if (key == "ttl") {
      const auto said = texts_of(node);
      const auto time = said && said->size() == 1 ? config::parse_duration(said->front()) : std::nullopt;
      if (!time || time->count() < 0) return wrong("a time such as 600 (seconds) or 10m; 0 for never");
      entry.ttl = *time;
    } else {
      return false;
    }
    return true;
  }

  const std::string& file_;
  KnownBackends& into_;
};

void add(KnownBackends& known, Descriptor descriptor) {
  auto fresh = std::make_shared<const Descriptor>(std::move(descriptor));
  const auto same = std::ranges::find(known.descriptors, fresh->recipe, [](const auto& one) { return one->recipe; });
  if (same != known.descriptors.end()) {
    *same = std::move(fresh);
  } else {
    known.descriptors.push_back(std::move(fresh));
  }
}

}  // namespace

DescriptorPtr KnownBackends::find(std::string_view recipe) const {
  const auto found =
      std::ranges::find(descriptors, recipe, [](const auto& one) { return std::string_view(one->recipe); });
  return found == descriptors.end() ? nullptr : *found;
}

Result<Descriptor> parse_descriptor(std::string_view text, const std::string& name) {
  const auto table = parse_toml(text, name);
  if (!table) return std::unexpected(table.error());
  return descriptor_of(*table, name);
}

std::span<const DescriptorPtr> builtin_descriptors() {
  static const auto known = [] {
    std::vector<DescriptorPtr> list;
    for (const auto& [name, text] : kBuiltIn) {
      auto descriptor = parse_descriptor(text, std::string(name) + ".toml");
      // A test reads all of them.
      if (descriptor) list.push_back(std::make_shared<const Descriptor>(std::move(*descriptor)));
    }
    std::ranges::sort(list, {}, [](const auto& one) { return one->recipe; });
    return list;
  }();
  return known;
}

void parse_models(std::string_view text, const std::string& name, KnownBackends& into) {
  auto table = parse_toml(text, name);
  if (!table) return into.problems.push_back(std::move(table.error()));
  ModelReader(name, into).read(*table);
}

KnownBackends read_backends(const fs::path& folder) {
  KnownBackends known;
  const auto builtin = builtin_descriptors();
  known.descriptors.assign(builtin.begin(), builtin.end());
  if (folder.empty()) return known;
  std::set<fs::path> files;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder / "backends.d", ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".toml") files.insert(entry->path());
  }
  for (const auto& file : files) {
    const auto table = read_own_toml(file);
    auto descriptor = table ? descriptor_of(*table, file.native()) : std::unexpected(table.error());
    if (descriptor && descriptor->recipe == "llamacpp") {
      descriptor =
          fail(external::errc::bad_descriptor,
               fmt::format("{}: recipe: 'llamacpp' is corral's own engine; use another name", file.native()), "recipe");
    }
    if (!descriptor) {
      known.problems.push_back(descriptor.error());
      continue;
    }
    descriptor->file = file;
    add(known, std::move(*descriptor));
  }
  const auto models = folder / "models.toml";
  if (fs::exists(models, ignored)) {
    auto table = read_own_toml(models);
    if (table) {
      ModelReader(models.native(), known).read(*table);
    } else {
      known.problems.push_back(table.error());
    }
  }
  return known;
}

}  // namespace corral::backends
