// The recipes: which backend serves a model, what it runs on, and how it shares an NPU. One table for everybody who
// asks: the registry of models, the decision core, the API. A recipe stands here whether its program is on this machine
// or not; a load of one that isn't is refused before anybody is evicted. Plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/model_type.h"

namespace corral {

// What a model of a recipe needs of an NPU that it runs on.
enum class NpuUse : std::uint8_t {
  none,
  exclusive,  // the whole of it
  coexist,    // shares it with models of the same recipe and another type: one llm, one transcription, one embedding
};

struct Recipe {
  std::string_view name;
  Device device;                     // unless its backend says otherwise
  Device possible;                   // what its backends may run on
  NpuUse on_npu;                     // where the effective device is one
  std::span<const ModelType> types;  // that it serves; the first is what a model without a telling label is
  std::string_view program;          // that has to be installed; empty: it is part of corral
};

std::span<const Recipe> recipes();
// nullptr for none of this name.
const Recipe* find_recipe(std::string_view name);
bool serves(const Recipe& recipe, ModelType type);
// "llamacpp, oga-cpu, ..."
std::string recipe_names();

// How a model of this recipe uses the NPU, by the device it really runs on: none without an NPU. A recipe that isn't in
// the table is taken to need the whole of it.
NpuUse npu_use(std::string_view recipe, Device effective);

}  // namespace corral
