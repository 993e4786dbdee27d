#include "engine/prefill_thread.h"

#include <utility>

namespace corral::engine {

PrefillThread::PrefillThread(LaneMemoryMaker make, std::function<void(PrefillResult)> deliver)
    : make_(std::move(make)), deliver_(std::move(deliver)) {}

PrefillThread::~PrefillThread() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PrefillThread::start(PrefillJob job) {
  {
    const std::scoped_lock lock(mutex_);
    job_ = std::move(job);
    stop_ = closed_;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void PrefillThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return job_ || closed_; });
    if (closed_) return;
    PrefillJob job = *std::exchange(job_, std::nullopt);
    lock.unlock();
    deliver_(run_prefill(std::move(job), make_, {.stop = stop_, .n_threads = n_threads_}));
    lock.lock();
  }
}

}  // namespace corral::engine
