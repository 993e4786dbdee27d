// Recipes that aren't in the table of recipe.h: those that a user has described.
#pragma once

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
};

// find_recipe() knows them from now on, in place of those of the same name. Once, at the start, before other threads
// ask.
void add_recipes(std::vector<OwnRecipe> own);

// The models of these recipes are GGUF files: those that were found are known to them, too.
bool takes_gguf(std::string_view recipe);

}  // namespace corral
