#include "engine/worker/worker.h"

#include <utility>

namespace corral::engine {

Worker::Worker(WorkerCore::Parts parts, WorkerOptions options)
    : box_(parts.box), core_(std::move(parts), options), published_(core_.stats()) {}

Worker::~Worker() { stop(); }

void Worker::start() {
  thread_ = std::thread([this] { run(); });
}

void Worker::stop() {
  box_->close();
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  bool idle = true;
  while (core_.take_commands(idle)) {
    idle = !core_.round();
    publish();
  }
  core_.shut_down();
  publish();
}

void Worker::publish() {
  const MutexLock lock(stats_mutex_);
  published_ = core_.stats();
}

WorkerStats Worker::stats() const {
  const MutexLock lock(stats_mutex_);
  return published_;
}

}  // namespace corral::engine
