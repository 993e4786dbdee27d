#include "models/catalog.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/close_names.h"
#include "base/text.h"
#include "models/errors.h"
#include "models/names/model_names.h"
#include "models/text.h"

namespace corral::models {
namespace {

constexpr std::string_view kLatest = ":latest";
constexpr std::string_view kFileEnding = ".gguf";

bool ends_in(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && equal_ignoring_case(name.substr(name.size() - ending.size()), ending);
}

// "org/repo:big-00001-of-00002.gguf" -> "org/repo:big", as files are named.
std::string_view without_ending(std::string_view name) {
  const std::string_view stem = name.substr(0, name.size() - kFileEnding.size());
  const auto shard = parse_shard(stem);
  return shard ? shard->set : stem;
}

// The name as given, then with the decorations taken away that other servers' clients add, then as that of a file.
std::vector<std::string_view> spellings(std::string_view name) {
  std::vector<std::string_view> all{name};
  if (ends_in(name, kLatest)) all.push_back(name.substr(0, name.size() - kLatest.size()));
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i) {
    if (const auto bare = without_prefix(all[i]); bare != all[i]) all.push_back(bare);
  }
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i) {
    if (ends_in(all[i], kFileEnding)) all.push_back(without_ending(all[i]));
  }
  return all;
}

std::string folded_name(const UserAlias& alias) { return to_lower(alias.name.value()); }

const Problem* find_problem(std::span<const Problem> problems, std::string_view name) {
  const auto found = std::ranges::find_if(
      problems, [name](const Problem& problem) { return equal_ignoring_case(problem.name.value(), name); });
  return found == problems.end() ? nullptr : &*found;
}

}  // namespace

Catalog::Catalog(std::vector<ModelInfo> models, std::vector<Problem> problems, std::vector<Problem> not_models,
                 std::vector<UserAlias> aliases)
    : problems_(std::move(problems)), not_models_(std::move(not_models)), user_aliases_(std::move(aliases)) {
  std::ranges::sort(models, {},
                    [](const ModelInfo& model) { return std::pair(to_lower(model.name.value()), model.name); });
  const auto by_path = [](const Problem& problem) { return std::tie(problem.path, problem.cause.message); };
  std::ranges::sort(problems_, {}, by_path);
  std::ranges::sort(not_models_, {}, by_path);

  for (std::size_t i = 0; i < models.size(); ++i) exact_.emplace(models[i].name.value(), i);
  for (std::size_t i = 0; i < models.size(); ++i) {
    ModelInfo& model = models[i];
    std::ranges::sort(model.aliases);
    std::erase_if(model.aliases, [&](const ModelName& alias) { return !exact_.emplace(alias.value(), i).second; });
  }
  for (std::size_t i = 0; i < models.size(); ++i) folded_.emplace(to_lower(models[i].name.value()), i);
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const ModelName& alias : models[i].aliases) folded_.emplace(to_lower(alias.value()), i);
  }
  models_.reserve(models.size());
  for (ModelInfo& model : models) models_.push_back(std::make_shared<const ModelInfo>(std::move(model)));

  std::erase_if(user_aliases_, [this](const UserAlias& alias) {
    const Model* const meant = lookup(alias.name.value());
    return meant == nullptr || (*meant)->name != alias.model ||
           equal_ignoring_case(alias.name.value(), alias.model.value());
  });
  std::ranges::sort(user_aliases_, {},
                    [](const UserAlias& alias) { return std::pair(folded_name(alias), alias.name); });
}

const Catalog::Model* Catalog::lookup(std::string_view name) const {
  if (const auto found = exact_.find(std::string(name)); found != exact_.end()) return &models_[found->second];
  if (const auto found = folded_.find(to_lower(name)); found != folded_.end()) return &models_[found->second];
  return nullptr;
}

const UserAlias* Catalog::find_alias(std::string_view name) const {
  if (user_aliases_.empty()) return nullptr;
  for (const std::string_view spelling : spellings(name)) {
    const Model* const model = lookup(spelling);
    if (model == nullptr) continue;
    // Aliases that differ in case only: the exact one, as in lookup().
    const UserAlias* found = nullptr;
    for (const UserAlias& alias : std::ranges::equal_range(user_aliases_, to_lower(spelling), {}, folded_name)) {
      if (alias.model != (*model)->name) continue;
      if (found == nullptr || alias.name.value() == spelling) found = &alias;
    }
    return found;
  }
  return nullptr;
}

bool Catalog::contains(std::string_view name) const {
  const auto is_known = [this](std::string_view spelling) { return lookup(spelling) != nullptr; };
  return std::ranges::any_of(spellings(name), is_known);
}

Result<Catalog::Model> Catalog::find(std::string_view name) const {
  const std::vector<std::string_view> names = spellings(name);
  for (const std::string_view spelling : names) {
    if (const Model* model = lookup(spelling)) return *model;
  }
  for (const std::string_view spelling : names) {
    const Problem* problem = find_problem(problems_, spelling);
    if (!problem) problem = find_problem(not_models_, spelling);
    if (!problem) continue;
    Error cause = problem->cause;
    if (cause.param.empty()) cause.param = "model";
    return std::unexpected(std::move(cause));
  }
  std::string message = fmt::format("no model '{}'", printable(name));
  const std::vector<ModelName> close = close_names(names.back());
  if (models_.empty()) {
    message += ": no models were found; give a folder with models in --models-dir";
  } else if (!close.empty()) {
    std::vector<std::string> quoted;
    quoted.reserve(close.size());
    for (const ModelName& other : close) quoted.push_back(fmt::format("'{}'", other.value()));
    message += fmt::format(": did you mean {}?", fmt::join(quoted, " or "));
  }
  return fail(errc::model_not_found, std::move(message), "model");
}

std::vector<ModelName> Catalog::close_names(std::string_view name, std::size_t limit) const {
  std::vector<std::string> candidates;
  candidates.reserve(models_.size());
  for (const Model& model : models_) candidates.push_back(model->name.value());
  std::vector<ModelName> names;
  for (std::string& close : corral::close_names(name, candidates, limit)) names.emplace_back(std::move(close));
  return names;
}

}  // namespace corral::models
