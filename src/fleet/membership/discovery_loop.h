// Heeds hints of where nodes may be, and gives others this node's own. A hint costs one dial with the node's key
// pinned; nothing else comes of it, and without hints everything goes on. On the loop of the mesh.
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
  // `engine_port`: where the engines of others are asked for, at the hosts of known nodes. What is referred to outlives
  // it.
  DiscoveryLoop(async::Executor executor, async::Timers& timers, mesh::Peers& peers,
                std::unique_ptr<mesh::PeerDiscovery> hints, std::uint16_t engine_port);

  void start();
  // The engine tells others that this node goes: a few seconds at most.
  async::Task<void> stop();
  // What others are to hear; the same again costs nothing.
  void tell(const std::vector<mesh::Address>& addresses, std::uint64_t epoch);
  // "running", or why there is nothing to hear.
  std::string state() const { return hints_->state(); }

 private:
  async::Task<void> follow();
  async::Task<void> look();

  async::Timers& timers_;
  mesh::Peers& peers_;
  const std::unique_ptr<mesh::PeerDiscovery> hints_;
  const std::uint16_t engine_port_;
  std::optional<mesh::Hint> told_;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
