// The worker's end of tunnels: accepts streams of other nodes' engines (Purpose::rpc), and connects each to the Unix
// socket of its worker. See tunnel.h.
//
// A peer's identity is proved; nothing else that it sends is trusted. An invalid or missing preamble, or another plan
// or model than the granted one, ends the stream, with the reason if it can be sent.
#pragma once

#include <functional>
#include <string>

#include "async/task_group.h"
#include "fleet/tunnels/tunnel.h"

namespace corral::fleet {

// Belongs to the mesh's loop.
class TunnelAcceptor {
 public:
  // Returns the socket of this node's worker for the host and plan; waits for a starting worker. The error's message is
  // sent to the host. Called for each stream, and again with its first byte, since the plan may have changed. Cancelled
  // after kPatience.
  using Find =
      std::function<async::Task<Result<std::string>>(mesh::NodeId from, mesh::ContentKey model, mesh::PlanTerm of)>;
  static constexpr Millis kPatience{15'000};

  // Accepts streams from now on.
  TunnelAcceptor(TunnelParts parts, Find find);
  // Accepts no more streams, and closes all. Tasks of `find` may unwind on the loop after that, unless stop() came
  // before.
  ~TunnelAcceptor();
  TunnelAcceptor(const TunnelAcceptor&) = delete;
  TunnelAcceptor& operator=(const TunnelAcceptor&) = delete;

  // Ends everything; returns when no task is left.
  async::Task<void> stop();
  // Number of open streams, of all peers.
  std::size_t streams() const { return streams_.running(); }

 private:
  struct Core;

  TunnelParts parts_;
  std::shared_ptr<Core> core_;
  async::TaskGroup streams_;
};

}  // namespace corral::fleet
