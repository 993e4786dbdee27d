// The worker's end of tunnels: takes the streams of other nodes' engines (Purpose::rpc), and leads each to the Unix
// socket of the worker that is theirs. See tunnel.h.
//
// What peers say is believed in nothing but who they are: a preamble that makes no sense, doesn't come, or names
// another plan or model than the one that was granted ends its stream, with the reason where it can be told.
#pragma once

#include <functional>
#include <string>

#include "async/task_group.h"
#include "fleet/tunnels/tunnel.h"

namespace corral::fleet {

// Belongs to the mesh's loop.
class TunnelAcceptor {
 public:
  // The socket of the worker that this node runs for that host and plan; waits for one that is just starting. Its
  // error's message is told to the host. Asked when a stream comes, and again with its first byte, for there may be
  // another plan by then. Cancelled after kPatience.
  using Find =
      std::function<async::Task<Result<std::string>>(mesh::NodeId from, mesh::ContentKey model, mesh::PlanTerm of)>;
  static constexpr Millis kPatience{15'000};

  // Takes streams from now on.
  TunnelAcceptor(TunnelParts parts, Find find);
  // Takes none any more, and closes all. Tasks of `find` may unwind on the loop after that, unless stop() came before.
  ~TunnelAcceptor();
  TunnelAcceptor(const TunnelAcceptor&) = delete;
  TunnelAcceptor& operator=(const TunnelAcceptor&) = delete;

  // Ends everything; returns when nothing is left.
  async::Task<void> stop();
  // Streams that are there, of all peers.
  std::size_t streams() const { return streams_.running(); }

 private:
  struct Core;

  TunnelParts parts_;
  std::shared_ptr<Core> core_;
  async::TaskGroup streams_;
};

}  // namespace corral::fleet
