// The models that other nodes have, for those who look models up by name: the seam between the API and the mesh. Where
// there is no mesh there is no Elsewhere, and everything is as it was.
//
// Names: what this node has on disk goes before everything; whoever looks a name up asks its own disk first. A name
// that means different contents at other nodes finds nothing but the names that tell them apart (`name@hash8`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "models/catalog.h"

namespace corral::fleet {

// The recipe of models that are elsewhere: no backend here makes servers of it.
inline constexpr std::string_view kFarRecipe = "mesh";

// A model that this node doesn't have. `recipe` is kFarRecipe, `paths` and `mmproj` are empty; all the rest is as the
// nodes that have it say. Immutable; shared between threads.
struct FarModel final : models::ModelInfo {
  std::string content;       // SHA-256 of its files in hexadecimal digits; empty: not computed yet
  std::string recipe_there;  // what serves it at the nodes that have it
};

// The same model as one that is elsewhere; nullptr: it is one of this node's own.
inline const FarModel* far_model(const models::ModelInfo& model) {
  return model.recipe == kFarRecipe ? static_cast<const FarModel*>(&model) : nullptr;
}

// One model of the whole mesh, this node's own among them.
struct Listed {
  models::Catalog::Model model;      // a FarModel, unless this node has it on disk
  std::string status;                // unloaded, loading, ready, needs_capacity, downloadable
  std::vector<std::string> on_disk;  // names of the nodes that have its files
  std::vector<std::string> serving;  // names of the nodes that have it in memory
  std::string host;                  // of these, the one that requests go to; empty: none
};

// Safe on every thread: it answers from one immutable picture, and waits for nothing.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  // By name, alias, or name@hash8. Errors: ambiguous_model, whose message lists the names that tell them apart;
  // models::errc::model_not_found. Error::param is "model".
  virtual Result<models::Catalog::Model> find(std::string_view name) const = 0;
  // Everything, sorted by name.
  virtual std::vector<Listed> list() const = 0;
};

}  // namespace corral::fleet
