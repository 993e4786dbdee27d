#include "remote/device_server.h"

#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml-rpc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "engine/llama/devices.h"
#include "engine/values/errors.h"

namespace corral::remote {
namespace {

using Serve = decltype(&ggml_backend_rpc_start_server);

Serve find_server() {
  ggml_backend_reg_t const library = ggml_backend_reg_by_name("RPC");
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Serve>(ggml_backend_reg_get_proc_address(library, "ggml_backend_rpc_start_server"));
}

// The system chooses a port, which is free again at once: the server binds it a moment later, with SO_REUSEADDR.
Result<std::uint16_t> free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, size) != 0 || ::getsockname(socket.get(), generic, &size) != 0)
    return std::unexpected(Error(std::error_code(errno, std::system_category()), "can't get a loopback port"));
  return ntohs(address.sin_port);
}

}  // namespace

Result<std::vector<ggml_backend_dev_t>> worker_devices(const std::vector<std::string>& names) {
  const auto found = engine::found_devices();
  const auto gpus = engine::choose_gpus(found, "", names);
  if (!gpus) return std::unexpected(gpus.error());
  std::vector<ggml_backend_dev_t> devices;
  for (const auto& gpu : *gpus) devices.push_back(gpu.handle);
  if (!devices.empty()) return devices;
  for (const auto& device : found)
    if (device.type == GGML_BACKEND_DEVICE_TYPE_CPU) devices.push_back(device.handle);
  return devices;
}

Result<DeviceServer> DeviceServer::start(DeviceServerOptions options, std::function<void()> ended) {
  const Serve serve = find_server();
  if (serve == nullptr) {
    return fail(engine::errc::backend_not_installed,
                "llama.cpp's library for layers on other machines (libggml-rpc.so) isn't installed", "devices");
  }
  auto devices = worker_devices(options.devices);
  if (!devices) return std::unexpected(devices.error());
  const auto port = free_port();
  if (!port) return std::unexpected(port.error());
  DeviceServer server;
  server.port_ = *port;
  for (ggml_backend_dev_t const device : *devices) server.devices_.push_back(engine::describe(device));
  std::thread([serve, port = *port, options = std::move(options), devices = std::move(*devices),
               ended = std::move(ended)]() mutable {
    const auto endpoint = fmt::format("127.0.0.1:{}", port);
    const char* const cache = options.cache.empty() ? nullptr : options.cache.c_str();
    serve(endpoint.c_str(), cache, options.threads, devices.size(), devices.data());
    ended();
  }).detach();  // ends with the process
  return server;
}

}  // namespace corral::remote
