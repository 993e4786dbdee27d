// How fast a device computes one token with weights as a worker of a split has them: as they are stored, without the
// rearrangement that an engine gives its own (on CPUs with matrix instructions that is twice as fast).
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

// One row times matrices of more bytes than caches hold, for each of a few types; takes some tenths of a second of the
// calling thread and `threads` - 1 more. Types that the device can't compute with are left out. Errors: load_failed.
Result<std::vector<WeightSpeed>> measure_weight_speeds(ggml_backend_dev_t device, std::size_t threads);

}  // namespace corral::engine
