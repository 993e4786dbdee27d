// Which copies to this node the allocation may order, and what is said where none can be made. Pure.
#pragma once

#include <string>
#include <string_view>

#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// What is said where nobody can look at files of other nodes, and the way out.
std::string words_of_no_inspector(std::string_view why);

// Whether the model could be loaded at `self`, which is this node, with the memory that it lends.
bool fits_lent_memory(mesh::KnownNode self, const mesh::MeshModel& model);

}  // namespace corral::fleet
