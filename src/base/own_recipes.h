// Recipes of the user, in addition to the table of recipe.h.
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

// find_recipe() finds them from now on, instead of those of the same name. Rows that it returned stay valid. On any
// thread.
void add_recipes(std::vector<OwnRecipe> own);

// The models of these recipes are GGUF files, including files that a scan finds.
bool takes_gguf(std::string_view recipe);

}  // namespace corral
