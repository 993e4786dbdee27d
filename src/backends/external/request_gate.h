// Limits simultaneous requests over all loops; others wait in order of arrival. Safe on every thread; waiters wait on
// their own loop and may be cancelled.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "async/event.h"
#include "async/task.h"
#include "base/mutex.h"

namespace corral::backends {

class RequestGate : public std::enable_shared_from_this<RequestGate> {
 public:
  // One admitted request. Its destruction admits the next one.
  class Place {
   public:
    Place() = default;
    explicit Place(std::shared_ptr<RequestGate> gate) : gate_(std::move(gate)) {}
    Place(Place&& other) noexcept : gate_(std::move(other.gate_)) {}
    Place& operator=(Place&& other) noexcept {
      give_back();
      gate_ = std::move(other.gate_);
      return *this;
    }
    ~Place() { give_back(); }
    void give_back() {
      if (auto gate = std::exchange(gate_, nullptr)) gate->leave();
    }

   private:
    std::shared_ptr<RequestGate> gate_;
  };

  // `max` 0: no limit.
  static std::shared_ptr<RequestGate> make(std::uint32_t max) {
    return std::shared_ptr<RequestGate>(new RequestGate(max));
  }

  async::Task<Place> enter();
  // For tests: admitted, and waiting.
  std::size_t inside() const;
  std::size_t waiting() const;

 private:
  struct Waiter {
    Waiter(async::Executor on) : executor(on), may_enter(on) {}
    const async::Executor executor;
    async::Event may_enter;
    bool let_in = false;
  };

  explicit RequestGate(std::uint32_t max) : max_(max) {}
  void leave();

  const std::uint32_t max_;
  mutable Mutex mutex_;  // held for one step in the queue
  std::uint32_t inside_ GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<Waiter>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace corral::backends
