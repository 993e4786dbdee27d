#include "engine/llama/devices.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::string_view kCpu = "cpu";

// User name, ggml's library name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kKinds = {
    {{kCpu, "CPU"}, {"cuda", "CUDA"}, {"vulkan", "Vulkan"}, {"rocm", "ROCm"}, {"metal", "MTL"}}};

std::string_view library_of(std::string_view backend) {
  const auto* const row = std::ranges::find(kKinds, backend, &std::pair<std::string_view, std::string_view>::first);
  return row == kKinds.end() ? std::string_view() : row->second;
}

bool is_gpu(const FoundDevice& device) {
  return device.type == GGML_BACKEND_DEVICE_TYPE_GPU || device.type == GGML_BACKEND_DEVICE_TYPE_IGPU;
}

}  // namespace

std::vector<FoundDevice> found_devices() {
  std::vector<FoundDevice> devices;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    const ggml_backend_dev_t device = ggml_backend_dev_get(i);
    devices.push_back({ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), ggml_backend_dev_type(device),
                       device, ggml_backend_dev_name(device)});
  }
  return devices;
}

std::vector<std::string_view> backends_of(std::span<const FoundDevice> devices) {
  std::vector<std::string_view> names;
  for (const auto& [name, library] : kKinds) {
    if (std::ranges::find(devices, library, &FoundDevice::library) != devices.end()) names.push_back(name);
  }
  return names;
}

std::vector<FoundDevice> gpus_of(std::span<const FoundDevice> devices, std::string_view backend) {
  std::vector<FoundDevice> gpus;
  const std::string_view library = library_of(backend);
  for (const FoundDevice& device : devices) {
    if (is_gpu(device) && (backend.empty() || device.library == library)) gpus.push_back(device);
  }
  return gpus;
}

Result<std::vector<FoundDevice>> choose_gpus(std::span<const FoundDevice> devices, std::string_view backend,
                                             std::span<const std::string> names) {
  const std::vector<FoundDevice> gpus = gpus_of(devices, backend);
  if (names.empty()) return gpus;
  std::vector<FoundDevice> chosen;
  for (const std::string& name : names) {
    const auto is_it = [&](const FoundDevice& device) { return equal_ignoring_case(device.name, name); };
    const auto found = std::ranges::find_if(gpus, is_it);
    if (found == gpus.end()) {
      std::vector<std::string_view> there;
      there.reserve(gpus.size());
      for (const FoundDevice& gpu : gpus) there.push_back(gpu.name);
      return fail(errc::invalid_argument,
                  fmt::format("there is no GPU '{}'{}; this engine has {}", name,
                              backend.empty() ? "" : fmt::format(" of '{}'", backend),
                              there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))),
                  "devices");
    }
    if (std::ranges::find_if(chosen, is_it) != chosen.end())
      return fail(errc::invalid_argument, fmt::format("the GPU '{}' is named twice", name), "devices");
    chosen.push_back(*found);
  }
  return chosen;
}

Result<> check_sharing(const Sharing& sharing, std::size_t gpus) {
  if (sharing.main_gpu < 0 || (sharing.main_gpu > 0 && static_cast<std::size_t>(sharing.main_gpu) >= gpus)) {
    return fail(errc::invalid_argument,
                fmt::format("main_gpu is {}, counted from 0; the load has {} GPUs", sharing.main_gpu, gpus),
                "main_gpu");
  }
  if (sharing.tensor_split.size() > gpus) {
    return fail(errc::invalid_argument,
                fmt::format("tensor_split has {} shares; the load has {} GPUs", sharing.tensor_split.size(), gpus),
                "tensor_split");
  }
  return {};
}

Result<> check_backend(std::span<const FoundDevice> devices, std::string_view backend) {
  const auto there = backends_of(devices);
  if (backend.empty() || std::ranges::find(there, backend) != there.end()) return {};
  const auto installed = fmt::format("{}", fmt::join(there, ", "));
  if (library_of(backend).empty())
    return fail(errc::invalid_argument,
                fmt::format("there is no compute backend '{}'; this engine has {}", backend, installed), "backend");
  return fail(errc::backend_not_installed,
              fmt::format("the compute backend '{}' isn't installed, or finds no device on this machine; this engine "
                          "has {}. Take one of these or 'auto', or add llama.cpp's library for {} to it",
                          backend, installed, backend),
              "backend");
}

}  // namespace corral::engine
