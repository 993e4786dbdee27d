// Passes the bytes of each connection to a Unix socket on to a loopback port, both ways: the way into a process whose
// network nobody else sees.
#pragma once

#include <cstdint>

#include <boost/asio/local/stream_protocol.hpp>

#include "async/task_group.h"
#include "async/timer.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace corral::remote {

inline constexpr std::size_t kMostRelayed = 32;  // connections at a time; a load makes some fourteen, one after another

// On one loop.
class Relay {
 public:
  // `listener`: a Unix stream socket that listens.
  Relay(async::Executor executor, async::Timers& timers, UniqueFd listener, std::uint16_t port);

  // Accepts until it is destroyed or cancelled. A connection waits for the port to answer for up to five seconds.
  async::Task<void> run();

  std::size_t connections() const { return connections_.running(); }

 private:
  async::Task<void> pass_on(
      async::asio::basic_stream_socket<async::asio::local::stream_protocol, async::Executor> from);

  async::Timers& timers_;
  async::asio::basic_socket_acceptor<async::asio::local::stream_protocol, async::Executor> acceptor_;
  const std::uint16_t port_;
  async::TaskGroup connections_;
};

// Listens at `path`, for this user only; a socket that is left there is replaced. Errors: the system's own.
Result<UniqueFd> listen_at(const std::string& path);

}  // namespace corral::remote
