// Mesh streams as sockets. HTTP client and server use one end of a Unix socket pair on any loop. A pump on the mesh's
// loop transfers bytes between the other end and the stream. Both directions have back-pressure; the end of one
// direction and the end of both pass through.
//
// A bridge takes 16 KiB for each direction, and the kernel's buffers of a socket pair. It lives as long as both its
// sides.
#pragma once

#include <cstddef>
#include <memory>

#include "async/task_group.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "fleet/tunnels/pump.h"

namespace corral::fleet {

// Belongs to the mesh's loop; its descriptors are for any thread.
class StreamBridges {
 public:
  using Side = SocketSide;  // role of the descriptor's user: client (`asks`) or server (`answers`)

  explicit StreamBridges(async::Executor executor) : executor_(executor), pumps_(executor) {}

  // A socket connected to the stream. Errors: mesh::errc::link_closed, if this machine has no descriptors left.
  Result<UniqueFd> make(std::unique_ptr<mesh::Stream> stream, Side side);
  // Number of running pumps: one for each bridge.
  std::size_t pumps() const { return pumps_.running(); }
  // Ends all bridges, without delivering remaining bytes.
  async::Task<void> stop();

 private:
  const async::Executor executor_;
  async::TaskGroup pumps_;
};

}  // namespace corral::fleet
