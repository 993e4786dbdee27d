// Opens streams to peers, and keeps spare http streams to each peer, so that a request waits for no handshake. Belongs
// to the mesh's loop.
#pragma once

#include "mesh/members/member_store.h"
#include "mesh/peers/dial/peer_dialler.h"
#include "mesh/peers/dial/reverse_dialler.h"

namespace corral::mesh {

class StreamOpener {
 public:
  StreamOpener(PeerTable& peers, const MemberStore& store, PeerDialler& dialler, ReverseDialler& reverse)
      : peers_(peers), store_(store), dialler_(dialler), reverse_(reverse) {}

  // Keeps spares from now on.
  void start() { peers_.run("mesh peers: tidy", tidy()); }
  // See Peers::open().
  async::Task<StreamResult> open(NodeId id, Purpose purpose);
  // Opens spares for peers that have too few.
  void refill();

 private:
  async::Task<StreamResult> make(PeerPtr peer, Purpose purpose);
  void refill_soon(PeerRecord& peer);
  async::Task<void> refill_later();
  async::Task<void> refill_one(PeerPtr peer);
  async::Task<void> tidy();

  PeerTable& peers_;
  const MemberStore& store_;
  PeerDialler& dialler_;
  ReverseDialler& reverse_;
  std::size_t refills_ = 0;
  bool refill_due_ = false;
};

}  // namespace corral::mesh
