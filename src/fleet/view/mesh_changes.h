// What changed in the mesh between two views of it, for readers of events. Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/view/mesh_view.h"

namespace corral::fleet {

struct MeshChange {
  enum class Kind : std::uint8_t {
    status,     // of this node: founded, joined, left, thrown out
    admitted,   // a node is a member now
    removed,    // ... no more: it left, or was thrown out
    reachable,  // requests can go there
    away,       // they can't; `cause` says why
    model,      // a model is there, gone, or served otherwise
    copy,       // of a model to this node: ordered, begun, done, failed; `to` empty: given up
    group,      // of a model that this node hosts over several; `cause`: why it doesn't stand
    share,      // of this node's memory, that `node` has for a model of its own
  };
  Kind kind{};
  std::string node = {};  // its name; empty: none in particular
  std::string model = {};
  std::string from = {}, to = {};  // status before and now; of a model empty: there is none
  std::string cause = {};
};
std::string_view name_of(MeshChange::Kind kind);

// In the order in which they are told: this node, others, models, copies, groups.
std::vector<MeshChange> changes_between(const MeshView& before, const MeshView& after);

}  // namespace corral::fleet
