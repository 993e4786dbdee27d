// Free bytes of a disk, for a loop that must not wait for a disk that hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"

namespace corral::fleet {

// On one loop.
class FreeDisk {
 public:
  static constexpr Millis kPatience{250};
  // `ask` blocks on a thread of `disk`, and returns bytes. All outlive this object, and `disk` its work.
  FreeDisk(async::Executor executor, async::ThreadPool& disk, async::Timers& timers, std::function<std::uint64_t()> ask,
           Millis patience = kPatience)
      : disk_(disk), timers_(timers), ask_(std::move(ask)), patience_(patience), asking_(executor) {}

  // The current value. Without an answer within `patience`: the last value; 0 before the first. One query at a time, so
  // a disk that hangs gets no second one.
  async::Task<std::uint64_t> bytes();
  // Once.
  async::Task<void> stop();

 private:
  async::Task<void> ask();
  async::Task<bool> answered();

  async::ThreadPool& disk_;
  async::Timers& timers_;
  const std::function<std::uint64_t()> ask_;
  const Millis patience_;
  std::uint64_t bytes_ = 0;
  async::TaskGroup asking_;
};

}  // namespace corral::fleet
