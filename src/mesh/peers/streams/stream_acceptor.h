// Streams that peers opened: each waits for its first byte, and then its purpose's handler gets it. Belongs to the
// mesh's loop.
#pragma once

#include <map>

#include "mesh/peers/peers.h"
#include "mesh/peers/table/peer_table.h"

namespace corral::mesh {

class StreamAcceptor {
 public:
  explicit StreamAcceptor(PeerTable& peers) : peers_(peers) {}

  void set_handler(Purpose purpose, Peers::StreamHandler handler) { handlers_[purpose] = std::move(handler); }
  void clear_handlers() { handlers_.clear(); }
  // The stream may come before its link is up. Closes it if the peer has too many.
  void take(const PeerPtr& peer, std::unique_ptr<Stream> stream, Purpose purpose);

 private:
  async::Task<void> wait_for_use(PeerPtr peer, BodyPtr body);

  PeerTable& peers_;
  std::map<Purpose, Peers::StreamHandler> handlers_;
};

}  // namespace corral::mesh
