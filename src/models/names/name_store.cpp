#include "models/names/name_store.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/state_file.h"
#include "json/value.h"
#include "models/errors.h"
#include "models/names/model_names.h"
#include "models/text.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

Result<json::Object> read_entries(const fs::path& file) {
  const auto text = read_state_file(file);
  if (!text) return std::unexpected(text.error());
  if (!*text) return json::Object();
  auto parsed = json::parse(**text);
  if (parsed && parsed->is_object()) return std::move(parsed->get_object());
  return fail(errc::malformed,
              fmt::format("{} is not an object of models: correct it, or move it away", file.native()));
}

Result<> write_entries(const fs::path& file, json::Object entries) {
  return write_state_file(file, json::serialize(json::Value(std::move(entries))) + "\n");
}

// The names, as they stand in the file, of which the model is called so.
std::vector<std::string> keys_of(const json::Object& entries, std::string_view name) {
  std::vector<std::string> keys;
  for (const auto& [key, ignored] : entries)
    if (printable(without_prefix(key)) == name) keys.emplace_back(key);
  return keys;
}

}  // namespace

Result<> NameStore::put(const UserModel& model) {
  const MutexLock lock(mutex_);
  auto entries = read_entries(user_models_);
  if (!entries) return std::unexpected(entries.error());
  for (const auto& key : keys_of(*entries, model.name)) entries->erase(key);
  json::Object entry;
  entry["checkpoint"] = model.checkpoint;
  entry["recipe"] = model.recipe;
  if (model.fetched) entry["fetched"] = true;
  if (!model.labels.empty()) {
    json::Array labels;
    for (const auto& label : model.labels) labels.emplace_back(label);
    entry["labels"] = std::move(labels);
  }
  (*entries)[model.name] = std::move(entry);
  return write_entries(user_models_, std::move(*entries));
}

Result<bool> NameStore::remove(std::string_view name) {
  const MutexLock lock(mutex_);
  auto entries = read_entries(user_models_);
  if (!entries) return std::unexpected(entries.error());
  const auto keys = keys_of(*entries, name);
  if (keys.empty()) return false;
  for (const auto& key : keys) entries->erase(key);
  if (auto written = write_entries(user_models_, std::move(*entries)); !written)
    return std::unexpected(written.error());
  return true;
}

Result<> NameStore::put_alias(std::string_view name, const Alias& alias) {
  const MutexLock lock(mutex_);
  auto entries = read_entries(aliases_);
  if (!entries) return std::unexpected(entries.error());
  if (alias.defaults.empty()) {
    (*entries)[name] = alias.target;
  } else {
    auto defaults = json::parse(alias.defaults);
    if (!defaults) return std::unexpected(defaults.error());
    (*entries)[name] = json::Object{{"model", alias.target}, {"defaults", std::move(*defaults)}};
  }
  return write_entries(aliases_, std::move(*entries));
}

Result<bool> NameStore::remove_alias(std::string_view alias) {
  const MutexLock lock(mutex_);
  auto entries = read_entries(aliases_);
  if (!entries) return std::unexpected(entries.error());
  if (entries->erase(alias) == 0) return false;
  if (auto written = write_entries(aliases_, std::move(*entries)); !written) return std::unexpected(written.error());
  return true;
}

}  // namespace corral::models
