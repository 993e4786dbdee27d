// The catalog of the mesh as requests use it: names of models that others have, and the node that a request goes to.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "fleet/base/elsewhere.h"
#include "fleet/requests/chooser.h"
#include "mesh/catalog/choice.h"
#include "mesh/catalog/route_memory.h"

namespace corral::fleet {

// find() on every thread, choose() on the mesh's loop.
class Routes final : public Elsewhere, public Chooser {
 public:
  // The newest catalog, from any thread; nullptr: no mesh.
  using Newest = std::function<std::shared_ptr<const mesh::Catalog>()>;
  Routes(Newest newest, const Clock& clock) : newest_(std::move(newest)), clock_(clock) {}

  Result<models::Catalog::Model> find(std::string_view name) const override;
  // Where the conversation was before, if that can; and remembers where it went.
  Result<Chosen> choose(const Question& question) override;

 private:
  const Newest newest_;
  const Clock& clock_;
  mesh::RouteMemory memory_;
};

}  // namespace corral::fleet
