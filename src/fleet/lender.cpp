#include "fleet/lender.h"

#include "fleet/elsewhere.h"
#include "fleet/errors.h"
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

// However long one waits.
bool never_has_room(const Error& error) {
  return error.code == residency::errc::insufficient_memory || error.code == backends::errc::load_never_fits;
}

}  // namespace

router::Lease FleetLender::try_acquire(const models::ModelInfo& model, std::uint64_t context) {
  // One of that name may have come onto this machine's disk since: it is another model.
  if (far_model(model) != nullptr) return {};
  return local_.try_acquire(model, context);
}

async::Task<Result<router::Lease>> FleetLender::acquire(backends::ModelPtr model, router::ContextWish wish) {
  return far_model(*model) != nullptr ? far(std::move(model), std::move(wish), true)
                                      : here_or_far(std::move(model), std::move(wish));
}

async::Task<Result<router::Lease>> FleetLender::here_or_far(backends::ModelPtr model, router::ContextWish wish) {
  auto here = co_await local_.acquire(model, wish);
  if (here || !is_no_room(here.error())) co_return here;
  auto asking = far(std::move(model), std::move(wish), never_has_room(here.error()));
  auto there = co_await std::move(asking);
  // What is short here is what the owner of this machine can do something about.
  if (there || there.error().code == errc::being_copied) co_return there;
  co_return here;
}

async::Task<Result<router::Lease>> FleetLender::far(backends::ModelPtr model, router::ContextWish wish, bool may_copy) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto call = co_await calls_.begin(std::move(model), wish, executor, may_copy);
  if (!call) co_return std::unexpected(call.error());
  co_return router::Lease(std::make_shared<PeerAnswering>(std::move(*call), wish), [] {});
}

}  // namespace corral::fleet
