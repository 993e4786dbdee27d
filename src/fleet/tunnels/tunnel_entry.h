// The engine's end of a tunnel: a loopback port of this machine, connected to one worker at another node. See tunnel.h.
//
// The worker's side is connected first: streams that TunnelAcceptor has accepted wait for the engine, which exits if an
// endpoint doesn't answer. The end of one side of a connection ends the other side. When the link of the two nodes
// ends, all connections end (llama.cpp itself would wait without limit). A loopback port is open to all users of a
// machine, so only processes of this process's user may connect.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "fleet/tunnels/tunnel.h"

namespace corral::fleet {

// Belongs to the mesh's loop. The destructor closes the port and every connection; waiting tasks unwind on the loop
// soon after and use no other objects.
class TunnelEntry {
 public:
  static constexpr std::size_t kMaxConnections = 32;  // at a time; a load makes about fourteen, one after another
  static constexpr std::size_t kReady = 4;            // accepted streams that wait for a connection

  // Returns when the worker at that node has accepted and the port is open; 25 s at most. Errors: worker_refused with
  // that node's text; those of Peers::open; mesh::errc::timed_out; the system's own if no port is available.
  static async::Task<Result<std::unique_ptr<TunnelEntry>>> open(TunnelParts parts, mesh::NodeId worker,
                                                                mesh::ContentKey model, mesh::PlanTerm of);
  ~TunnelEntry();
  TunnelEntry(const TunnelEntry&) = delete;
  TunnelEntry& operator=(const TunnelEntry&) = delete;

  // Endpoint for the engine: "127.0.0.1:PORT".
  std::string endpoint() const;
  // Number of the engine's connections now.
  std::size_t connections() const;

  // True if the worker or the connection to it ended before the engine: then requests aren't to blame for the engine's
  // end. Set before the engine notices; read on any thread, and outlives this.
  std::shared_ptr<const std::atomic<bool>> broken() const;

  // Replaces the query of a connection's owner; for tests of other users.
  using OwnerOf = std::function<Result<uid_t>(std::uint16_t its_port, std::uint16_t our_port)>;
  void ask_owner_of(OwnerOf owner_of);

  struct Core;

 private:
  explicit TunnelEntry(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace corral::fleet
