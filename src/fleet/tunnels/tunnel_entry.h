// The engine's end of a tunnel: a port of this machine's loopback that leads to one worker at another node. See
// tunnel.h.
//
// The far end comes first: streams that its door has said yes to wait for the engine, who dies of an endpoint where
// nobody is. Whatever ends one side of a connection ends the other; when the link of the two nodes ends, so do all
// connections (llama.cpp itself would wait for ever). A loopback port is open to all users of a machine, so who
// connects must be a process of this one's user.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "fleet/tunnels/tunnel.h"

namespace corral::fleet {

// Belongs to the mesh's loop. Destroying it closes the port and every connection; what waits unwinds on the loop soon
// after and touches nothing of others.
class TunnelEntry {
 public:
  static constexpr std::size_t kMaxConnections = 32;  // at a time; a load makes some fourteen, one after another
  static constexpr std::size_t kReady = 4;            // streams that wait for a connection

  // Returns when the worker at that node has said that it listens, and the port is open; 25 s at most. Errors:
  // worker_refused with what that node says; those of Peers::open; mesh::errc::timed_out; the system's own when there
  // is no port.
  static async::Task<Result<std::unique_ptr<TunnelEntry>>> open(TunnelParts parts, mesh::NodeId worker,
                                                                mesh::ContentKey model, mesh::PlanTerm of);
  ~TunnelEntry();
  TunnelEntry(const TunnelEntry&) = delete;
  TunnelEntry& operator=(const TunnelEntry&) = delete;

  // For the engine: "127.0.0.1:PORT".
  std::string endpoint() const;
  // Of the engine, now.
  std::size_t connections() const;

  // Whether the way to the worker, or the worker itself, has ended under the engine: what becomes of the engine then is
  // nobody else's fault. Known before the engine hears of it; read on any thread, and outlives this.
  std::shared_ptr<const std::atomic<bool>> broken() const;

  // Of whom the other end of a connection on loopback is; for tests of other users.
  using OwnerOf = std::function<Result<uid_t>(std::uint16_t its_port, std::uint16_t our_port)>;
  void ask_owner_of(OwnerOf owner_of);

  struct Core;

 private:
  explicit TunnelEntry(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace corral::fleet
