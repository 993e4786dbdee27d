// Dials members without a link, by the rules of dial_policy.h. Belongs to the mesh's loop.
#pragma once

#include <random>
#include <set>
#include <vector>

#include "mesh/peers/dial/peer_dialler.h"
#include "mesh/peers/link_manager.h"
#include "mesh/peers/peer_manager.h"

namespace corral::mesh {

class LinkDialler {
 public:
  LinkDialler(PeerTable& peers, PeerDialler& dialler, LinkManager& links, PeerFileWriter& file,
              const PeerManagerOptions& options);

  // Dials from now on; `dialler` has started.
  void start();
  // The table has changed.
  void peers_changed(const std::vector<PeerPtr>& added);

 private:
  bool wants_link(const PeerRecord& peer) const;
  void choose();
  async::Task<void> keep_linked(PeerPtr peer);
  async::Task<void> dial(PeerPtr peer, Address address, Millis limit);
  async::Task<void> keep_dialling(Address unnamed);
  async::Task<void> dial_unnamed(Address address, Millis limit);
  async::Task<void> greet(PeerPtr peer, std::unique_ptr<Stream> stream, Address address);
  Millis gone_since(MonoTime since) const;
  Millis next_pause(Millis gone);

  PeerTable& peers_;
  PeerDialler& dialler_;
  LinkManager& links_;
  PeerFileWriter& file_;
  const DialRules rules_;
  const std::vector<ConfiguredPeer> configured_;
  const std::size_t max_links_;
  std::mt19937_64 chance_;
  std::set<NodeId> chosen_;  // the nodes to dial, in a mesh that is too large for all
};

}  // namespace corral::mesh
