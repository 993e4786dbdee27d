#include "engine/schedule/prefill_thread.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/thread_priority.h"

namespace corral::engine {
namespace {

// The thread that sends the streams' tokens needs a core for a moment, too. If all cores compute, the lane yields, so
// that the steps of the streams stay even. Also applies to the compute threads that the lane starts.
constexpr int kNice = 5;

constexpr std::chrono::milliseconds kRetryAfter{20};

void report(const char* failure) noexcept {
  try {
    log::warning("engine", "the prefill lane failed, the prompt is computed in the passes: {}", failure);
  } catch (...) {  // then the log has no entry
  }
}

}  // namespace

PrefillThread::PrefillThread(LaneMemoryMaker make, std::function<void(PrefillResult)> deliver)
    : make_(std::move(make)), deliver_(std::move(deliver)) {}

PrefillThread::~PrefillThread() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PrefillThread::start(PrefillJob job) {
  bool started = false;
  {
    const MutexLock lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      job_ = std::move(job);
      stop_ = closed_;
    } catch (const std::system_error&) {  // too many threads: the prompt is computed in the passes
    }
    started = thread_.joinable();
  }
  if (!started) return deliver_({});
  changed_.notify_one();
}

PrefillResult PrefillThread::compute(PrefillJob job) noexcept {
  try {
    return run_prefill(std::move(job), make_, {.stop = stop_, .n_threads = n_threads_});
  } catch (const std::exception& failure) {
    report(failure.what());
  } catch (...) {
    report("an unknown exception");
  }
  return {};
}

// The worker waits for the result. If there is no memory to post it, its bytes are freed first.
void PrefillThread::hand_over(PrefillResult result) noexcept {
  for (;;) {
    try {
      return deliver_(std::exchange(result, {}));
    } catch (const std::exception& failure) {
      report(failure.what());
      std::this_thread::sleep_for(kRetryAfter);
    }
  }
}

void PrefillThread::run() {
  lower_priority(kNice);
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return job_ || closed_; });
    if (closed_) return;
    PrefillJob job = *std::exchange(job_, std::nullopt);
    lock.unlock();
    hand_over(compute(std::move(job)));
    lock.lock();
  }
}

}  // namespace corral::engine
