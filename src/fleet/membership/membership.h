// The files that make this machine a member of a mesh: key, epoch, members, tokens. Belongs to one loop, and blocks it
// for a few small files when this node enters or resumes a mesh, before it has links.
#pragma once

#include <optional>

#include "fleet/base/node_options.h"
#include "mesh/identity/epoch.h"
#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"

namespace corral::fleet {

struct Membership {
  mesh::SigningKey key;
  mesh::Boot boot;  // of this epoch
  mesh::MemberStore store;
  mesh::JoinTokenStore tokens;

  mesh::NodeId id() const { return key.id(); }
};

// Whether the folder says that this node is a member; it may be revoked all the same. Reads one file.
bool has_membership(const NodeOptions& options);
// Counts this start. Errors: no_mesh; those of mesh/identity and mesh/members for unusable files.
Result<Membership> open_membership(const NodeOptions& options);
// The key of this node, made if there is none. Errors: unusable_identity, and the system's own.
Result<mesh::SigningKey> own_key(const NodeOptions& options);
// Becomes a member, with the member set of a join or a founding. Errors: the system's own.
Result<Membership> begin_membership(const NodeOptions& options, mesh::SigningKey key, mesh::MemberSet members);
// Removes the membership and also the key (a node that left returns as a new one), unless the key is in a file of the
// user's own (NodeOptions::identity).
void forget_membership(const NodeOptions& options);

}  // namespace corral::fleet
