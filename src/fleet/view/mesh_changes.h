// The differences of two views of the mesh, for readers of events. Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/view/mesh_view.h"

namespace corral::fleet {

struct MeshChange {
  enum class Kind : std::uint8_t {
    status,     // of this node: founded, joined, left, revoked
    admitted,   // a node has become a member
    removed,    // a node is no longer a member: it left or was revoked
    reachable,  // requests can be sent to the node
    away,       // requests can't be sent to the node; `cause` says why
    model,      // a model has appeared, disappeared, or changed its status
    copy,       // of a model to this node: ordered, begun, done, failed; `to` empty: cancelled
    group,      // of a model that this node hosts as a split; `cause`: why it doesn't serve
    share,      // of this node's memory that `node` uses for a model
  };
  Kind kind{};
  std::string node = {};  // name of the node; empty: the change concerns no node
  std::string model = {};
  std::string from = {}, to = {};  // status before and now; empty for a model: it doesn't exist
  std::string cause = {};
};
std::string_view name_of(MeshChange::Kind kind);

// The changes in the order of their events: this node, others, models, copies, groups.
std::vector<MeshChange> changes_between(const MeshView& before, const MeshView& after);

}  // namespace corral::fleet
