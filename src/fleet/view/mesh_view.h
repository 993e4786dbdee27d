// How the mesh looks from this node at one moment. Made on the loop of the mesh whenever something changes, shared by
// everybody who shows or uses it: nobody waits for the mesh to read it. Immutable; safe on every thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "fleet/base/allotment.h"
#include "fleet/copies/copy_view.h"
#include "fleet/groups/group_view.h"
#include "mesh/catalog/catalog.h"
#include "mesh/members/member_records.h"

namespace corral::fleet {

enum class MeshPhase : std::uint8_t {
  none,     // this node is in no mesh
  joining,  // it is being let in, or looks for the nodes that its settings name
  member,
  revoked,  // it was thrown out, and only leaving is left
  broken,   // what is in the state folder can't be used
};
std::string_view name_of(MeshPhase phase);

// Another member, or this node.
struct NodeView {
  mesh::NodeId id = {};
  std::string name = {};  // as it calls itself; until it has said so, the first digits of its id
  mesh::Reach reach = mesh::Reach::away;
  std::string link = {};  // "up", "dialling", ...; of this node "self"
  std::vector<mesh::Address> addresses = {};
  std::optional<Millis> round_trip = {};
  WallTime since = {};                               // that the link is as it is
  std::string last_end = {};                         // why the last link ended; empty: none did
  std::string last_failure = {};                     // of dialling it, with addresses: for admins; empty: none
  std::shared_ptr<const mesh::NodeState> said = {};  // nullptr: nothing in this life
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t held = 0;  // requests that we hold for it
};

// A node that the settings name (mesh_peers), and why nothing came of it.
struct UnjoinedPeer {
  mesh::NodeId node;
  std::string why;
};

struct MeshView {
  MeshPhase phase = MeshPhase::none;
  std::string problem;  // what is wrong though the mesh goes on, or why it doesn't
  std::optional<mesh::MeshId> mesh;
  mesh::NodeId self;  // all zeros: not known, as there is no mesh
  std::string name;
  mesh::Role role = mesh::Role::member;
  std::uint64_t epoch = 0;
  std::optional<mesh::Address> listening;
  std::vector<mesh::Address> advertised;
  std::size_t open_tokens = 0;
  std::vector<UnjoinedPeer> unmet;               // while this node looks for those that its settings name
  std::vector<NodeView> nodes;                   // this one first, then by name
  std::shared_ptr<const mesh::Catalog> catalog;  // nullptr while there is no mesh
  std::vector<CopyView> copies;                  // to this node, the latest orders last
  AllotmentPtr allotment;                        // who should have what; nullptr: not known
  std::vector<GroupView> groups;                 // models that this node hosts over several, sorted by name
  std::optional<ShareView> share;                // what another host has of this node's memory

  bool in_mesh() const { return phase == MeshPhase::member; }
  const NodeView* find(const mesh::NodeId& id) const;
};
using MeshViewPtr = std::shared_ptr<const MeshView>;

// A node by name, id, or the first digits of an id (six at least). Errors: node_not_found, node_ambiguous.
Result<const NodeView*> find_node(const MeshView& view, std::string_view text);

}  // namespace corral::fleet
