// What this node knows of one member, and its links, streams and dials. Belongs to the mesh's loop. Tasks hold it, so
// that it outlives its place in the table until they have unwound.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "async/task_group.h"
#include "mesh/net/token_bucket.h"
#include "mesh/peers/address_book.h"
#include "mesh/peers/peer_link.h"
#include "mesh/peers/peer_streams.h"
#include "mesh/peers/reverse_dials.h"

namespace corral::mesh {

struct PeerRecord {
  PeerRecord(async::Executor executor, const PublicKey& of, MonoTime now);

  bool is_refused(MonoTime now) const { return now < refused_until; }
  // It said new addresses of itself.
  void may_be_dialled();

  const PublicKey key;
  const NodeId id;
  bool gone = false;  // no member any more, or all is at its end
  AddressBook addresses;
  std::optional<EpochClaim> claim;  // the newest that is known
  PeerLink link;
  std::set<NodeId> reaches;             // it says that it has links to them
  std::multiset<InFlightId> in_flight;  // that we do for it, as heartbeats tell

  // Making a link
  Signal stir;               // for who dials
  std::size_t dials = 0;     // under way
  bool greeting = false;     // over a stream that we dialled
  std::size_t greeted = 0;   // control streams that came and have no link yet
  MonoTime refused_until{};  // it forged records

  // Making streams
  PeerStreams streams;
  ReverseDials reverse;
  std::size_t answering = 0;  // tasks that dial what it asked for
  std::size_t refilling = 0;
  MonoTime refill_after{};
  MonoTime not_dialable_until{};

  // What it may do
  TokenBucket hints{{1, 4}};
  TokenBucket calls{{8, 32}};  // control streams that come
  // Of members that aren't known yet: a signature each. A whole set of a mesh at once, twice.
  TokenBucket records{{64, 8192}};
  TokenBucket loads{{4.0 / 60, 4}};

  async::TaskGroup tasks;
};
using PeerPtr = std::shared_ptr<PeerRecord>;

}  // namespace corral::mesh
