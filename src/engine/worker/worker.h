// A generating worker: its core with its decode thread. Other threads post commands to its box. start() and stop() once
// each, in this order.
#pragma once

#include <memory>
#include <thread>

#include "base/mutex.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {

class Worker {
 public:
  Worker(WorkerCore::Parts parts, WorkerOptions options);
  ~Worker();

  void start();
  // Ends all streams with `shutdown`, parks what is in cells and joins the thread.
  void stop();

  const std::shared_ptr<CommandBox>& box() const { return box_; }
  WorkerStats stats() const;
  // Generations that have started and not ended.
  InFlight& in_flight() { return in_flight_; }
  // Load for placement: generations in flight, plus recent failures in a row, since failing fast makes a broken worker
  // look idle.
  std::uint32_t load() const { return in_flight_.count() + core_.failed_in_row(); }

 private:
  void run();
  void publish();

  const std::shared_ptr<CommandBox> box_;
  WorkerCore core_;  // used by the thread while it runs
  InFlight in_flight_;

  mutable Mutex stats_mutex_;
  WorkerStats published_ GUARDED_BY(stats_mutex_);
  std::thread thread_;
};

}  // namespace corral::engine
