// Whether a model's weights may be copied into the CPU's faster layouts (EngineLoadOptions::repack).
//
// ggml's kernels for AMX (Xeons from 2023 on) multiply batches of matrices with wrong weights: from the second batch on
// they read behind the weight's end. Models with a state per sequence compute several sequences in such batches, so an
// answer would depend on the other sequences. These models keep the plain layout.
#pragma once

#include <string>

#include "engine/values/options.h"

namespace corral::engine {

struct WeightFacts {
  bool amx = false;    // the CPU's compute backend would use AMX's layout
  bool state = false;  // the model keeps a state per sequence, in some layers or in all
};
// Pure.
constexpr bool may_repack(const EngineLoadOptions& options, const WeightFacts& facts) {
  return options.repack && !(facts.amx && facts.state);
}

// Facts of a file, which need not be a model. Needs load_backends().
WeightFacts weight_facts(const std::string& path);

}  // namespace corral::engine
