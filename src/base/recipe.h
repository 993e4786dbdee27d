// The recipes: the backend of a model, its devices, and how it shares an NPU. One table for the registry of models, the
// decision core and the API. It has all recipes, whether their program is installed or not; a load of a missing one
// fails before any eviction. Plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
// nullptr: unknown name.
const Recipe* find_recipe(std::string_view name);
bool serves(const Recipe& recipe, ModelType type);
// "llamacpp, oga-cpu, ..."
std::string recipe_names();

// How a model of this recipe uses the NPU, by its actual device: none without an NPU. An unknown recipe is assumed to
// need it alone.
NpuUse npu_use(std::string_view recipe, Device effective);

}  // namespace corral
