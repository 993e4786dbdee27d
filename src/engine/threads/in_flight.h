// Counts the running and queued work of one engine worker: enforces a limit, and waits for the end of the last one.
// Safe on every thread; tickets may outlive it.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace corral::engine {

class InFlight {
  struct State;

 public:
  // One unit of work, until release() or the end of the ticket.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(weight_, other.weight_);
      return *this;
    }
    ~Ticket() { release(); }

    void release() {
      if (const auto state = std::exchange(state_, nullptr)) state->leave(weight_);
    }

   private:
    friend class InFlight;
    Ticket(std::shared_ptr<State> state, std::uint64_t weight) : state_(std::move(state)), weight_(weight) {}
    std::shared_ptr<State> state_;
    std::uint64_t weight_ = 0;
  };

  enum class Refusal { full, closed };

  // Limits of their count and total weight. A new one is accepted while both are below their limit, whatever its own
  // weight.
  struct Limits {
    std::uint32_t count = 0xFFFFFFFF;
    std::uint64_t weight = ~std::uint64_t{0};
  };
  std::expected<Ticket, Refusal> enter(Limits limits, std::uint64_t weight) {
    const MutexLock lock(state_->mutex);
    if (state_->closed) return std::unexpected(Refusal::closed);
    if (state_->count >= limits.count || state_->weight >= limits.weight) return std::unexpected(Refusal::full);
    ++state_->count;
    state_->weight += weight;
    return Ticket(state_, weight);
  }
  std::expected<Ticket, Refusal> enter(std::uint32_t limit = 0xFFFFFFFF) { return enter({.count = limit}, 0); }
  // Of all that are in flight.
  std::uint64_t weight() const {
    const MutexLock lock(state_->mutex);
    return state_->weight;
  }
  std::uint32_t count() const {
    const MutexLock lock(state_->mutex);
    return state_->count;
  }
  // Refuses all further enter() calls.
  void close() {
    const MutexLock lock(state_->mutex);
    state_->closed = true;
  }
  bool closed() const {
    const MutexLock lock(state_->mutex);
    return state_->closed;
  }
  // Waits until nothing is in flight. False: something still is at the deadline.
  bool wait_until_empty(MonoTime deadline) const {
    MutexLock lock(state_->mutex);
    return state_->left.wait_until(lock, deadline, [this]() REQUIRES(state_->mutex) { return state_->count == 0; });
  }

 private:
  struct State {
    void leave(std::uint64_t weighed) {
      {
        const MutexLock lock(mutex);
        weight -= weighed;
        if (--count > 0) return;
      }
      left.notify_all();
    }

    Mutex mutex;
    Condition left;
    std::uint32_t count GUARDED_BY(mutex) = 0;
    std::uint64_t weight GUARDED_BY(mutex) = 0;
    bool closed GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace corral::engine
