#include "router/for_peers.h"

#include "residency/errc.h"

namespace corral::router {
namespace {

constexpr Millis kPatience{60'000};
constexpr Millis kLook{250};

}  // namespace

// One load for peers at a time, and who comes meanwhile is refused: the core keeps no queue for them.
async::Task<Result<Lease>> ForPeers::acquire(backends::ModelPtr model, ContextWish context) {
  context.origin = residency::Origin::peer;
  context.may_change = false;
  const auto until = timers_.now() + kPatience;
  while (true) {
    auto asking = router_.acquire(model, context);
    auto lease = co_await std::move(asking);
    const bool soon = !lease && lease.error().fact<residency::SoonHere>() != nullptr;
    if (!soon || !context.waits || timers_.now() >= until) co_return lease;
    auto pause = timers_.sleep_for(kLook);
    co_await std::move(pause);
  }
}

}  // namespace corral::router
