#include "mesh/peers/dial/link_choice.h"

namespace corral::mesh {

LinkIdentity identity_of(const NodeId& own, const NodeId& peer, bool dialled_by_us, const Boot& boot) {
  return {dialled_by_us == (own < peer), boot};
}

bool takes_over(const LinkIdentity& fresh, const LinkIdentity& present) {
  if (fresh.boot.nonce != present.boot.nonce) return true;
  return fresh.by_lower || !present.by_lower;
}

}  // namespace corral::mesh
