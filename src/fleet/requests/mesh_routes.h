// The catalog of the mesh for requests: names of models at other nodes, and node selection.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "fleet/base/remote_models.h"
#include "fleet/requests/node_selector.h"
#include "mesh/catalog/choice.h"
#include "mesh/catalog/route_memory.h"

namespace corral::fleet {

// find() on every thread, choose() on the mesh's loop.
class MeshRoutes final : public RemoteModels, public NodeSelector {
 public:
  // The newest catalog, from any thread; nullptr: no mesh.
  using Newest = std::function<std::shared_ptr<const mesh::Catalog>()>;
  MeshRoutes(Newest newest, const Clock& clock) : newest_(std::move(newest)), clock_(clock) {}

  Result<models::Catalog::Model> find(std::string_view name) const override;
  // Prefers the conversation's last node, if that can serve it; remembers the selected node.
  Result<SelectedNode> choose(const NodeQuery& query) override;

 private:
  const Newest newest_;
  const Clock& clock_;
  mesh::RouteMemory memory_;
};

}  // namespace corral::fleet
