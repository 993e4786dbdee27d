// Carries "there is something to read" from a decode thread to a task on its loop.
#pragma once

#include <memory>

#include <boost/asio/post.hpp>

#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"

namespace corral::engine_server {

// Lives on one loop; shared with whatever may still wake it. Wakers hold it weakly, so a late call finds nothing.
struct Signal {
  explicit Signal(async::Executor on) : executor(on), event(on) {}

  async::Executor executor;
  async::Event event;
  // For streams: when something was last sent, and whether a sign of life is due.
  MonoTime last_sent{};
  bool ping_due = false;
};

// What a handle calls on any thread. The loop must outlive the engine: a call may be under way after the waiter left.
inline auto waker_of(const std::shared_ptr<Signal>& signal) {
  return [weak = std::weak_ptr(signal), executor = signal->executor] {
    async::asio::post(executor, [weak] {
      if (const auto alive = weak.lock()) alive->event.set();
    });
  };
}

}  // namespace corral::engine_server
