// For tests: chores that wait until the test does them.
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "engine/threads/background_executor.h"

namespace corral::engine::test {

class HeldExecutor final : public BackgroundExecutor {
 public:
  bool run(Chore chore) noexcept override {
    if (!takes) return false;
    executor.push_back(std::move(chore));
    return true;
  }
  void work() {
    for (Chore& chore : std::exchange(executor, {})) {
      try {
        chore();
      } catch (const std::exception&) {  // as the thread of chores does
      }
    }
  }

  std::vector<Chore> executor;
  bool takes = true;
};

}  // namespace corral::engine::test
