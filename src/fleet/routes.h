// The catalog of the mesh as requests use it: names of models that others have, and the node that a request goes to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.h"
#include "fleet/chooser.h"
#include "fleet/elsewhere.h"
#include "mesh/catalog/choice.h"
#include "mesh/catalog/route_memory.h"

namespace corral::fleet {

// find() on every thread, choose() on the mesh's loop.
class Routes final : public Elsewhere, public Chooser {
 public:
  // The newest catalog, from any thread; nullptr: no mesh.
  using Newest = std::function<std::shared_ptr<const mesh::Catalog>()>;
  // What is told of a model that fits nowhere that has it, and fits at these nodes (none: it fits nowhere); see
  // CopyBringer::bring(). On the mesh's loop. Empty: nothing is copied for requests.
  using Bring = std::function<std::optional<Error>(const mesh::Catalog&, const mesh::MeshModel&,
                                                   std::span<const mesh::NodeId> to)>;
  Routes(Newest newest, const Clock& clock, Bring bring = {})
      : newest_(std::move(newest)), clock_(clock), bring_(std::move(bring)) {}

  Result<models::Catalog::Model> find(std::string_view name) const override;
  // Where the conversation was before, if that can; and remembers where it went.
  Result<Chosen> choose(const Question& question) override;

 private:
  std::optional<Error> bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                             const mesh::Choice& choice) const;

  const Newest newest_;
  const Clock& clock_;
  const Bring bring_;
  mesh::RouteMemory memory_;
};

}  // namespace corral::fleet
