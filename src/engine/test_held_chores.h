// For tests: chores that wait until the test does them.
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
    executor.push_back(std::move(task));
    return true;
  }
  void work() {
    for (BackgroundTask& task : std::exchange(executor, {})) {
      try {
        task();
      } catch (const std::exception&) {  // as the thread of chores does
      }
    }
  }

  std::vector<BackgroundTask> executor;
  bool takes = true;
};

}  // namespace corral::engine::test
