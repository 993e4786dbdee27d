// State of the mesh as JSON. Each function writes members into an open object.
#pragma once

#include "fleet/view/mesh_view.h"
#include "json/writer.h"
#include "mesh/catalog/choice.h"

namespace corral::api {

// "status" to "problem".
void write_mesh(json::Writer& out, const fleet::MeshView& view);
// "nodes": each with its node state and its reachability.
void write_nodes(json::Writer& out, const fleet::MeshView& view);
// The same without the facts for admins: names, reachability, and the models that they serve.
void write_nodes_briefly(json::Writer& out, const fleet::MeshView& view);
// "models": the nodes that have each model, and the nodes that serve it.
void write_mesh_models(json::Writer& out, const fleet::MeshView& view);

// A copy to this node or to another one: "model" to "problem".
void write_copy(json::Writer& out, const fleet::MeshView& view, const fleet::CopyView& copy);
// "copies".
void write_copies_here(json::Writer& out, const fleet::MeshView& view);

// "groups" that this node hosts, and "share": the memory of this node that another host uses, or null.
void write_groups(json::Writer& out, const fleet::MeshView& view);

// "node" (null: none), "rank", "short" (the missing memory, if no node is chosen) and "candidates".
void write_choice(json::Writer& out, const fleet::MeshView& view, const mesh::Choice& choice);
// "nodes" of a model in lists of models: each node that has it, and its state.
void write_copies(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);

}  // namespace corral::api
