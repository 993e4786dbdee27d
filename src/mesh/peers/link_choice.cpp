#include "mesh/peers/link_choice.h"

namespace corral::mesh {

LinkFacts facts_of(const NodeId& own, const NodeId& peer, bool dialled_by_us, const Boot& boot) {
  return {dialled_by_us == (own < peer), boot};
}

bool takes_over(const LinkFacts& fresh, const LinkFacts& present) {
  if (fresh.boot.nonce != present.boot.nonce) return true;
  return fresh.by_lower || !present.by_lower;
}

}  // namespace corral::mesh
