// Reverse dials: asks a peer that can't be dialled to dial this node, over the link, and dials peers that ask. Belongs
// to the mesh's loop.
#pragma once

#include <random>

#include "mesh/link/frame.h"
#include "mesh/peers/dial/peer_dialler.h"
#include "mesh/peers/streams/stream_acceptor.h"

namespace corral::mesh {

class ReverseDialler {
 public:
  ReverseDialler(PeerTable& peers, PeerDialler& dialler, StreamAcceptor& acceptor, std::uint64_t seed)
      : peers_(peers), dialler_(dialler), acceptor_(acceptor), chance_(seed) {}

  // Asks the peer for a stream and waits until it comes. Errors: unreachable.
  async::Task<StreamResult> ask(PeerPtr peer, Purpose purpose);
  // A stream that a peer dialled on request: its first bytes are the number of the request.
  void take_stream(const PeerPtr& peer, std::unique_ptr<Stream> stream);
  // The peer asks to be dialled. Errors: malformed.
  Result<> take_request(const PeerPtr& peer, const Frame& frame);

 private:
  async::Task<void> match(PeerPtr peer, std::unique_ptr<Stream> stream);
  async::Task<void> answer_all(PeerPtr peer);

  PeerTable& peers_;
  PeerDialler& dialler_;
  StreamAcceptor& acceptor_;
  std::mt19937_64 chance_;
};

}  // namespace corral::mesh
