// For tests: runs background tasks when the test calls work().
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "engine/threads/background_executor.h"

namespace corral::engine::test {

class HeldExecutor final : public BackgroundExecutor {
 public:
  bool run(BackgroundTask task) noexcept override {
    if (!takes) return false;
    tasks.push_back(std::move(task));
    return true;
  }
  void work() {
    for (BackgroundTask& task : std::exchange(tasks, {})) {
      try {
        task();
      } catch (const std::exception&) {  // as BackgroundThread does
      }
    }
  }

  std::vector<BackgroundTask> tasks;
  bool takes = true;
};

}  // namespace corral::engine::test
