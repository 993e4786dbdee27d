#include "engine/llama/split_devices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <ggml-rpc.h>
#include <llama.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::string_view kRemote = "RPC";  // ggml's name of the library

float memory_of(ggml_backend_dev_t device) {
  std::size_t free = 0, total = 0;
  ggml_backend_dev_memory(device, &free, &total);
  return std::max(1.0F, static_cast<float>(total));
}

Result<MachineShare> connect(const RemoteWorker& worker, const std::string& path) {
  ggml_backend_reg_t const library = ggml_backend_reg_by_name(kRemote.data());
  using Add = decltype(&ggml_backend_rpc_add_server);
  const auto add =
      library == nullptr
          ? nullptr
          : reinterpret_cast<Add>(ggml_backend_reg_get_proc_address(library, "ggml_backend_rpc_add_server"));
  if (add == nullptr) {
    return std::unexpected(load_failed(
        errc::load_failed, {path, "this engine lacks the library for splits over machines (libggml-rpc.so)"}));
  }
  ggml_backend_reg_t const devices = add(worker.endpoint.c_str());
  if (devices == nullptr || ggml_backend_reg_dev_count(devices) == 0)
    return std::unexpected(
        load_failed(errc::load_failed, {path, fmt::format("'{}' has no device to compute with", worker.name)}));
  MachineShare machine{.share = worker.share};
  for (std::size_t i = 0; i < ggml_backend_reg_dev_count(devices); ++i) {
    ggml_backend_dev_t const device = ggml_backend_reg_dev_get(devices, i);
    machine.devices.push_back({device, memory_of(device)});
  }
  return machine;
}

// By the shares of its GPUs (tensor_split), otherwise by their memory.
MachineShare own_devices(const EngineLoadOptions& options, std::span<const FoundDevice> found,
                         std::span<const FoundDevice> gpus) {
  MachineShare machine{.share = options.own_share};
  for (const FoundDevice& gpu : gpus) {
    const std::size_t place = machine.devices.size();
    const bool has_share = place < options.tensor_split.size();
    machine.devices.push_back({gpu.handle, has_share                       ? options.tensor_split[place]
                                           : !options.tensor_split.empty() ? 0.0F
                                                                           : memory_of(gpu.handle)});
  }
  if (!machine.devices.empty()) return machine;
  for (const FoundDevice& device : found)
    if (device.type == GGML_BACKEND_DEVICE_TYPE_CPU) machine.devices.push_back({device.handle});
  return machine;
}

}  // namespace

SplitDevices lay_out(std::span<const MachineShare> machines) {
  SplitDevices split;
  for (const MachineShare& machine : machines) {
    float all = 0;
    for (const WeighedDevice& device : machine.devices) all += device.weight;
    for (const WeighedDevice& device : machine.devices) {
      split.devices.push_back(device.handle);
      split.shares.push_back(all > 0 ? machine.share * device.weight / all : 0);
    }
  }
  return split;
}

Result<> check_shares(const EngineLoadOptions& options) {
  const auto is_share = [](float share) { return std::isfinite(share) && share > 0; };
  for (const RemoteWorker& worker : options.remotes) {
    if (is_share(worker.share)) continue;
    return fail(
        errc::invalid_argument,
        fmt::format("the share of '{}' is {}; each machine of a split needs one above 0", worker.name, worker.share),
        "split");
  }
  if (is_share(options.own_share)) return {};
  return fail(
      errc::invalid_argument,
      fmt::format("the host's own share is {}; it has the last layers, so it needs one above 0", options.own_share),
      "split");
}

Result<SplitDevices> connect_split(const EngineLoadOptions& options, std::span<const FoundDevice> found,
                                   std::span<const FoundDevice> own_gpus) {
  if (auto fine = check_shares(options); !fine) return std::unexpected(fine.error());
  std::vector<MachineShare> machines;
  for (const RemoteWorker& worker : options.remotes) {
    auto machine = connect(worker, options.path);
    if (!machine) return std::unexpected(machine.error());
    machines.push_back(std::move(*machine));
  }
  machines.push_back(own_devices(options, found, own_gpus));
  auto split = lay_out(machines);
  if (split.devices.size() > llama_max_devices()) {
    return fail(errc::invalid_argument,
                fmt::format("the machines of the split have {} devices together; llama.cpp takes {}",
                            split.devices.size(), llama_max_devices()),
                "split");
  }
  return split;
}

bool is_remote(ggml_backend_dev_t device) {
  return std::string_view(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device))) == kRemote;
}

}  // namespace corral::engine
