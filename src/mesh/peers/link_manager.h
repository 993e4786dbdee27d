// Makes a link of a control stream, keeps one link of each pair, and handles its frames. Belongs to the mesh's loop.
#pragma once

#include "mesh/link/member_exchange.h"
#include "mesh/peers/dial/dial_policy.h"
#include "mesh/peers/dial/link_choice.h"
#include "mesh/peers/member_sync.h"
#include "mesh/peers/peer_exchanger.h"
#include "mesh/peers/streams/stream_opener.h"

namespace corral::mesh {

class LinkManager {
 public:
  // The parts above it, see PeerManagerParts.
  struct Parts {
    PeerTable& peers;
    PeerListeners& listeners;
    MemberStore& store;
    EpochClaims& claims;
    PeerFileWriter& file;
    MemberSync& members;
    PeerExchanger& exchanger;
    ReverseDialler& reverse;
    StreamOpener& opener;
  };
  LinkManager(Parts parts, const DialRules& dial) : parts_(parts), dial_(dial) {}

  // Exchanges hellos and members over a control stream; then the link is up, unless another one of the pair stays.
  // Errors: those of open_link and exchange_members, timed_out.
  async::Task<Result<>> greet(PeerPtr peer, std::unique_ptr<Stream> stream);
  // The same for a stream that the peer dialled; closes it if there are too many.
  void take_caller(const PeerPtr& peer, std::unique_ptr<Stream> stream);

 private:
  async::Task<void> greet_caller(PeerPtr peer, std::unique_ptr<Stream> stream);
  async::Task<Result<bool>> exchange(PeerPtr peer, std::shared_ptr<Link> link, Sha256 digest);
  void adopt(const PeerPtr& peer, const std::shared_ptr<Link>& link, bool members_sent);
  void take_claims(PeerRecord& peer, const Hello& hello);
  async::Task<void> serve(PeerPtr peer, std::shared_ptr<Link> link);
  async::Task<void> take_frames(PeerPtr peer, std::shared_ptr<Link> link);
  Result<> take_frame(const PeerPtr& peer, PageCollector& pages, const Frame& frame);
  Result<> take_members(PeerRecord& peer, PageCollector& pages, const Frame& frame);
  void end_link(const PeerPtr& peer, const std::shared_ptr<Link>& link);

  const Parts parts_;
  const DialRules dial_;
};

}  // namespace corral::mesh
