// What the core is told of memory: samples, and what a load will take. On the home loop.
#pragma once

#include "async/task_group.h"
#include "router/core/core_driver.h"
#include "router/instances/memory_sampler.h"
#include "router/instances/running_instance.h"

namespace corral::router {

class MemoryReporter {
 public:
  // `gauge` nullptr: nothing is known of memory, and no rule of it applies.
  MemoryReporter(async::Executor home, CoreDriver& driver, MemorySampler* sampler)
      : driver_(driver), sampler_(sampler), tasks_(home) {}

  void on(const residency::SampleMemory& action);
  void on(const residency::WatchMemory& action);

  // Fills in where the load will compute and what it will take, as far as that matters.
  async::Task<void> look_at(LoadSpec& spec);

  async::Task<void> stop();
  std::size_t tasks() const { return tasks_.running(); }

 private:
  async::Task<void> sample();
  async::Task<residency::MemoryUse> memory_of(const LoadSpec& spec);

  CoreDriver& driver_;
  MemorySampler* const sampler_;
  async::TaskGroup tasks_;
};

}  // namespace corral::router
