#include "backends/option_store.h"

#include <fmt/format.h>

#include "backends/errors.h"
#include "base/log.h"
#include "base/state_file.h"
#include "models/names/model_names.h"

namespace corral::backends {
namespace {

constexpr std::string_view kPinned = "pinned";

std::string text_of(const json::Object& entries) {
  std::string text = "{";
  for (const auto& [model, members] : entries) {
    text += fmt::format("{}\n  {}: {}", text.size() > 1 ? "," : "", json::serialize(json::Value(model)),
                        json::serialize(members));
  }
  return text + "\n}\n";
}

}  // namespace

OptionStore::OptionStore(std::filesystem::path file) : file_(std::move(file)) {
  if (!file_.empty()) read();
}

void OptionStore::read() {
  const auto text = read_state_file(file_);
  if (!text) {
    log::error("backends", "saved options are ignored: {}", text.error().message);
    return;
  }
  if (!*text) return;
  const auto parsed = json::parse(**text);
  const auto* models = parsed ? parsed->if_object() : nullptr;
  if (!models) {
    const auto aside = set_aside(file_);
    log::error("backends", "{} is not a JSON object, so saved options are ignored; {}", file_.native(),
               aside.empty() ? "it cannot be renamed either" : "it was renamed to " + aside.native());
    return;
  }
  for (const auto& [model, members] : *models) {
    const std::string name(model);
    if (const auto* object = members.if_object()) {
      entries_[name] = read_entry(name, *object);
    } else {
      log::warning("backends", "{}: the entry of '{}' is not an object and is ignored", file_.native(), name);
    }
  }
}

OptionStore::Entry OptionStore::read_entry(const std::string& model, const json::Object& members) {
  Entry entry;
  for (const auto& [name, value] : members) {
    const std::string key(name);
    const auto* option = config::find_load_option(key);
    if (key == kPinned && value.is_bool()) {
      entry.pinned = value.get_bool();
    } else if (!option || option->internal) {
      entry.others[key] = value;
    } else if (LoadOptions single; config::read(*option, value, single) && config::check(single)) {
      entry.options = merge(single, entry.options);
    } else {
      log::warning("backends", "saved option {} of '{}' is ignored: invalid value {}", key, model,
                   json::serialize(value));
      entry.others[key] = value;
    }
  }
  return entry;
}

OptionStore::Entries::const_iterator OptionStore::find(const ModelName& model) const {
  auto found = entries_.find(model.value());
  for (const std::string_view prefix : models::kNamePrefixes) {
    if (found == entries_.end()) found = entries_.find(std::string(prefix) + model.value());
  }
  return found;
}

OptionStore::Entry OptionStore::entry(const ModelName& model) const {
  const auto found = find(model);
  return found == entries_.end() ? Entry() : found->second;
}

OptionStore::All OptionStore::all() const {
  All options;
  for (const auto& [name, entry] : entries_) {
    for (const ModelName& model : {ModelName(name), ModelName(std::string(models::without_prefix(name)))})
      options.emplace(model, of(model));
  }
  return options;
}

LoadOptions OptionStore::of(const ModelName& model) const { return entry(model).options; }

bool OptionStore::pinned(const ModelName& model) const { return entry(model).pinned; }

std::set<ModelName> OptionStore::pins() const {
  std::set<ModelName> names;
  for (const auto& [name, entry] : entries_) {
    if (!entry.pinned) continue;
    names.emplace(name);
    names.emplace(std::string(models::without_prefix(name)));
  }
  return names;
}

Result<> OptionStore::save(const ModelName& model, const LoadOptions& options) {
  auto changed = entry(model);
  changed.options = options;
  for (const auto& option : config::load_options()) {
    if (option.internal) config::unset(option, changed.options);
    changed.others.erase(option.key);  // an invalid value of this option
  }
  return replace(model, std::move(changed));
}

Result<> OptionStore::pin(const ModelName& model, bool pinned) {
  auto changed = entry(model);
  if (changed.pinned == pinned) return {};
  changed.pinned = pinned;
  return replace(model, std::move(changed));
}

Result<> OptionStore::replace(const ModelName& model, Entry entry) {
  Entries next = entries_;
  if (const auto before = find(model); before != entries_.end()) next.erase(before->first);
  if (!entry.empty()) next[model.value()] = std::move(entry);
  if (!file_.empty()) {
    json::Object models;
    for (const auto& [name, saved] : next) {
      json::Object members;
      for (const auto& option : config::load_options()) {
        if (config::is_set(option, saved.options)) members[option.key] = config::to_json(option, saved.options);
      }
      if (saved.pinned) members[kPinned] = true;
      for (const auto& [key, value] : saved.others) members[key] = value;
      models[name] = std::move(members);
    }
    const auto written = write_state_file(file_, text_of(models));
    if (!written)
      return fail(errc::not_saved, fmt::format("options of '{}': {}", model.value(), written.error().message));
  }
  entries_ = std::move(next);
  return {};
}

}  // namespace corral::backends
