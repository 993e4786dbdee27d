// The models that other nodes have, for those who look models up by name: the seam between the API and the mesh. Where
// there is no mesh there is no RemoteModels, and everything is as it was.
//
// Names: what this node has on disk goes before everything; whoever looks a name up asks its own disk first. A name
// that means different contents at other nodes finds nothing but the names that tell them apart (`name@hash8`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mesh/catalog/catalog.h"
#include "models/catalog.h"

namespace corral::fleet {

// A model that other nodes have, told from those of this node's disk by its type. `recipe` is "mesh", for people: no
// backend here makes servers of it. `paths` and `mmproj` are empty; all the rest is as the nodes say that have it.
// Immutable; shared between threads.
struct RemoteModel final : models::ModelInfo {
  RemoteModel() { recipe = "mesh"; }

  mesh::ContentKey content;     // requests for it go to nodes that have this, whatever its name comes to mean
  std::string here_as;          // this node has it, too: its name here; empty: it hasn't
  std::vector<std::string> at;  // names of the other nodes that have it
};

// The same model as a remote one; nullptr: it is one of this node's own.
inline const RemoteModel* as_remote_model(const models::ModelInfo& model) {
  return dynamic_cast<const RemoteModel*>(&model);
}

inline bool is_remote(const models::ModelInfo& model) { return as_remote_model(model) != nullptr; }

// Safe on every thread: it answers from one immutable picture, and waits for nothing.
class RemoteModels {
 public:
  virtual ~RemoteModels() = default;
  // By name, alias, or name@hash8: a RemoteModel. Errors: ambiguous_model, whose message lists the names that tell them
  // apart; out_of_reach; models::errc::model_not_found. Error::param is "model".
  virtual Result<models::Catalog::Model> find(std::string_view name) const = 0;
};

}  // namespace corral::fleet
