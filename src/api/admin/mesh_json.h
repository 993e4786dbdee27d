// What is known of the mesh, as JSON. Each writes members of an object that is open.
#pragma once

#include "fleet/mesh_view.h"
#include "json/writer.h"

namespace corral::api {

// "status" to "problem".
void write_mesh(json::Writer& out, const fleet::MeshView& view);
// "nodes": each with what it says of itself, and how this node gets there.
void write_nodes(json::Writer& out, const fleet::MeshView& view);
// "models": who has each and who serves it.
void write_mesh_models(json::Writer& out, const fleet::MeshView& view);

}  // namespace corral::api
