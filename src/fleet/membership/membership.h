// What makes this machine a member of a mesh, as it stands in a folder: key, count of starts, members, tokens. Belongs
// to one loop, and blocks it for a few small files while this node comes into a mesh or back to it: before it has
// links.
#pragma once

#include <optional>

#include "fleet/base/node_options.h"
#include "mesh/identity/epoch.h"
#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"

namespace corral::fleet {

struct Membership {
  mesh::SigningKey key;
  mesh::Boot boot;  // this life
  mesh::MemberStore book;
  mesh::JoinTokenStore tokens;

  mesh::NodeId id() const { return key.id(); }
};

// Whether the folder says that this node is a member; whether it still may be is another question. One look at a file.
bool has_membership(const NodeOptions& options);
// Counts this start. Errors: no_mesh; those of mesh/identity and mesh/members for what can't be used.
Result<Membership> open_membership(const NodeOptions& options);
// The key of this node, made if there is none. Errors: unusable_identity, and the system's own.
Result<mesh::SigningKey> own_key(const NodeOptions& options);
// Becomes a member, with members that a join or a founding gave. Errors: the system's own.
Result<Membership> begin_membership(const NodeOptions& options, mesh::SigningKey key, mesh::MemberSet members);
// As if it had never been: the key goes, too (a node that left comes back as a new one), unless it is in a file that
// somebody provides.
void forget_membership(const NodeOptions& options);

}  // namespace corral::fleet
