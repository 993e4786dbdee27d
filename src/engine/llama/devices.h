// Selects the devices of a load from those that ggml has found.
//
// Users name kinds of devices: "cpu", "cuda", "vulkan", "rocm", "metal". Each kind is one library of ggml, which
// registers itself and its devices; a library without devices is not usable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ggml-backend.h>

#include "base/error.h"

namespace corral::engine {

// A device, and ggml's name of its library: "CPU", "CUDA", "ROCm", "Vulkan", "MTL".
struct FoundDevice {
  std::string_view library;
  enum ggml_backend_dev_type type;
  ggml_backend_dev_t handle;
  std::string_view name = {};  // ggml's: "CUDA0"
};
// In ggml's order. Needs load_backends().
std::vector<FoundDevice> found_devices();

// Kinds with devices, by their user names, in the order of the list above.
std::vector<std::string_view> backends_of(std::span<const FoundDevice> devices);
// GPUs of that kind; of every kind for "", none for "cpu".
std::vector<FoundDevice> gpus_of(std::span<const FoundDevice> devices, std::string_view backend);
// The GPUs of a load: all of a kind, or only the named ones, in that order. Names are ggml's, case-insensitive. Errors:
// invalid_argument with "devices", naming the available ones.
Result<std::vector<FoundDevice>> choose_gpus(std::span<const FoundDevice> devices, std::string_view backend,
                                             std::span<const std::string> names);

// How a load is divided between GPUs. Errors: invalid_argument with the option, if it doesn't match their number.
struct Sharing {
  std::int32_t main_gpu = 0;
  std::span<const float> tensor_split = {};
};
Result<> check_sharing(const Sharing& sharing, std::size_t gpus);

// Errors: invalid_argument for an unknown kind, backend_not_installed for a kind without a device; both name the
// available ones.
Result<> check_backend(std::span<const FoundDevice> devices, std::string_view backend);

}  // namespace corral::engine
