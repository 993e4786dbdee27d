// A snapshot of the mesh as this node sees it. The mesh's loop makes one after each change. All readers share it, so no
// reader waits for the mesh. Immutable; safe on every thread.
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
  joining,  // it is being admitted, or looks for the nodes that its settings name
  member,
  revoked,  // this node was revoked; it can only leave
  broken,   // the files in the state folder are unusable
};
std::string_view name_of(MeshPhase phase);

// Another member, or this node.
struct NodeView {
  mesh::NodeId id = {};
  std::string name = {};      // as shown everywhere (mesh::NodeNames::shown): no other node has it
  std::string own_name = {};  // the name that it gave itself; empty: it hasn't announced any
  mesh::Reach reach = mesh::Reach::away;
  std::string link = {};  // "up", "dialling", ...; of this node "self"
  std::vector<mesh::Address> addresses = {};
  std::optional<Millis> round_trip = {};
  WallTime since = {};                                     // start of the link's state
  std::string last_end = {};                               // why the last link ended; empty: none did
  std::string last_failure = {};                           // of the last dial, with addresses: for admins; empty: none
  std::shared_ptr<const mesh::NodeState> node_state = {};  // nullptr: no announcement in this epoch
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t held = 0;  // in-flight requests from this node at us
};

// A node that the settings name (mesh_peers), and why this node couldn't join it.
struct UnjoinedPeer {
  mesh::NodeId node;
  std::string why;
};

struct MeshView {
  MeshPhase phase = MeshPhase::none;
  std::string problem;  // a problem in spite of which the mesh works, or the reason why it doesn't
  std::optional<mesh::MeshId> mesh;
  mesh::NodeId self;  // all zeros: unknown, outside a mesh
  std::string name;   // of this node, as shown
  mesh::Role role = mesh::Role::member;
  std::uint64_t epoch = 0;
  std::optional<mesh::Address> listening;
  std::vector<mesh::Address> advertised;
  std::size_t open_tokens = 0;
  std::vector<UnjoinedPeer> unmet;               // while this node looks for the nodes that its settings name
  std::vector<NodeView> nodes;                   // this one first, then by name
  std::shared_ptr<const mesh::Catalog> catalog;  // nullptr outside a mesh
  std::vector<CopyView> copies;                  // to this node, the latest orders last
  AllotmentPtr allotment;                        // the allocation; nullptr: unknown
  std::vector<GroupView> groups;                 // models that this node hosts as splits, sorted by name
  std::optional<ShareView> share;                // this node's memory that another host uses

  bool in_mesh() const { return phase == MeshPhase::member; }
  const NodeView* find(const mesh::NodeId& id) const;
  // As shown to people; also of former members.
  std::string name_of(const mesh::NodeId& id) const;
};
using MeshViewPtr = std::shared_ptr<const MeshView>;

// Finds a node by its shown name, its own name, its id, or the first digits of its id (six at least). Errors:
// node_not_found, node_ambiguous.
Result<const NodeView*> find_node(const MeshView& view, std::string_view text);

}  // namespace corral::fleet
