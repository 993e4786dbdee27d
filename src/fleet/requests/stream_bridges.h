// Mesh streams as sockets: what HTTP's client and server speak over on any loop is one end of a Unix socket pair, and a
// pump on the mesh's loop carries bytes between the other end and the stream. Back-pressure passes both ways, so do the
// end of one direction and the end of both.
//
// A bridge holds 16 KiB for each direction and what the kernel holds of a socket pair; it lives as long as both its
// sides do.
#pragma once

#include <cstddef>
#include <memory>

#include "async/task_group.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "fleet/tunnels/pump.h"

namespace corral::fleet {

// Belongs to the mesh's loop; the descriptors that it gives out are for any thread.
class StreamBridges {
 public:
  using Side = SocketSide;  // of whoever gets the descriptor: asks or answers

  explicit StreamBridges(async::Executor executor) : executor_(executor), pumps_(executor) {}

  // The other end of the stream. Errors: mesh::errc::link_closed, when this machine has no descriptors left.
  Result<UniqueFd> make(std::unique_ptr<mesh::Stream> stream, Side side);
  // That run: one for each bridge.
  std::size_t pumps() const { return pumps_.running(); }
  // Ends all bridges, whatever is on its way.
  async::Task<void> stop();

 private:
  const async::Executor executor_;
  async::TaskGroup pumps_;
};

}  // namespace corral::fleet
