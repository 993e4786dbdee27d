// An HTTP/1.1 server: keep-alive, streaming both ways, limits. TCP and Unix sockets.
//
// Lifecycle: construct → listen_*() any number of times → the loops run → stop() → destroy. Connections are spread over
// the loops of the pool; a handler runs on its connection's loop. While a handler works the server watches the client:
// when it hangs up, the handler's task is cancelled.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "base/error.h"
#include "http/handler.h"

namespace corral::http {

struct ServerOptions {
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint64_t max_body_bytes = 256ull << 20;
  std::size_t max_connections = 4096;                // more are told 503 and closed
  std::chrono::milliseconds header_timeout{30'000};  // without a byte of a head that has begun
  std::chrono::milliseconds idle_timeout{120'000};   // between requests
  std::chrono::milliseconds body_timeout{60'000};    // without a byte of an announced body
  std::chrono::milliseconds write_timeout{120'000};  // for one piece of an answer (all of it, if it is a text)
  std::string server_name = "corral";
};

class Server {
 public:
  // `handler` and `pool` must outlive the server.
  Server(async::LoopPool& pool, Handler& handler, ServerOptions options);
  ~Server();

  // Port 0 picks a free one. Returns the port. Errors: address_in_use, bad_address.
  Result<std::uint16_t> listen_tcp(const std::string& host, std::uint16_t port);
  // Replaces a stale socket file. The file is removed on stop().
  Result<> listen_unix(const std::filesystem::path& path);

  // Stops accepting, closes idle connections, lets running requests finish until `deadline`, then cuts them. On the
  // home loop.
  async::Task<void> stop(std::chrono::milliseconds deadline);

  std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::http
