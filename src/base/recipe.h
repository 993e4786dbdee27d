// The recipes: the backend of a model, its devices, and how it shares an NPU. A constant table, which RecipeTable
// extends by the user's own recipes for the registry of models, the decision core and the API. The table has all
// built-in recipes, whether their program is installed or not; a load of a missing one fails before any eviction.
// Plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/model_type.h"

namespace corral {

// How a model of a recipe uses its NPU.
enum class NpuUse : std::uint8_t {
  none,
  exclusive,  // alone
  coexist,    // shares it with models of the same recipe and another type: one llm, one transcription, one embedding
};

struct Recipe {
  std::string_view name;
  Device device;                     // unless its backend reports another one
  Device possible;                   // possible devices of its backends
  NpuUse on_npu;                     // if the effective device is an NPU
  std::span<const ModelType> types;  // its model types; the first is the type of a model without a type label
  std::string_view program;          // required program; empty: part of corral
};

std::span<const Recipe> recipes();
bool serves(const Recipe& recipe, ModelType type);
// The models of these recipes are GGUF files, including files that a scan finds.
bool takes_gguf(std::string_view recipe);

}  // namespace corral
