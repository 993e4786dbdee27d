// What others get to know of copies to this node, and which of them requests may order. Pure.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "fleet/copy_view.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// Why a node makes no copy for a request, for clients and other nodes: its own words may name its files.
std::string_view refusal_of(std::error_code cause);

// What is said where nobody can look at files of other nodes, and the way out.
std::string words_of_no_inspector(std::string_view why);

// A copy as another node is told of it: its problem may name files, and is for administrators. `admin`: this node obeys
// those of other nodes.
CopyView told_to(const mesh::NodeId& asker, CopyView view, bool admin);

// Whether the model could be loaded at `self`, which is this node. What others want of it, it does with the memory that
// it lends. `own`: a client of this node wants it.
bool fits_for_request(mesh::KnownNode self, const mesh::MeshModel& model, bool own);

}  // namespace corral::fleet
