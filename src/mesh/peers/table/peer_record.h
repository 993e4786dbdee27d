// One member, with its links, streams and dials. Belongs to the mesh's loop. Tasks hold the record, so that it outlives
// its entry in the table until they have unwound.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "async/task_group.h"
#include "mesh/net/token_bucket.h"
#include "mesh/peers/dial/reverse_dials.h"
#include "mesh/peers/peer_link.h"
#include "mesh/peers/streams/peer_streams.h"
#include "mesh/peers/table/address_book.h"

namespace corral::mesh {

struct PeerRecord {
  PeerRecord(async::Executor executor, const PublicKey& of, MonoTime now);

  bool is_refused(MonoTime now) const { return now < refused_until; }
  // The peer has published new addresses.
  void may_be_dialled();

  const PublicKey key;
  const NodeId id;
  bool gone = false;  // no longer a member, or this node has stopped
  AddressBook addresses;
  std::optional<EpochClaim> claim;  // the newest that is known
  PeerLink link;
  std::set<NodeId> reaches;             // nodes that it reports links to
  std::multiset<InFlightId> in_flight;  // its requests that we list in heartbeats

  // Making a link
  Signal stir;               // wakes the task that dials
  std::size_t dials = 0;     // running
  bool greeting = false;     // over a stream that we dialled
  std::size_t greeted = 0;   // incoming control streams without a link yet
  MonoTime refused_until{};  // it forged records

  // Making streams
  PeerStreams streams;
  ReverseDials reverse;
  std::size_t answering = 0;  // tasks that dial for its requests
  std::size_t refilling = 0;
  MonoTime refill_after{};
  MonoTime not_dialable_until{};

  // Its limits
  TokenBucket hints{{1, 4}};
  TokenBucket calls{{8, 32}};  // incoming control streams
  // Unknown member records, which cost a signature check each. Twice a whole set of a mesh at once.
  TokenBucket records{{64, 8192}};
  TokenBucket loads{{4.0 / 60, 4}};

  async::TaskGroup tasks;
};
using PeerPtr = std::shared_ptr<PeerRecord>;

}  // namespace corral::mesh
