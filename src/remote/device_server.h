// This process computes for an engine on another machine: llama.cpp's RPC server over the devices of this one, on a
// loopback port. It reads its clients' bytes without distrust, so it belongs in a process of its own with nothing to
// lose (proc/sandbox.h); nobody but that engine should reach its port, since it serves one client at a time and the
// next one waits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "engine/llama/backends.h"

namespace corral::remote {

struct DeviceServerOptions {
  std::uint32_t threads = 1;  // of a CPU
  std::vector<std::string> devices =
      {};                            // these only, by ggml's names; empty: the GPUs, or where there is none the CPU
  std::filesystem::path cache = {};  // folder for large weights that come again; empty: none
};

// What a worker computes on: devices of these names, or the GPUs, or where there is none the CPU. Needs
// load_backends(). Errors: engine's invalid_argument with "devices".
Result<std::vector<ggml_backend_dev_t>> worker_devices(const std::vector<std::string>& names);

class DeviceServer {
 public:
  // Finds a free port and starts the server's thread, which never ends by itself: leave the process by _exit(). It may
  // take a moment until the port answers. `ended` is called on that thread if the server gives up after all. Needs
  // load_backends(). Errors: engine's invalid_argument with "devices"; the system's own.
  static Result<DeviceServer> start(DeviceServerOptions options, std::function<void()> ended);

  std::uint16_t port() const { return port_; }
  const std::vector<engine::ComputeDevice>& devices() const { return devices_; }

 private:
  std::uint16_t port_ = 0;
  std::vector<engine::ComputeDevice> devices_;
};

}  // namespace corral::remote
