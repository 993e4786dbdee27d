// Which of two links of one pair stays: both ends compute the same result. Pure.
#pragma once

#include "mesh/identity/epoch.h"

namespace corral::mesh {

// Distinguishes two links of one pair.
struct LinkIdentity {
  bool by_lower = false;  // dialled by the node with the lower id
  Boot boot;              // the peer's epoch, from this link's hello
};

LinkIdentity identity_of(const NodeId& own, const NodeId& peer, bool dialled_by_us, const Boot& boot);

// Whether `fresh`, which has just come up, replaces `present`. The link that the lower id dialled stays. Of two by the
// same node the newer one stays: a node with a link doesn't dial, so it has lost the other one. A node of another epoch
// has lost all its links.
bool takes_over(const LinkIdentity& fresh, const LinkIdentity& present);

}  // namespace corral::mesh
