// Dials addresses of peers, with the peer's key pinned, and notes in the peer's AddressBook which addresses are right.
// Belongs to the mesh's loop.
#pragma once

#include <optional>
#include <vector>

#include "mesh/peers/table/peer_table.h"

namespace corral::mesh {

using StreamResult = Result<std::unique_ptr<Stream>>;

class PeerDialler {
 public:
  explicit PeerDialler(PeerTable& peers) : peers_(peers) {}

  // Before the first dial. `network` outlives all dials.
  void start(Network& network) { network_ = &network; }
  bool has_started() const { return network_ != nullptr; }

  // Nothing: it took longer than `limit`. Errors: those of Network::dial.
  async::Task<std::optional<StreamResult>> dial(PeerPtr peer, Address address, Purpose purpose, Millis limit);
  // One address after the other, 3 at most, until a dial succeeds. Errors: unreachable, those of Network::dial.
  async::Task<StreamResult> dial_any(PeerPtr peer, std::vector<Address> addresses, Purpose purpose);
  // Any node of `pins` that answers at an address of the configuration.
  async::Task<std::optional<StreamResult>> dial_unnamed(Address address, std::vector<NodeId> pins, Millis limit);

 private:
  PeerTable& peers_;
  Network* network_ = nullptr;
};

}  // namespace corral::mesh
