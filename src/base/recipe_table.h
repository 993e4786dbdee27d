// The recipes that a server knows: those of recipe.h, and the user's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/recipe.h"

namespace corral {

struct OwnRecipe {
  std::string name;
  Device device = Device::cpu;
  Device possible = Device::cpu;
  NpuUse on_npu = NpuUse::none;
  std::vector<ModelType> types;
  std::string program;

  friend bool operator==(const OwnRecipe&, const OwnRecipe&) = default;
};

// A value; copies share their rows. Constant: with() returns another table.
class RecipeTable {
 public:
  // Without recipes of the user.
  RecipeTable() = default;
  // This table with `own`, which replace those of the same name.
  RecipeTable with(std::vector<OwnRecipe> own) const;

  // nullptr: unknown name. The row is valid as long as this table or a copy of it.
  const Recipe* find(std::string_view name) const;
  // "llamacpp, oga-cpu, ..."
  std::string names() const;
  // How a model of this recipe uses the NPU, by its actual device: none without an NPU. An unknown recipe is assumed to
  // need it alone.
  NpuUse npu_use(std::string_view recipe, Device effective) const;

  friend bool operator==(const RecipeTable&, const RecipeTable&) = default;

 private:
  struct Row;  // a recipe with its texts
  const Row* find_own(std::string_view name) const;

  std::vector<std::shared_ptr<const Row>> own_;  // names are unique
};

}  // namespace corral
