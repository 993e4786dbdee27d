// Models that requests need at a node that could load them and hasn't got them: has them copied there, and says how
// that goes. One copy of a model at a time in the whole mesh, as far as this node knows; a node that refused, or where
// a copy failed, isn't asked again for a while. The client isn't kept waiting for gigabytes: it is told when to come
// back.
//
// Belongs to the loop of the mesh.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "async/task_group.h"
#include "async/timer.h"
#include "fleet/copy_view.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

class CopyBringer {
 public:
  static constexpr Millis kRest{600'000};      // of a node that refused
  static constexpr Millis kShortRest{30'000};  // of one that gave no answer, or has other copies to make
  static constexpr Millis kShown{15'000};      // within this time a node that was asked says that it copies
  static constexpr std::size_t kMost = 64;     // orders, and refusals, that are remembered

  // Orders a copy at that node, which may be this one.
  using Order = std::function<async::Task<Result<CopyView>>(mesh::NodeId node, Sha256 content)>;
  CopyBringer(async::Executor executor, async::Timers& timers, Order order)
      : timers_(timers), order_(std::move(order)), tasks_(executor) {}

  // What the client is told: that the model is on its way, or why it isn't. `to`: nodes that could load it, the best
  // first; may be empty. A copy that is made there, or anywhere for a request, isn't ordered again. Nothing: no copy is
  // under way, and nobody can have one.
  std::optional<Error> bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                             std::span<const mesh::NodeId> to);
  async::Task<void> stop();

 private:
  struct Ordered {
    mesh::NodeId to;
    MonoTime until{};  // then it must have shown
    std::optional<CopyView> answer;
  };
  struct Refused {
    MonoTime until{};
    std::error_code why;
  };
  async::Task<void> ask(mesh::NodeId node, Sha256 content);
  void forget_old();

  async::Timers& timers_;
  const Order order_;
  std::map<Sha256, Ordered> orders_;
  std::map<std::pair<Sha256, mesh::NodeId>, Refused> refused_;
  async::TaskGroup tasks_;
};

// "'m' is being copied to box: 42 %, about 40 s left", with retry_after. `copy` empty: it was only just ordered.
Error being_copied(const std::string& model, const std::string& node, const std::optional<CopyView>& copy);

}  // namespace corral::fleet
