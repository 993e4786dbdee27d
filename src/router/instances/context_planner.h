// Contexts: the possible context of a conversation with a model, and the load options that give a request enough
// context. On the home loop.
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
  // All must outlive it; `sampler` nullptr: free memory is unknown.
  ContextPlanner(async::Timers& timers, CoreDriver& driver, const ProcessManager& processes,
                 const ModelOptions& options, MemorySampler* sampler)
      : timers_(timers), driver_(driver), processes_(processes), options_(options), sampler_(sampler) {}

  // The contexts of these models, in their order: of the loaded model, or as a load would give it now.
  async::Task<std::vector<ModelContext>> of(std::vector<backends::ModelPtr> models);
  // The projectors of these models, in their order: of the loaded model, or of a load.
  async::Task<std::vector<Projector>> projectors(std::vector<backends::ModelPtr> models);
  // Samples the free memory, for predicted().
  async::Task<void> refresh();
  // The context after a load with these options. `comes_back`: bytes that the victim frees.
  ModelContext predicted(const models::ModelInfo& model, const backends::LoadOptions& options,
                         std::uint64_t comes_back) const;
  // The options of a load that gives a conversation `tokens`; empty: the usual load is enough.
  std::optional<OptionPatch> patch_for(const backends::ModelPtr& model, std::uint64_t tokens) const;
  // The largest context: that of the loaded model, or of a load with its last requested options.
  std::uint64_t max(const backends::ModelPtr& model) const;

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
