// Models of the mesh in lists of models: what a list says of this node's own beside the rest, and those that only
// others have.
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
  // nullptr: there is no mesh, and nothing is said of it.
  explicit MeshModels(fleet::MeshViewPtr view);

  bool in_mesh() const { return view_ != nullptr; }
  const fleet::MeshView& view() const { return *view_; }
  // This node's own model of that name; nullptr: the mesh doesn't know it yet.
  const mesh::MeshModel* own(const ModelName& name) const;
  // Those that only others have, sorted by name.
  const std::vector<const mesh::MeshModel*>& far() const { return far_; }
  // One that only others have, by any of its names; nullptr: none, or not one.
  const mesh::MeshModel* find_far(std::string_view name) const;

 private:
  fleet::MeshViewPtr view_;
  std::map<ModelName, const mesh::MeshModel*> own_;
  std::vector<const mesh::MeshModel*> far_;
};

// "mesh" of an open status: unloaded, loading, ready, needs_capacity or downloadable.
void write_mesh_status(json::Writer& out, const mesh::MeshModel& model);
// Whose words an entry has for what is otherwise called the same: ours, or LM Studio's (lm_studio.h).
enum class EntryShape : std::uint8_t { own, lm_studio };
// A model that only others have, as an entry of its own, with the members that local ones have.
void write_far_model(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model, EntryShape shape);

}  // namespace corral::api
