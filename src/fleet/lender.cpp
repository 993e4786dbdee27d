#include "fleet/lender.h"

#include "fleet/elsewhere.h"
#include "fleet/peer_answering.h"
#include "residency/errc.h"

namespace corral::fleet {
namespace {

// This machine has no room for it: others may. What ended processes here isn't taken there.
bool is_no_room(const Error& error) {
  using core = residency::errc;
  using load = backends::errc;
  return error.code == core::insufficient_memory || error.code == core::memory_in_use ||
         error.code == core::slots_pinned || error.code == core::queue_full || error.code == load::load_never_fits ||
         error.code == load::load_out_of_memory;
}

}  // namespace

router::Lease FleetLender::try_acquire(const models::ModelInfo& model, std::uint64_t context) {
  // One of that name may have come onto this machine's disk since: it is another model.
  if (far_model(model) != nullptr) return {};
  return local_.try_acquire(model, context);
}

async::Task<Result<router::Lease>> FleetLender::acquire(backends::ModelPtr model, router::ContextWish wish) {
  return far_model(*model) != nullptr ? far(std::move(model), std::move(wish))
                                      : here_or_far(std::move(model), std::move(wish));
}

async::Task<Result<router::Lease>> FleetLender::here_or_far(backends::ModelPtr model, router::ContextWish wish) {
  auto here = co_await local_.acquire(model, wish);
  if (here || !is_no_room(here.error())) co_return here;
  auto there = co_await far(std::move(model), std::move(wish));
  // What is short here is what the owner of this machine can do something about.
  if (!there) co_return here;
  co_return there;
}

async::Task<Result<router::Lease>> FleetLender::far(backends::ModelPtr model, router::ContextWish wish) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto call = co_await calls_.begin(std::move(model), wish, executor);
  if (!call) co_return std::unexpected(call.error());
  co_return router::Lease(std::make_shared<PeerAnswering>(std::move(*call), wish), [] {});
}

}  // namespace corral::fleet
