// Notifies a task on its loop, from a decode thread, that there is something to read.
#pragma once

#include <memory>

#include <boost/asio/post.hpp>

#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"

namespace corral::engine_server {

// Lives on one loop. Wakers hold it weakly, so a late call finds nothing.
struct Signal {
  explicit Signal(async::Executor on) : executor(on), event(on) {}

  async::Executor executor;
  async::Event event;
  // For streams: time of the last event, and whether a ping is due.
  MonoTime last_sent{};
  bool ping_due = false;
};

// The waker of a handle, callable on any thread. The loop must outlive the engine: a call may still run after the
// waiter has left.
inline auto waker_of(const std::shared_ptr<Signal>& signal) {
  return [weak = std::weak_ptr(signal), executor = signal->executor] {
    async::asio::post(executor, [weak] {
      if (const auto alive = weak.lock()) alive->event.set();
    });
  };
}

}  // namespace corral::engine_server
