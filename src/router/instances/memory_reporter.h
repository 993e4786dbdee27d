// Reports memory to the core: samples, and the predicted need of loads. On the home loop.
#pragma once

#include "async/task_group.h"
#include "router/core/core_driver.h"
#include "router/instances/memory_sampler.h"
#include "router/instances/running_instance.h"
#include "router/options/model_options.h"

namespace corral::router {

class MemoryReporter {
 public:
  // `sampler` nullptr: free memory is unknown, and no rule of memory applies.
  MemoryReporter(async::Executor home, CoreDriver& driver, const ModelOptions& options, MemorySampler* sampler)
      : driver_(driver), options_(options), sampler_(sampler), tasks_(home) {}

  void on(const residency::SampleMemory& action);
  void on(const residency::WatchMemory& action);

  // nullptr: free memory is unknown.
  MemorySampler* sampler() const { return sampler_; }

  // Fills in the device of the load and its memory need, if they matter.
  async::Task<void> look_at(LoadSpec& spec);

  async::Task<void> stop();
  std::size_t tasks() const { return tasks_.running(); }

 private:
  async::Task<void> sample();
  async::Task<residency::MemoryUse> memory_of(const LoadSpec& spec);

  CoreDriver& driver_;
  const ModelOptions& options_;
  MemorySampler* const sampler_;
  async::TaskGroup tasks_;
};

}  // namespace corral::router
