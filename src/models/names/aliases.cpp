#include "models/names/aliases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/state_file.h"
#include "base/text.h"
#include "json/value.h"
#include "models/text.h"

namespace corral::models {

Aliases read_aliases(const std::filesystem::path& file) {
  Aliases aliases;
  if (file.empty()) return aliases;
  const auto text = read_state_file(file);
  const auto parsed = text && *text ? json::parse(**text) : json::Value();
  const auto* entries = parsed ? parsed->if_object() : nullptr;
  if (entries == nullptr) return aliases;
  for (const auto& [alias, value] : *entries) {
    const auto* const object = value.if_object();
    const auto* const target = object == nullptr ? &value : object->if_contains("model");
    const auto* const name = target == nullptr ? nullptr : target->if_string();
    if (name == nullptr || alias.empty() || name->empty()) continue;
    const auto* const defaults = object == nullptr ? nullptr : object->if_contains("defaults");
    const bool has_defaults = defaults != nullptr && defaults->is_object() && !defaults->get_object().empty();
    aliases[printable(alias)] = {printable(*name), has_defaults ? json::serialize(*defaults) : std::string()};
  }
  return aliases;
}

namespace {

// `found` with other names of its models; names of models precede.
std::vector<ModelInfo> with_names(const Catalog& found, const KnownNames& names) {
  std::vector<ModelInfo> models;
  for (const auto& model : found.models()) models.push_back(*model);
  for (const auto& [alias, target] : names) {
    const ModelName name(alias);
    if (std::ranges::find(models, name, &ModelInfo::name) != models.end()) continue;
    const auto meant = found.find(target);
    if (!meant) continue;
    for (auto& model : models) {
      std::erase(model.aliases, name);
      if (model.name == (*meant)->name) model.aliases.push_back(name);
    }
  }
  for (auto& model : models) std::ranges::sort(model.aliases);
  return models;
}

Catalog catalog_of(const Catalog& found, std::vector<ModelInfo> models, std::vector<UserAlias> aliases) {
  const auto problems = found.problems();
  const auto others = found.not_models();
  return {std::move(models), {problems.begin(), problems.end()}, {others.begin(), others.end()}, std::move(aliases)};
}

}  // namespace

Catalog add_aliases(Catalog found, const Aliases& aliases) {
  if (aliases.empty()) return found;
  KnownNames names;
  std::vector<UserAlias> listed;
  for (const auto& [alias, meaning] : aliases) {
    names.emplace(alias, meaning.target);
    if (const auto meant = found.find(meaning.target))
      listed.push_back({ModelName(alias), (*meant)->name, meaning.defaults});
  }
  return catalog_of(found, with_names(found, names), std::move(listed));
}

namespace {

// By its name or an alias, without regard to case.
bool is_called(const ModelInfo& model, std::string_view name) {
  const auto same = [&](const ModelName& one) { return equal_ignoring_case(one.value(), name); };
  return same(model.name) || std::ranges::any_of(model.aliases, same);
}

}  // namespace

Catalog add_known_names(Catalog found, const KnownNames& known) {
  const auto is_here = [&](std::string_view name) {
    return std::ranges::any_of(found.models(), [&](const auto& model) { return is_called(*model, name); });
  };
  KnownNames here;
  for (const auto& [name, source] : known) {
    const std::string_view stem(source.data(), source.ends_with(".gguf") ? source.size() - 5 : source.size());
    if ((is_here(source) || is_here(stem)) && !is_here(name)) here.emplace(name, source);
  }
  if (here.empty()) return found;
  const auto aliases = found.user_aliases();
  return catalog_of(found, with_names(found, here), {aliases.begin(), aliases.end()});
}

}  // namespace corral::models
