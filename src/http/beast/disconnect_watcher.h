// Detects hang-ups of sockets' peers, independent of bytes that were sent before and of readers. A socket is added once
// and costs nothing afterwards: the kernel reports only the end, never bytes. Belongs to one loop.
#pragma once

#include <cstdint>
#include <functional>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "async/task.h"

namespace corral::http {

class DisconnectWatcher {
 public:
  // `hung_up` is called on the loop with the socket's number; at most once for each.
  DisconnectWatcher(async::Executor executor, std::function<void(std::uint64_t)> hung_up);

  // False: the kernel has no memory for it. Closing the socket removes it.
  bool add(int socket, std::uint64_t number);
  // Runs until cancelled.
  async::Task<void> listen();

 private:
  async::asio::posix::basic_stream_descriptor<async::Executor> set_;
  const std::function<void(std::uint64_t)> hung_up_;
};

}  // namespace corral::http
