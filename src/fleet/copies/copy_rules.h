// Which copies to this node the allocation may order, and the message if no copies are possible. Pure.
#pragma once

#include <string>
#include <string_view>

#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// The message if files of other nodes can't be inspected, with the remedy.
std::string words_of_no_inspector(std::string_view why);

// Whether `self`, which is this node, can load the model within the memory that it lends.
bool fits_lent_memory(mesh::KnownNode self, const mesh::MeshModel& model);

}  // namespace corral::fleet
