// Discovery hints: unverified addresses of nodes, from a discovery agent that spreads them among any number of nodes. A
// hint costs one dial with the node's key pinned, and proves neither that a node is alive nor that it is a member.
// Without hints up to 32 nodes find each other by the addresses they exchange over their links.
//
// Belongs to one loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "mesh/identity/address.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

// What a node publishes about itself.
struct Hint {
  NodeId node;
  std::vector<Address> addresses;  // for links; kMaxHintAddresses at most
  std::uint64_t epoch = 0;         // its present epoch
  std::uint64_t sequence = 0;      // of its announcements; always 0, because each change of a hint goes to all nodes
  friend bool operator==(const Hint&, const Hint&) = default;
};

inline constexpr std::size_t kMaxHintAddresses = 4;

// The discovery agent; the real one is in serf_hints.h.
class PeerDiscovery {
 public:
  virtual ~PeerDiscovery() = default;

  // Sets the hint about this node, for other nodes.
  virtual void publish(Hint own) = 0;
  // Sets the possible addresses of other agents: the hosts of known nodes. May be called repeatedly.
  virtual void look_at(std::vector<Address> engines) = 0;
  // Waits for hints of other nodes that are new or changed since the last call. A call returns at most one hint for
  // each node.
  virtual async::Task<std::vector<Hint>> next() = 0;
  // Notifies other agents that this node leaves, and ends the agent within a few seconds. After it only the destructor
  // may be called. Without stop() the destructor ends the agent at once.
  virtual async::Task<void> stop() { co_return; }
  // For people: "running", or why there are no hints.
  virtual std::string state() const = 0;
};

// A hint as short labels that an agent keeps for a node, and back. Nothing if they are malformed.
struct HintLabels {
  std::string node;       // 64 hexadecimal digits
  std::string addresses;  // joined by commas
  std::string progress;   // "epoch.sequence"
};
HintLabels labels_of(const Hint& hint);
std::optional<Hint> hint_of(const HintLabels& labels);

}  // namespace corral::mesh
