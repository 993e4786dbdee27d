// Whether a model's weights may be copied into the faster layouts that a CPU has for them (EngineLoadOptions::repack).
//
// ggml's kernels for AMX (Xeons from 2023 on) multiply batches of matrices with the wrong weights: for each batch but
// the first they look behind the weight's end. Models with a state per sequence compute several sequences in just such
// batches, so there an answer would depend on who else is there: they keep the plain layout.
#pragma once

#include <string>

#include "engine/values/options.h"

namespace corral::engine {

struct WeightFacts {
  bool amx = false;    // the CPU's backend would put weights into AMX's layout
  bool state = false;  // the model keeps a state per sequence, in some layers or in all
};
// Pure.
constexpr bool may_repack(const EngineLoadOptions& options, const WeightFacts& facts) {
  return options.repack && !(facts.amx && facts.state);
}

// Of a file that need not be a model. Needs load_backends().
WeightFacts weight_facts(const std::string& path);

}  // namespace corral::engine
