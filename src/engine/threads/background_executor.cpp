#include "engine/threads/background_executor.h"

#include <exception>
#include <utility>

#include "base/log.h"

namespace corral::engine {
namespace {

void report(const char* failure) noexcept {
  try {
    log::warning("engine", "background task failed: {}", failure);
  } catch (...) {  // then the log has no entry
  }
}

// The exception barrier of the thread. The task is destroyed here too, with everything that it holds.
void carry_out(BackgroundExecutor::BackgroundTask task) noexcept {
  try {
    task();
  } catch (const std::exception& failure) {
    report(failure.what());
  } catch (...) {
    report("an unknown exception");
  }
}

}  // namespace

BackgroundThread::~BackgroundThread() {
  close();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

bool BackgroundThread::run(BackgroundTask task) noexcept {
  try {
    const MutexLock lock(mutex_);
    if (closed_ || tasks_.size() >= kMaxWaiting) return false;
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    tasks_.push_back(std::move(task));
  } catch (const std::exception& failure) {  // no thread, or no memory
    report(failure.what());
    return false;
  }
  changed_.notify_one();
  return true;
}

void BackgroundThread::work() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || !tasks_.empty(); });
    if (closed_) return;
    BackgroundTask task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    carry_out(std::move(task));
    lock.lock();
  }
}

}  // namespace corral::engine
