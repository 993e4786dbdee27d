#include "models/names/aliases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/state_file.h"
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
  for (const auto& [alias, target] : *entries) {
    const auto* name = target.if_string();
    if (name != nullptr && !alias.empty() && !name->empty()) aliases[printable(alias)] = printable(*name);
  }
  return aliases;
}

Catalog add_aliases(Catalog found, const Aliases& aliases) {
  if (aliases.empty()) return found;
  std::vector<ModelInfo> models;
  for (const auto& model : found.models()) models.push_back(*model);
  for (const auto& [alias, target] : aliases) {
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
  const auto problems = found.problems();
  const auto others = found.not_models();
  return Catalog(std::move(models), {problems.begin(), problems.end()}, {others.begin(), others.end()});
}

namespace {

// By its name or an alias, without regard to case.
bool is_called(const ModelInfo& model, std::string_view name) {
  const auto same = [&](const ModelName& one) { return equal_folded(one.value(), name); };
  return same(model.name) || std::ranges::any_of(model.aliases, same);
}

}  // namespace

Catalog add_known_names(Catalog found, const Aliases& known) {
  const auto is_here = [&](std::string_view name) {
    return std::ranges::any_of(found.models(), [&](const auto& model) { return is_called(*model, name); });
  };
  Aliases here;
  for (const auto& [name, source] : known) {
    const std::string_view stem(source.data(), source.ends_with(".gguf") ? source.size() - 5 : source.size());
    if ((is_here(source) || is_here(stem)) && !is_here(name)) here.emplace(name, source);
  }
  return add_aliases(std::move(found), here);
}

}  // namespace corral::models
