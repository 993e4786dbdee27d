// For tests: chores that wait until the test does them.
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "engine/threads/chores.h"

namespace corral::engine::test {

class HeldChores final : public Chores {
 public:
  bool run(Chore chore) noexcept override {
    if (!takes) return false;
    chores.push_back(std::move(chore));
    return true;
  }
  void work() {
    for (Chore& chore : std::exchange(chores, {})) {
      try {
        chore();
      } catch (const std::exception&) {  // as the thread of chores does
      }
    }
  }

  std::vector<Chore> chores;
  bool takes = true;
};

}  // namespace corral::engine::test
