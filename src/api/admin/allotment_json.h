// The allocation of the mesh as JSON. Each function writes members into an open object.
#pragma once

#include "fleet/view/mesh_view.h"
#include "json/writer.h"
#include "mesh/catalog/choice.h"

namespace corral::api {

// "assignments", "unloads", "splits", "unserved" and "unsplit" of the whole mesh; empty while nothing is known.
void write_plan(json::Writer& out, const fleet::MeshView& view);
// The same for one model, with its "groups" and the prediction: where it fits, alone or split, or which memory is
// short.
void write_plan_of(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);
// "split": how a request for the model would be served, if no node serves it now and it is going to be split; else
// null.
void write_coming_split(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model,
                        const mesh::Choice& choice);
// "allocation": a sentence for each line of the allocation about this model.
void write_reasons(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);

}  // namespace corral::api
