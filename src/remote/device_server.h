// This process computes for an engine on another machine: llama.cpp's RPC server over this process's devices, on a
// loopback port. The server trusts its clients' bytes, so it belongs in a sandboxed process (proc/sandbox.h). Only that
// engine should reach its port, since it serves one client at a time and the next one waits.
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
  std::uint32_t threads = 1;              // of a CPU
  std::vector<std::string> devices = {};  // by ggml's names; empty: the GPUs, or the CPU if there is no GPU
  std::filesystem::path cache = {};       // cache folder for large weights; empty: none
};

// A worker's devices: those with the given names, or the GPUs, or the CPU if there is no GPU. Needs load_backends().
// Errors: engine's invalid_argument with "devices".
Result<std::vector<ggml_backend_dev_t>> worker_devices(const std::vector<std::string>& names);

class DeviceServer {
 public:
  // Finds a free port and starts the server's thread, which never returns: leave the process by _exit(). The port may
  // take a moment to answer. `ended` is called on that thread if the server returns all the same. Needs
  // load_backends(). Errors: engine's invalid_argument with "devices"; the system's own.
  static Result<DeviceServer> start(DeviceServerOptions options, std::function<void()> ended);

  std::uint16_t port() const { return port_; }
  const std::vector<engine::ComputeDevice>& devices() const { return devices_; }

 private:
  std::uint16_t port_ = 0;
  std::vector<engine::ComputeDevice> devices_;
};

}  // namespace corral::remote
