#include "fleet/requests/mesh_lease_provider.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/base/errors.h"
#include "fleet/base/remote_models.h"
#include "fleet/requests/peer_upstream.h"
#include "residency/errors.h"

namespace corral::fleet {
namespace {

// This machine has no capacity for the model, but other nodes may have. A request that ended processes here isn't sent
// to them.
bool is_no_room(const Error& error) {
  using core = residency::errc;
  using load = backends::errc;
  return error.code == core::insufficient_memory || error.code == core::memory_in_use ||
         error.code == core::slots_pinned || error.code == core::queue_full || error.code == load::load_never_fits ||
         error.code == load::load_out_of_memory || error.code == errc::nowhere;
}

// A model that is going to be split gets its plan within this time: all nodes need to see the demand, and a line of an
// allocation must be the same for a while (Allotter::kSettle).
constexpr Millis kPlan{10'000};
constexpr Millis kLook{250};
// A node that did not have the model may have it again after this time: the next group may have the same host.
constexpr Millis kAbsent{1'000};
constexpr std::chrono::seconds kAgain{5};

// The known host of its group has refused the request. A node that only doesn't have the model now was its host: the
// next one is known soon.
bool has_refused(const SplitStatus& status, const router::LeaseRequest& request) {
  if (!status.host) return false;
  const auto& avoid = request.nodes.avoid;
  return std::ranges::find(avoid, router::NodeRef(mesh::to_text(*status.host))) != avoid.end();
}

// Errors that concern one node's memory, which says nothing about a group of nodes: they aren't final.
bool is_of_one_node(const Error& error) { return error.code != errc::nowhere || !error.memory.empty(); }

// Adds what is short, if no group can hold the model either. A model that a group holds, or is going to, is never
// answered as too large.
Error with_words(const Error& error, const std::optional<SplitStatus>& status, const models::ModelInfo& model) {
  if (status && status->state != SplitStatus::State::unavailable && is_of_one_node(error)) {
    Error explained(make_error_code(errc::nowhere),
                    fmt::format("'{}' is split over several nodes, and its group isn't ready yet", model.name.value()));
    explained.retry_after = kAgain;
    return explained;
  }
  if (!status || status->state != SplitStatus::State::unavailable || status->why.empty()) return error;
  Error explained(make_error_code(errc::nowhere),
                  fmt::format("no node or group of the mesh can serve '{}' now: {}", model.name.value(), status->why));
  explained.retry_after = error.retry_after.value_or(std::chrono::seconds(15));
  explained.memory = error.memory;
  if (status->need > 0) explained.memory = {{"mesh", status->need, status->have}};
  return explained;
}

}  // namespace

router::Lease MeshLeaseProvider::try_acquire(const models::ModelInfo& model, std::uint64_t context) {
  // This disk may have got a model of that name meanwhile: it is another model.
  if (is_remote(model)) return {};
  return local_.try_acquire(model, context);
}

async::Task<Result<router::Lease>> MeshLeaseProvider::acquire(backends::ModelPtr model, router::LeaseRequest request) {
  return is_remote(*model) ? far_or_soon(std::move(model), std::move(request))
                           : here_or_far(std::move(model), std::move(request));
}

async::Task<Result<router::Lease>> MeshLeaseProvider::here_or_far(backends::ModelPtr model,
                                                                  router::LeaseRequest request) {
  for (bool again = false;; again = true) {
    auto here = co_await local_.acquire(model, request);
    if (here || !is_no_room(here.error())) co_return here;
    auto asking = far_or_soon(model, request);
    auto there = co_await std::move(asking);
    if (there) co_return there;
    const auto status = splits_.find(*model);
    // A group with this node as host has started meanwhile.
    if (!again && status && status->is_here() && here.error().code != errc::nowhere) continue;
    // The local error comes first: the owner of this machine can act on it.
    co_return std::unexpected(with_words(here.error(), status, *model));
  }
}

async::Task<Result<router::Lease>> MeshLeaseProvider::far_or_soon(backends::ModelPtr model,
                                                                  router::LeaseRequest request) {
  const auto begun = timers_.now(), until = begun + kPlan;
  std::shared_ptr<void> place, asked;
  while (true) {
    auto asking = far(model, request);
    auto there = co_await std::move(asking);
    if (there || there.error().code != errc::nowhere) co_return there;
    const auto status = splits_.find(*model);
    const bool coming = status && status->state == SplitStatus::State::coming && !has_refused(*status, request) &&
                        timers_.now() < until;
    if (coming && !place) {
      place = splits_.wait();
      // Members lend memory by demand, so a waiting request counts as demand.
      if (place) asked = demand_.wait(model->name);
    }
    if (!coming || !place) co_return std::unexpected(with_words(there.error(), status, *model));
    auto pause = timers_.sleep_for(kLook);
    co_await std::move(pause);
    if (timers_.now() >= begun + kAbsent) request.nodes.absent.clear();
  }
}

async::Task<Result<router::Lease>> MeshLeaseProvider::far(backends::ModelPtr model, router::LeaseRequest request) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto call = co_await calls_.begin(std::move(model), request, executor);
  if (!call) co_return std::unexpected(call.error());
  co_return router::Lease(std::make_shared<PeerUpstream>(std::move(*call), request), [] {});
}

}  // namespace corral::fleet
