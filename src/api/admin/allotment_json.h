// What each node should have for the mesh, as JSON. Each writes members of an object that is open.
#pragma once

#include "fleet/view/mesh_view.h"
#include "json/writer.h"

namespace corral::api {

// "assignments", "unloads", "splits", "unserved" and "unsplit" of the whole mesh; empty while nothing is known.
void write_plan(json::Writer& out, const fleet::MeshView& view);
// The same of one model, with "groups" that hold it and "foretold": where it would fit, alone or split, or what is
// short.
void write_plan_of(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);
// "allocation": a sentence for each line of the allocation about this model.
void write_reasons(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);

}  // namespace corral::api
