// Accepts connections from the network, authorizes them, and passes each to the part that handles it. Belongs to the
// mesh's loop.
#pragma once

#include <vector>

#include "mesh/members/join_token_store.h"
#include "mesh/peers/link_manager.h"
#include "mesh/peers/peer_manager.h"

namespace corral::mesh {

class ConnectionAcceptor {
 public:
  struct Parts {
    PeerTable& peers;
    MemberStore& store;
    JoinTokenStore& tokens;
    MemberSync& members;
    LinkManager& links;
    StreamAcceptor& streams;
    ReverseDialler& reverse;
  };
  // `configured`: a node whose id is listed there joins without a token.
  ConnectionAcceptor(Parts parts, const SigningKey& own, std::vector<ConfiguredPeer> configured)
      : parts_(parts), own_(own), configured_(std::move(configured)) {}

  void start(Network& network) { parts_.peers.run("mesh peers: accept", accept_all(network)); }
  // See PeerAuthorizer.
  Result<> may_come(const PublicKey& key, Purpose purpose) const;

 private:
  async::Task<void> accept_all(Network& network);
  void take(std::unique_ptr<Stream> stream);
  async::Task<void> serve_joiner(std::unique_ptr<Stream> stream);
  bool is_named(const NodeId& id) const;

  const Parts parts_;
  const SigningKey own_;
  const std::vector<ConfiguredPeer> configured_;
};

}  // namespace corral::mesh
