// Which devices a model computes on whose layers are spread over several machines, in which order, with which shares.
//
// llama.cpp fills devices in their order, so the first layers are the remotes' and the last ones are this machine's,
// with the output: logits of the whole vocabulary never cross the network, only what one layer gives the next. Shares
// are always said: a remote CPU calls all its memory free, whatever else is in it.
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

// A device, and how it stands against others of the same machine.
struct WeighedDevice {
  ggml_backend_dev_t handle = nullptr;
  float weight = 1;
};
struct MachineShare {
  std::vector<WeighedDevice> devices = {};
  float share = 0;
};
// Each machine's share goes to its devices by their weights. `machines` in the order of the layers.
SplitDevices lay_out(std::span<const MachineShare> machines);

// Errors: invalid_argument with "split" for shares that are none.
Result<> check_shares(const EngineLoadOptions& options);

// Connects to the workers of the options. There is no error for nobody at an endpoint: ggml ends the process then, and
// so it does later, when a connection breaks. Who makes them looks before, and starts a new process afterwards.
// Endpoints are remembered for the life of the process. Errors: those of check_shares(); invalid_argument with "split"
// when there are too many devices; load_failed when a worker has no device.
Result<SplitDevices> connect_split(const EngineLoadOptions& options, std::span<const FoundDevice> found,
                                   std::span<const FoundDevice> own_gpus);

// A device of another machine.
bool is_remote(ggml_backend_dev_t device);

}  // namespace corral::engine
