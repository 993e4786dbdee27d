// Dials discovery hints, and publishes this node's own addresses. A hint costs one dial with the node's key pinned and
// has no other effect; without hints everything works. On the loop of the mesh.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "async/timer.h"
#include "mesh/hints/peer_discovery.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

class DiscoveryLoop {
 public:
  // `engine_port`: port of other nodes' discovery agents, at the hosts of known nodes. Referenced objects outlive it.
  DiscoveryLoop(async::Executor executor, async::Timers& timers, mesh::Peers& peers,
                std::unique_ptr<mesh::PeerDiscovery> hints, std::uint16_t engine_port);

  void start();
  // The agent announces that this node stops: a few seconds at most.
  async::Task<void> stop();
  // Publishes addresses; repeating the same costs nothing.
  void publish(const std::vector<mesh::Address>& addresses, std::uint64_t epoch);
  // "running", or why there is no discovery.
  std::string state() const { return hints_->state(); }

 private:
  async::Task<void> follow();
  async::Task<void> look();

  async::Timers& timers_;
  mesh::Peers& peers_;
  const std::unique_ptr<mesh::PeerDiscovery> hints_;
  const std::uint16_t engine_port_;
  std::optional<mesh::Hint> published_;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
