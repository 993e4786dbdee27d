// Measures the memory for models on every device: once, or repeatedly while it is watched.
//
// RAM is read on demand. GPUs are read outside of the loop: a driver that fails or does not respond is left out of the
// samples, with a line in the log, and retried with growing pauses. Without a sample or watch nothing runs.
//
// Lives on one loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "device/pool_source.h"
#include "device/ram.h"
#include "proc/child.h"

namespace corral::device {

struct MemoryMonitorOptions {
  RamOptions ram = {};
  // Longest wait of a sample for GPUs; a late GPU keeps its last values until its own deadline.
  Millis patience{250};
  // Pauses after a failure: the first one, doubled each time up to the last. A missing driver or device is retried
  // after the last one.
  Millis first_pause{1'000};
  Millis last_pause{300'000};
};

using PoolSources = std::vector<std::unique_ptr<PoolSource>>;

// Sources for the GPUs of this machine: NVIDIA (library or program) and AMD. `timers` and `spawner` must outlive them.
PoolSources gpu_sources(async::Executor home, async::Timers& timers, proc::Spawner& spawner);

class MemoryMonitor {
 public:
  using OnSample = std::function<void(const MemoryPools&)>;

  // `timers` must outlive it.
  MemoryMonitor(async::Executor home, async::Timers& timers, MemoryMonitorOptions options, PoolSources gpus);

  // Takes some ten microseconds.
  MemoryPool ram() const { return read_ram(options_.ram); }
  // All pools, "ram" first.
  async::Task<MemoryPools> sample();
  // Waits until every source has answered or failed once, which takes at most the sources' own deadlines. A GPU that
  // wakes up may need seconds, longer than the patience of a sample.
  async::Task<void> first_answers();

  // Samples now and `interval` after the end of each sample, until unwatch() or another watch(). `on_sample` may call
  // both.
  void watch(Millis interval, OnSample on_sample);
  void unwatch();
  bool watching() const { return watching_; }

  // Ends running samples. Call once, before the loop ends.
  async::Task<void> stop();

 private:
  struct Gpus {
    explicit Gpus(std::unique_ptr<PoolSource> from) : source(std::move(from)) {}
    const std::unique_ptr<PoolSource> source;
    MemoryPools pools;  // of the last result; empty after a failure
    bool asked = false;
    bool answered = false;  // or failed, once
    unsigned failures = 0;  // in a row
    MonoTime next{};        // not asked before
  };

  void ask_all();
  async::Task<void> ask(Gpus* gpus);
  void failed(Gpus& gpus, const Error& error);
  async::Task<bool> all_answered();
  async::Task<void> keep_sampling(Millis interval, OnSample on_sample);

  async::Timers& timers_;
  const MemoryMonitorOptions options_;
  std::vector<std::unique_ptr<Gpus>> gpus_;
  std::size_t asked_ = 0;  // of gpus_
  async::Event quiet_;     // none is asked
  async::Event answered_;  // all of gpus_ have answered or failed once
  bool watching_ = false;
  async::TaskGroup watch_;
  async::TaskGroup questions_;
};

}  // namespace corral::device
