// Lookup by name of the models that other nodes have: the interface between API and mesh. Outside a mesh there is no
// RemoteModels.
//
// Models on this node's disk have priority; callers look up the disk first. If a name means different contents at other
// nodes, the lookup fails and lists the unambiguous names (`name@hash8`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mesh/catalog/catalog.h"
#include "models/catalog.h"

namespace corral::fleet {

// A model of other nodes; its type distinguishes it from models of this disk. `recipe` is "mesh", for display: no
// backend here starts instances of it. `paths` and `mmproj` are empty; all other fields are as the nodes with the model
// announce them. Immutable; shared between threads.
struct RemoteModel final : models::ModelInfo {
  RemoteModel() { recipe = "mesh"; }

  mesh::ContentKey content;  // requests for the model go to nodes with this content, even if its name changes meaning
  std::string here_as;       // this node's name of the model; empty: this node doesn't have it
  std::vector<std::string> at;  // names of the other nodes with the model
};

// The same model as a remote one; nullptr: it is a local model.
inline const RemoteModel* as_remote_model(const models::ModelInfo& model) {
  return dynamic_cast<const RemoteModel*>(&model);
}

inline bool is_remote(const models::ModelInfo& model) { return as_remote_model(model) != nullptr; }

// Safe on every thread: answers come from an immutable snapshot, without waiting.
class RemoteModels {
 public:
  virtual ~RemoteModels() = default;
  // Finds a RemoteModel by name, alias, or name@hash8. Errors: ambiguous_model, whose message lists the unambiguous
  // names; out_of_reach; models::errc::model_not_found. Error::param is "model".
  virtual Result<models::Catalog::Model> find(std::string_view name) const = 0;
};

}  // namespace corral::fleet
