// Immutable snapshot of all models: made by a scan, shared by all threads, replaced as a whole by the next scan.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "models/model_info.h"

namespace corral::models {

// A file (or directory) that gives no model, and why. `name` is its model name, so that a request for it can return the
// cause.
struct Problem {
  ModelName name;
  std::filesystem::path path;
  Error cause;
};

// An alias that the user has defined (names/aliases.h). Lists of models show it beside its model.
struct UserAlias {
  ModelName name;
  ModelName model;
  std::string defaults;  // default values of request fields: a JSON object; empty: none
};

class Catalog {
 public:
  using Model = std::shared_ptr<const ModelInfo>;

  // Names must be unique. Aliases that collide with names or earlier aliases are ignored.
  Catalog(std::vector<ModelInfo> models, std::vector<Problem> problems, std::vector<Problem> not_models,
          std::vector<UserAlias> aliases = {});
  Catalog() : Catalog({}, {}, {}) {}

  // Sorted by name, without regard to case.
  std::span<const Model> models() const { return models_; }
  // Aliases of present models, without those that are the name of a model; sorted by name, without regard to case.
  std::span<const UserAlias> user_aliases() const { return user_aliases_; }
  // The alias that find(name) follows; null: the name is none.
  const UserAlias* find_alias(std::string_view name) const;
  // Broken files, incomplete sets, directories that can't be read; sorted by path.
  std::span<const Problem> problems() const { return problems_; }
  // Sound files that aren't models on their own (adapters, draft models, vocabularies, unused projectors); by path.
  std::span<const Problem> not_models() const { return not_models_; }

  // By name, then by alias; exact case first, then any case. If the name is not found, ":latest" at the end and one of
  // kNamePrefixes are removed, then a ".gguf" with the number of a shard.
  //
  // Errors: errc::model_not_found with up to three close names in the message, or the cause if the name belongs to a
  // problem or to something that is not a model. Error::param is "model".
  Result<Model> find(std::string_view name) const;
  // Whether find(name) gives a model. Cheaper for a name that gives none: no error with close names is made.
  bool contains(std::string_view name) const;
  // Up to `limit` similar names, best first.
  std::vector<ModelName> close_names(std::string_view name, std::size_t limit = 3) const;

 private:
  const Model* lookup(std::string_view name) const;

  std::vector<Model> models_;
  std::vector<Problem> problems_;
  std::vector<Problem> not_models_;
  std::vector<UserAlias> user_aliases_;
  std::unordered_map<std::string, std::size_t> exact_;   // name or alias -> index in models_
  std::unordered_map<std::string, std::size_t> folded_;  // the same in lower case
};

}  // namespace corral::models
