#include "base/recipe_table.h"

#include <algorithm>
#include <utility>

namespace corral {
namespace {

const Recipe* find_built_in(std::string_view name) {
  const auto all = recipes();
  const auto found = std::ranges::find(all, name, &Recipe::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

struct RecipeTable::Row {
  explicit Row(OwnRecipe the_recipe)
      : own(std::move(the_recipe)), recipe{own.name, own.device, own.possible, own.on_npu, own.types, own.program} {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  const OwnRecipe own;
  const Recipe recipe;  // refers to `own`
};

const RecipeTable::Row* RecipeTable::find_own(std::string_view name) const {
  const auto found = std::ranges::find(own_, name, [](const auto& row) { return row->recipe.name; });
  return found == own_.end() ? nullptr : found->get();
}

RecipeTable RecipeTable::with(std::vector<OwnRecipe> own) const {
  RecipeTable table = *this;
  for (auto& one : own) {
    if (const Row* const known = table.find_own(one.name); known != nullptr && known->own == one) continue;
    std::erase_if(table.own_, [&one](const auto& row) { return row->own.name == one.name; });
    table.own_.push_back(std::make_shared<const Row>(std::move(one)));
  }
  return table;
}

const Recipe* RecipeTable::find(std::string_view name) const {
  const Row* const own = find_own(name);
  return own != nullptr ? &own->recipe : find_built_in(name);
}

std::string RecipeTable::names() const {
  std::string text;
  for (const Recipe& recipe : recipes()) text.append(text.empty() ? "" : ", ").append(recipe.name);
  for (const auto& row : own_) {
    if (find_built_in(row->recipe.name) == nullptr) text.append(", ").append(row->recipe.name);
  }
  return text;
}

NpuUse RecipeTable::npu_use(std::string_view recipe, Device effective) const {
  if (!has(effective, Device::npu)) return NpuUse::none;
  const Recipe* const known = find(recipe);
  return known != nullptr ? known->on_npu : NpuUse::exclusive;
}

}  // namespace corral
