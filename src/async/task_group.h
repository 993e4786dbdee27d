// Owns tasks that run concurrently with their creator: none is detached. Use it only on its loop.
#pragma once

#include <memory>

#include "async/task.h"

namespace corral::async {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  // Cancels the running tasks. They unwind on the loop soon after, so objects that they refer to must outlive join().
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` now. An exception of the task is logged with `name` (a cancellation isn't).
  void spawn(const char* name, Task<void> task);
  // Cancels every running task.
  void cancel();
  // Waits until no task runs. Cancelling the waiter doesn't affect the tasks.
  Task<void> join();
  std::size_t running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace corral::async
