// Contexts: what conversations with models may have, and what a load must say so that a request has as much as it
// wants. On the home loop.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "router/core/core_driver.h"
#include "router/instances/memory_sampler.h"
#include "router/instances/process_manager.h"
#include "router/options/model_context.h"
#include "router/options/model_options.h"

namespace corral::router {

class ContextPlanner {
 public:
  // All must outlive it; `gauge` nullptr: nothing is known of memory.
  ContextPlanner(async::Timers& timers, CoreDriver& driver, const ProcessManager& processes,
                 const ModelOptions& options, MemorySampler* sampler)
      : timers_(timers), driver_(driver), processes_(processes), options_(options), sampler_(sampler) {}

  // Of these models, in their order: there, or as a load would give it now.
  async::Task<std::vector<ModelContext>> of(std::vector<backends::ModelPtr> models);
  // What is free now, for predicted().
  async::Task<void> refresh();
  // As a load with these options would give it. `comes_back`: bytes that whoever goes for it gives back.
  ModelContext predicted(const models::ModelInfo& model, const backends::LoadOptions& options,
                         std::uint64_t comes_back) const;
  // What a load must say so that a conversation may have `tokens`; nothing: what would be loaded anyway is enough.
  std::optional<OptionPatch> wish_for(const backends::ModelPtr& model, std::uint64_t tokens) const;
  // What a conversation has, or could have if the model were loaded as it was told to be.
  std::uint64_t most(const backends::ModelPtr& model) const;

 private:
  std::map<ModelType, std::uint64_t> comes_back() const;
  std::uint64_t by_itself(const backends::ModelPtr& model, const RunningInstance* running) const;

  async::Timers& timers_;
  CoreDriver& driver_;
  const ProcessManager& processes_;
  const ModelOptions& options_;
  MemorySampler* const sampler_;
  residency::MemorySampled free_;  // as of free_at_
  std::optional<MonoTime> free_at_;
};

}  // namespace corral::router
