// Models of the mesh in lists of models: mesh members of this node's models, and entries for models that only other
// nodes have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/named.h"
#include "fleet/view/mesh_view.h"
#include "json/writer.h"

namespace corral::api {

// The mesh as a list of models needs it. Holds the view.
class MeshModels {
 public:
  // nullptr: no mesh.
  explicit MeshModels(fleet::MeshViewPtr view);

  bool in_mesh() const { return view_ != nullptr; }
  const fleet::MeshView& view() const { return *view_; }
  // This node's model of that name; nullptr: the mesh doesn't know it yet.
  const mesh::MeshModel* own(const ModelName& name) const;
  // Models that only other nodes have, sorted by name.
  const std::vector<const mesh::MeshModel*>& far() const { return far_; }
  // A model that only other nodes have, by any of its names; nullptr: none, or more than one.
  const mesh::MeshModel* find_far(std::string_view name) const;

 private:
  fleet::MeshViewPtr view_;
  std::map<ModelName, const mesh::MeshModel*> own_;
  std::vector<const mesh::MeshModel*> far_;
};

// "mesh" of an open status: unloaded, loading, ready, needs_capacity or downloadable.
void write_mesh_status(json::Writer& out, const mesh::MeshModel& model);
// Field names and values of an entry: ours, or LM Studio's (lm_studio.h).
enum class EntryShape : std::uint8_t { own, lm_studio };
// A model that only other nodes have, as an entry with the members of local models.
void write_far_model(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model, EntryShape shape);

}  // namespace corral::api
