// Who may be at which address, told by an engine that spreads such words among any number of nodes. Trusted for
// nothing: a hint costs whoever heeds it one dial with the node's key pinned, and no hint says that a node lives or is
// a member. Without hints up to 32 nodes find each other by the addresses they exchange over their links.
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

// What a node lets others know of itself.
struct Hint {
  NodeId node;
  std::vector<Address> addresses;  // for links; kMaxHintAddresses at most
  std::uint64_t epoch = 0;         // the life that it is in
  std::uint64_t sequence = 0;  // of its announcements; nodes leave it at 0, as each change of a hint goes to all nodes
  friend bool operator==(const Hint&, const Hint&) = default;
};

inline constexpr std::size_t kMaxHintAddresses = 4;

// The engine; the real one is serf_hints.h.
class PeerDiscovery {
 public:
  virtual ~PeerDiscovery() = default;

  // What others are to hear of this node, from now on.
  virtual void tell(Hint own) = 0;
  // Where others' engines may be: the hosts of known nodes. May be told again and again.
  virtual void look_at(std::vector<Address> engines) = 0;
  // Waits until there is something to hear: hints of other nodes that are new, or differ from the last ones. A node is
  // heard of at most once in a call, and each call says what has changed since the last.
  virtual async::Task<std::vector<Hint>> next() = 0;
  // Tells others that this node goes, and ends what runs; a few seconds. Then nothing else is called but the
  // destructor, which without this ends all at once.
  virtual async::Task<void> stop() { co_return; }
  // For people: "running", or why there is nothing to hear.
  virtual std::string state() const = 0;
};

// As short labels that an engine carries with a node, and back. Nothing when they make no sense.
struct HintLabels {
  std::string node;       // 64 hexadecimal digits
  std::string addresses;  // joined by commas
  std::string progress;   // "epoch.sequence"
};
HintLabels labels_of(const Hint& hint);
std::optional<Hint> hint_of(const HintLabels& labels);

}  // namespace corral::mesh
