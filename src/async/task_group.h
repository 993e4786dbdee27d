// Owns tasks that run beside their creator: nothing is detached. Only for use on its loop.
#pragma once

#include <memory>

#include "async/task.h"

namespace corral::async {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  // Cancels what still runs. The tasks unwind on the loop soon after, so what they refer to must outlive join().
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` now. An exception that leaves it is logged with `name` (cancellation isn't).
  void spawn(const char* name, Task<void> task);
  // Cancels every running task.
  void cancel();
  // Waits until no task runs. Cancelling the waiter leaves the tasks alone.
  Task<void> join();
  std::size_t running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace corral::async
