// What others get to know of copies to this node, and which of them the allocation may order. Pure.
#pragma once

#include <string>
#include <string_view>

#include "fleet/copy_view.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// What is said where nobody can look at files of other nodes, and the way out.
std::string words_of_no_inspector(std::string_view why);

// A copy as another node is told of it: its problem may name files, and is for administrators. `admin`: this node obeys
// those of other nodes.
CopyView told_to(const mesh::NodeId& asker, CopyView view, bool admin);

// Whether the model could be loaded at `self`, which is this node, with the memory that it lends.
bool fits_lent_memory(mesh::KnownNode self, const mesh::MeshModel& model);

}  // namespace corral::fleet
