// How fast a device computes one token with the weights of a split's RPC worker: as they are stored, without repacking
// (which makes CPUs with matrix instructions twice as fast).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ggml-backend.h>

#include "base/error.h"

namespace corral::engine {

struct WeightSpeed {
  std::string type;                    // ggml's: "q8_0", "q4_K", ...
  std::uint64_t bytes_per_second = 0;  // of weights
};

// Multiplies one row with matrices larger than the caches, for each of a few types. Takes some tenths of a second on
// the calling thread and `threads` - 1 more. Leaves out types that the device does not support. Errors: load_failed.
Result<std::vector<WeightSpeed>> measure_weight_speeds(ggml_backend_dev_t device, std::size_t threads);

}  // namespace corral::engine
