// Peer exchange: sends the known addresses of members to all peers, and applies those that they send (peer_exchange.h).
// Belongs to the mesh's loop.
#pragma once

#include <vector>

#include "mesh/link/frame.h"
#include "mesh/peers/table/epoch_claims.h"
#include "mesh/peers/table/peer_file_writer.h"

namespace corral::mesh {

class PeerExchanger {
 public:
  PeerExchanger(PeerTable& peers, const EpochClaims& claims, PeerFileWriter& file, std::vector<Address> own_addresses);

  // Sets this node's addresses, and sends them to all peers.
  void set_addresses(std::vector<Address> addresses);
  // Sends to all peers after changes, with a rate limit.
  void publish();
  // Sends to a peer whose link has just come up.
  void send_to(PeerRecord& peer);
  // Errors: malformed.
  Result<> take(PeerRecord& peer, const Frame& frame);

 private:
  PeerExchange make_exchange() const;
  bool take_own(PeerRecord& peer, const std::vector<Address>& announced);
  bool take_other(const PeerRecord& sender, const PeerExchange::Node& entry);
  async::Task<void> publish_later();

  PeerTable& peers_;
  const EpochClaims& claims_;
  PeerFileWriter& file_;
  std::vector<Address> own_addresses_;
  bool due_ = false;
  TokenBucket pace_{{4, 16}};  // half of a peer's limit, see FrameBudget
  std::string sent_;           // sent to all; empty: not the same to all
};

}  // namespace corral::mesh
