// Waits for the next event, by any number of tasks of one loop. Has no memory: check the condition first, then wait,
// without a turn of the loop in between.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "async/timer.h"

namespace corral::mesh {

class Signal {
 public:
  explicit Signal(async::Executor executor) : wake_(executor, async::asio::steady_timer::time_point::max()) {}

  void raise() {
    ++raised_;
    wake_.cancel();
  }
  // The signal must outlive the waiting tasks.
  async::Task<bool> next() {
    const auto before = raised_;
    while (raised_ == before) co_await wake_.async_wait(async::as_value);
    co_return true;
  }

 private:
  using Timer = async::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                  async::asio::wait_traits<std::chrono::steady_clock>, async::Executor>;
  std::uint64_t raised_ = 0;
  Timer wake_;
};

}  // namespace corral::mesh
