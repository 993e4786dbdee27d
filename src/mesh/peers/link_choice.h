// Which of two links of one pair stays: both ends come to the same answer by themselves. Pure.
#pragma once

#include "mesh/identity/epoch.h"

namespace corral::mesh {

// What tells two links of one pair apart.
struct LinkIdentity {
  bool by_lower = false;  // dialled by the node with the lower id
  Boot boot;              // of the peer, as it said in this link's hello
};

LinkIdentity identity_of(const NodeId& own, const NodeId& peer, bool dialled_by_us, const Boot& boot);

// Whether `fresh`, which has just come up, takes the place of `present`. Of two the one that the lower id dialled
// stays. Of two by the same node the newer one: nobody dials who has a link, so that node has lost the other. And a
// node in another life has none of its links any more.
bool takes_over(const LinkIdentity& fresh, const LinkIdentity& present);

}  // namespace corral::mesh
