// For tests: holds the decode thread of an engine still between two passes, so that order can be tested without a
// clock.
#pragma once

#include <algorithm>
#include <functional>
#include <semaphore>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/service/inference_engine.h"

namespace corral::engine::test {

using Views = std::vector<SessionView>;

inline SessionView view_of(const Views& views, SessionId id) {
  const auto found = std::ranges::find(views, id, &SessionView::id);
  return found == views.end() ? SessionView() : *found;
}

// Looks at the sessions of an engine with one worker once in each of its rounds, from construction on, and stops the
// thread in the first round in which `when` holds. It does so by a listing that isn't taken, which sessions() forbids.
class HeldWorker {
 public:
  explicit HeldWorker(const InferenceEngine& engine, std::function<bool(const Views&)> when = {})
      : engine_(engine), when_(std::move(when)) {
    look();
  }
  ~HeldWorker() { let_go(); }

  // Lets the worker continue; once.
  void let_go() {
    if (std::exchange(gone_, true)) return;
    views();
    free_.release();
    left_.acquire();
  }

  // Waits until the worker is stopped; returns the views of that time.
  const Views& views() {
    if (!std::exchange(stands_, true)) held_.acquire();
    return views_;
  }

 private:
  void look() {
    engine_.sessions([this](Views views) {
      if (when_ && !when_(views)) return look();
      views_ = std::move(views);
      held_.release();
      free_.acquire();
      left_.release();
    });
  }

  const InferenceEngine& engine_;
  const std::function<bool(const Views&)> when_;
  Views views_;
  std::binary_semaphore held_{0}, free_{0}, left_{0};
  bool stands_ = false;
  bool gone_ = false;
};

}  // namespace corral::engine::test
