// An HTTP/1.1 server: keep-alive, streaming both ways, limits. TCP and Unix sockets.
//
// Lifecycle: construct → listen_*() any number of times → the loops run, adopt() at any time → stop() → destroy.
// Connections are spread over the loops of the pool; a handler runs on its connection's loop. If the client hangs up
// while a handler works, the server cancels the handler's task.
//
// A client's use of resources is bounded in memory (heads, bodies, all large bodies together), in number (connections,
// also per address) and in time: a head has a total, bodies and answers have a minimum rate. A slow sender gets 408;
// the connection of a slow reader is reset, and its answer is dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "async/timer.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "http/handler.h"
#include "http/min_rate.h"

namespace corral::async {
class ThreadPool;
}

namespace corral::http {

struct ServerOptions {
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint64_t max_body_bytes = 32ull << 20;
  std::uint64_t max_upload_bytes = 0;  // of a form with files; 0: like other bodies
  // Of all current bodies, from their first byte to the end of their answer; bodies up to 64 KiB are not counted.
  // Further bodies get 503. 0: no limit.
  std::uint64_t max_bodies_bytes = 256ull << 20;
  std::size_t max_connections = 4096;               // more get 503 and are closed
  std::size_t max_connections_per_address = 0;      // the same for TCP connections of one address; 0: no limit
  std::chrono::milliseconds head_timeout{10'000};   // for a whole head, from its first byte on
  std::chrono::milliseconds idle_timeout{120'000};  // between requests
  MinRate body_pace{std::chrono::milliseconds(20'000), 1024};
  MinRate answer_pace{std::chrono::milliseconds(30'000), 1024};  // counted while the client accepts no bytes
  // Takes request ids from clients (X-Request-Id). Only for trusted clients, because a client that knows the id of a
  // request can cancel it. Otherwise a sent id is only returned as X-Client-Request-Id.
  bool take_request_ids = false;
  std::string server_name = "corral";
  async::ThreadPool* threads = nullptr;  // decode large bodies; null: the loop does, in steps. Must outlive the server
  async::Timers* timers = nullptr;       // null: the system's. Must outlive the server
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
  // Serves a connected stream socket from another source. `peer` becomes Request::peer of its requests; it isn't
  // counted per address. On any thread; after stop() it is closed.
  void adopt(UniqueFd descriptor, std::string peer);

  // Stops accepting, closes idle connections, lets running requests finish until `deadline`, then resets them. On the
  // home loop. `last_call` is called if some haven't finished; bytes that it causes are still sent, within kLastWords,
  // because to some clients a reset looks like the end of an answer.
  async::Task<void> stop(std::chrono::milliseconds deadline, std::function<void()> last_call = {});
  static constexpr std::chrono::milliseconds kLastWords{500};

  std::size_t connections() const;
  // Bytes of large bodies, as counted for max_bodies_bytes.
  std::uint64_t bodies_bytes() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::http
