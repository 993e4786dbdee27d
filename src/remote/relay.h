// Passes the bytes of each connection to a Unix socket on to a loopback port, in both directions: the entrance into a
// process whose network is isolated.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/asio/local/stream_protocol.hpp>

#include "async/task_group.h"
#include "async/timer.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace corral::remote {

inline constexpr std::size_t kMaxRelayed = 32;  // connections at a time; a load opens about fourteen in sequence

// On one loop.
class Relay {
 public:
  // `listener`: a Unix stream socket that listens.
  Relay(async::Executor executor, async::Timers& timers, UniqueFd listener, std::uint16_t port);

  // Accepts connections until it is destroyed or cancelled. A connection waits up to five seconds for the port to
  // answer. Connections beyond kMaxRelayed are closed, which is logged once a minute.
  async::Task<void> run();

  std::size_t connections() const { return connections_.running(); }
  // Connections that were closed at once.
  std::uint64_t refused() const { return refused_; }
  std::uint64_t complaints() const { return complaints_; }  // log lines about them

 private:
  void refuse();
  async::Task<void> pass_on(
      async::asio::basic_stream_socket<async::asio::local::stream_protocol, async::Executor> from);

  async::Timers& timers_;
  async::asio::basic_socket_acceptor<async::asio::local::stream_protocol, async::Executor> acceptor_;
  const std::uint16_t port_;
  std::uint64_t refused_ = 0, logged_ = 0, complaints_ = 0;
  std::optional<MonoTime> logged_at_;
  async::TaskGroup connections_;
};

// Listens at `path`, for this user only; replaces an old socket. Errors: the system's own.
Result<UniqueFd> listen_at(const std::string& path);

}  // namespace corral::remote
