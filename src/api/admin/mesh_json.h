// What is known of the mesh, as JSON. Each writes members of an object that is open.
#pragma once

#include "fleet/view/mesh_view.h"
#include "json/writer.h"
#include "mesh/catalog/choice.h"

namespace corral::api {

// "status" to "problem".
void write_mesh(json::Writer& out, const fleet::MeshView& view);
// "nodes": each with what it says of itself, and how this node gets there.
void write_nodes(json::Writer& out, const fleet::MeshView& view);
// The same without what only admins need: names, reach, and what they serve.
void write_nodes_briefly(json::Writer& out, const fleet::MeshView& view);
// "models": who has each and who serves it.
void write_mesh_models(json::Writer& out, const fleet::MeshView& view);

// A copy to this node, or another: "model" to "problem".
void write_copy(json::Writer& out, const fleet::MeshView& view, const fleet::CopyView& copy);
// "copies".
void write_copies_here(json::Writer& out, const fleet::MeshView& view);

// "groups" that this node hosts, and "share": what another host has of this node's memory, or null.
void write_groups(json::Writer& out, const fleet::MeshView& view);

// "node" (null: nobody), "rank", "short" (what is short, where nobody is) and "candidates".
void write_choice(json::Writer& out, const fleet::MeshView& view, const mesh::Choice& choice);
// "nodes" of a model as lists of models have it: who has it, and in what state.
void write_copies(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model);

}  // namespace corral::api
