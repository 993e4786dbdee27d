#include "mesh/peers/table/peer_record.h"

namespace corral::mesh {

PeerRecord::PeerRecord(async::Executor executor, const PublicKey& of, MonoTime now)
    : key(of),
      id(node_id(of)),
      link(executor, now),
      stir(executor),
      streams(executor),
      reverse(executor),
      tasks(executor) {}

void PeerRecord::may_be_dialled() {
  not_dialable_until = {};
  refill_after = {};
}

}  // namespace corral::mesh
