// Devices of a model whose layers are split over several machines: their order and shares.
//
// llama.cpp fills devices in their order. So the first layers are the remotes' and the last ones, with the output, are
// this machine's: only activations cross the network, not logits of the whole vocabulary. Shares are always explicit: a
// remote CPU reports all its memory as free, whatever else is in it.
//
// Speed: token time = compute + boundaries × 2 round trips.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ggml-backend.h>

#include "base/error.h"
#include "engine/llama/devices.h"
#include "engine/values/options.h"

namespace corral::engine {

struct SplitDevices {
  std::vector<ggml_backend_dev_t> devices = {};
  std::vector<float> shares = {};  // of each
};

// A device, and its weight among the devices of its machine.
struct WeighedDevice {
  ggml_backend_dev_t handle = nullptr;
  float weight = 1;
};
struct MachineShare {
  std::vector<WeighedDevice> devices = {};
  float share = 0;
};
// Divides each machine's share between its devices by weight. `machines` in the order of the layers.
SplitDevices lay_out(std::span<const MachineShare> machines);

// Errors: invalid_argument with "split" for invalid shares.
Result<> check_shares(const EngineLoadOptions& options);

// Connects to the RPC workers of the options. If no worker answers at an endpoint, or a connection breaks later, ggml
// ends the process. So the caller checks the endpoints first, and starts a new process after a failure. The process
// keeps endpoints for its lifetime. Errors: those of check_shares(); invalid_argument with "split" for too many
// devices; load_failed if a worker has no device.
Result<SplitDevices> connect_split(const EngineLoadOptions& options, std::span<const FoundDevice> found,
                                   std::span<const FoundDevice> own_gpus);

// A device of another machine.
bool is_remote(ggml_backend_dev_t device);

}  // namespace corral::engine
