#include "router/peer_lease_provider.h"

#include <optional>

#include "residency/errors.h"

namespace corral::router {
namespace {

constexpr Millis kPatience{60'000};
constexpr Millis kLook{250};
// A waiting request uses a part of its node's limit here, which the node's other requests need as well.
constexpr std::size_t kMaxWaiting = 8;

}  // namespace

class PeerLeaseProvider::Waiting {
 public:
  Waiting(PeerLeaseProvider& provider, NodeRef peer) : provider_(provider), peer_(std::move(peer)) {
    const MutexLock lock(provider_.mutex_);
    may_ = provider_.waiting_[peer_] < kMaxWaiting;
    if (may_) ++provider_.waiting_[peer_];
  }
  ~Waiting() {
    if (!may_) return;
    const MutexLock lock(provider_.mutex_);
    const auto entry = provider_.waiting_.find(peer_);
    if (--entry->second == 0) provider_.waiting_.erase(entry);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  bool may() const { return may_; }

 private:
  PeerLeaseProvider& provider_;
  const NodeRef peer_;
  bool may_ = false;
};

// The core queues no loads for peers, so refused requests retry here.
async::Task<Result<Lease>> PeerLeaseProvider::acquire(backends::ModelPtr model, LeaseRequest request) {
  request.requester.origin = residency::RequestOrigin::peer;
  request.context.may_reload = false;
  const auto until = timers_.now() + kPatience;
  std::optional<Waiting> waiting;
  while (true) {
    auto asking = router_.acquire(model, request);
    auto lease = co_await std::move(asking);
    const bool soon = !lease && lease.error().fact<residency::SoonHere>() != nullptr;
    if (!soon || !request.requester.waits || timers_.now() >= until) co_return lease;
    if (!waiting) waiting.emplace(*this, request.requester.peer);
    if (!waiting->may()) co_return lease;
    auto pause = timers_.sleep_for(kLook);
    co_await std::move(pause);
  }
}

}  // namespace corral::router
