// Tells when the other sides of sockets hang up, whatever they sent before and whoever reads it. A socket is added once
// and costs nothing afterwards: the system speaks up at the end only, never for bytes. Belongs to one loop.
#pragma once

#include <cstdint>
#include <functional>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "async/task.h"

namespace corral::http {

class DisconnectWatcher {
 public:
  // `hung_up` is called on the loop with the number that a socket was added with; at most once for each.
  DisconnectWatcher(async::Executor executor, std::function<void(std::uint64_t)> hung_up);

  // False when the system has no room for it. Closing the socket takes it off.
  bool add(int socket, std::uint64_t number);
  // Until cancelled.
  async::Task<void> listen();

 private:
  async::asio::posix::basic_stream_descriptor<async::Executor> set_;
  const std::function<void(std::uint64_t)> hung_up_;
};

}  // namespace corral::http
