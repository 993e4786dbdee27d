// Runs calls into a driver on a thread of its own. A driver may be slow or never return: a late call stays on its
// thread, and no other call starts before it returns. The destructor does not join this thread, as the only one in the
// program.
//
// Belongs to one loop; destroy it there, before the loop. One caller at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "async/event.h"
#include "async/timer.h"

namespace corral::device {

class DriverThread {
 public:
  // `timers` must outlive it.
  DriverThread(async::Executor home, async::Timers& timers);
  ~DriverThread();
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;

  // The result of `work`, which must own what it uses and must not throw. None if `work`, or a call before it, has not
  // returned after `limit`. Cancelling the task does not stop the call.
  template <typename Work, typename R = std::invoke_result_t<Work>>
  async::Task<std::optional<R>> run(Millis limit, Work work) {
    auto result = std::make_shared<std::optional<R>>();
    auto calling = call([result, work = std::move(work)]() mutable { result->emplace(work()); });
    const auto done = co_await async::with_timeout(timers_, limit, std::move(calling));
    co_return done.value_or(false) ? std::move(*result) : std::nullopt;
  }

  // A call hasn't returned yet.
  bool busy() const { return last_ && !last_->is_set(); }

 private:
  struct State;
  // False if no thread can be started.
  async::Task<bool> call(std::move_only_function<void()> work);

  async::Timers& timers_;
  const std::shared_ptr<State> state_;  // shared with the thread
  std::shared_ptr<async::Event> last_;  // set when the latest call has returned; owned by the loop only
};

}  // namespace corral::device
