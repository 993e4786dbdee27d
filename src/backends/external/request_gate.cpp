#include "backends/external/request_gate.h"

#include <algorithm>

namespace corral::backends {

async::Task<RequestGate::Place> RequestGate::enter() {
  if (max_ == 0) co_return Place();
  const auto executor = co_await async::asio::this_coro::executor;
  const auto self = shared_from_this();
  std::shared_ptr<Waiter> waiter;
  {
    const MutexLock lock(mutex_);
    if (inside_ < max_) {
      ++inside_;
    } else {
      waiter = std::make_shared<Waiter>(executor);
      waiting_.push_back(waiter);
    }
  }
  if (!waiter) co_return Place(self);
  // A cancelled waiter leaves the queue, or passes on the place that it just got.
  struct InLine {
    RequestGate& gate;
    std::shared_ptr<Waiter> waiter;
    bool entered = false;
    ~InLine() {
      if (entered) return;
      bool had_place = false;
      {
        const MutexLock lock(gate.mutex_);
        had_place = waiter->let_in;
        if (!had_place) std::erase(gate.waiting_, waiter);
      }
      if (had_place) gate.leave();
    }
  };
  InLine line{*self, waiter};
  co_await waiter->may_enter.wait();
  line.entered = true;
  co_return Place(self);
}

void RequestGate::leave() {
  std::shared_ptr<Waiter> next;
  {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) {
      --inside_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
    next->let_in = true;
  }
  async::asio::post(next->executor, [next] { next->may_enter.set(); });
}

std::size_t RequestGate::inside() const {
  const MutexLock lock(mutex_);
  return inside_;
}

std::size_t RequestGate::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace corral::backends
