#include "engine/prefill_thread.h"

#include <utility>

#include <sys/resource.h>

namespace corral::engine {
namespace {

// Who sends the streams' tokens needs a core for a moment, too, and where both are computing it is taken from one of
// them: from the lane, so that the streams' steps stay even. Also for the compute threads that the lane starts.
constexpr int kNice = 5;

void step_back() {
#ifdef __linux__
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread only; elsewhere it would be the process
#endif
}

}  // namespace

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
  step_back();
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
