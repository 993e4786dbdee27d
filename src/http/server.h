// An HTTP/1.1 server: keep-alive, streaming both ways, limits. TCP and Unix sockets.
//
// Lifecycle: construct → listen_*() any number of times → the loops run, adopt() at any time → stop() → destroy.
// Connections are spread over the loops of the pool; a handler runs on its connection's loop. While a handler works the
// server watches the client: when it hangs up, the handler's task is cancelled.
//
// What a client may cost is bounded in memory (heads, bodies, all large bodies together), in number (connections, those
// of one address) and in time: a head has a total, bodies and answers a slowest rate. Who is slower than that gets 408
// while it sends; while it receives its connection is cut, and whatever answers it is dropped.
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

namespace corral::http {

struct ServerOptions {
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint64_t max_body_bytes = 32ull << 20;
  std::uint64_t max_upload_bytes = 0;  // of a form with files; 0: as of every other body
  // Of all bodies under way, from their first byte to the end of their answer; those of up to 64 KiB don't count. More
  // are told 503. 0: no limit.
  std::uint64_t max_bodies_bytes = 256ull << 20;
  std::size_t max_connections = 4096;               // more are told 503 and closed
  std::size_t max_connections_per_address = 0;      // of TCP, the same; 0: no limit
  std::chrono::milliseconds head_timeout{10'000};   // a head in all, from its first byte on
  std::chrono::milliseconds idle_timeout{120'000};  // between requests
  MinRate body_pace{std::chrono::milliseconds(20'000), 1024};
  MinRate answer_pace{std::chrono::milliseconds(30'000), 1024};  // counted while the client takes nothing
  // Requests are named by those who send them (X-Request-Id): only where those are trusted, since who knows the name of
  // a request can end it. Otherwise a sent id comes back as X-Client-Request-Id and is nothing but that.
  bool take_request_ids = false;
  std::string server_name = "corral";
  async::Timers* timers = nullptr;  // none: the system's. Outlive the server
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
  // Serves a connection that came another way: a connected stream socket. `peer` is what its requests have as
  // Request::peer; it counts as no address. On any loop of the pool, or beside them; once stop() began it is closed.
  void adopt(UniqueFd descriptor, std::string peer);

  // Stops accepting, closes idle connections, lets running requests finish until `deadline`, then cuts them. On the
  // home loop. `last_call` is called where some haven't finished, and what is said then still goes out, within
  // kLastWords: a cut alone looks like the end of an answer to clients that don't look closely.
  async::Task<void> stop(std::chrono::milliseconds deadline, std::function<void()> last_call = {});
  static constexpr std::chrono::milliseconds kLastWords{500};

  std::size_t connections() const;
  // Of large bodies, as max_bodies_bytes counts them.
  std::uint64_t bodies_bytes() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::http
