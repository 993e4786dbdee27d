// The wire form of a model in a node state, see node_state.h. Only for it.
#pragma once

#include <string_view>

#include "mesh/catalog/fields.h"
#include "mesh/catalog/node_state.h"

namespace corral::mesh {

FieldWriter fields_of(const ModelOnDisk& model);
ModelOnDisk read_model(std::string_view bytes);

}  // namespace corral::mesh
