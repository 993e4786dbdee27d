// A prefill lane with its own thread.
#pragma once

#include <optional>
#include <thread>

#include "base/mutex.h"
#include "engine/schedule/prefill_lane.h"

namespace corral::engine {

// The thread starts with the first job. If it can't be started, or an exception occurs on it, the result of the job is
// empty. start(), stop() and set_threads() on any thread; the destructor stops and joins.
class PrefillThread final : public PrefillLane {
 public:
  // `deliver` gets every result, on the lane's thread.
  PrefillThread(LaneMemoryMaker make, std::function<void(PrefillResult)> deliver);
  ~PrefillThread() override;

  void start(PrefillJob job) override;
  void stop() override { stop_ = true; }
  void set_threads(std::int32_t n_threads) override { n_threads_ = n_threads; }

 private:
  void run();
  PrefillResult compute(PrefillJob job) noexcept;
  void hand_over(PrefillResult result) noexcept;

  const LaneMemoryMaker make_;
  const std::function<void(PrefillResult)> deliver_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int32_t> n_threads_ = 1;
  Mutex mutex_;
  Condition changed_;
  std::optional<PrefillJob> job_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
