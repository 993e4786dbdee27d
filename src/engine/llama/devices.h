// Which of the devices that ggml has found a load may compute on.
//
// Users name kinds of devices: "cpu", "cuda", "vulkan", "rocm", "metal". Each is one library of ggml, which registers
// itself and the devices it finds; one that is there and finds none is of no use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ggml-backend.h>

#include "base/error.h"

namespace corral::engine {

// A device, and the library it is of as ggml calls it: "CPU", "CUDA", "ROCm", "Vulkan", "MTL".
struct FoundDevice {
  std::string_view library;
  enum ggml_backend_dev_type type;
  ggml_backend_dev_t handle;
  std::string_view name = {};  // ggml's: "CUDA0"
};
// In ggml's order. Needs load_backends().
std::vector<FoundDevice> found_devices();

// The kinds that there are devices of, as users name them, in the order of the list above.
std::vector<std::string_view> backends_of(std::span<const FoundDevice> devices);
// GPUs of that kind; of every kind for "", none for "cpu".
std::vector<FoundDevice> gpus_of(std::span<const FoundDevice> devices, std::string_view backend);
// Which of them a load computes on: the GPUs of a kind, or those of them that are named, in that order. Names are
// ggml's, in whatever case. Errors: invalid_argument with "devices", naming what there is.
Result<std::vector<FoundDevice>> choose_gpus(std::span<const FoundDevice> devices, std::string_view backend,
                                             std::span<const std::string> names);

// How a load is shared out among so many GPUs. Errors: invalid_argument with the option, for what doesn't match their
// number.
struct Sharing {
  std::int32_t main_gpu = 0;
  std::span<const float> tensor_split = {};
};
Result<> check_sharing(const Sharing& sharing, std::size_t gpus);

// Errors: invalid_argument for a kind that nobody knows, backend_not_installed for one without a device; both name what
// there is.
Result<> check_backend(std::span<const FoundDevice> devices, std::string_view backend);

}  // namespace corral::engine
