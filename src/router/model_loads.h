// Loads, unloads and pins of models by hand, and their options. Belongs to the home loop.
#pragma once

#include <optional>

#include "router/instances/context_planner.h"
#include "router/keep_alive.h"
#include "router/options/model_options.h"
#include "router/reports.h"

namespace corral::router {

class ModelLoads {
 public:
  // All must outlive it.
  struct Parts {
    CoreDriver& driver;
    const ProcessManager& processes;
    ModelOptions& options;
    ContextPlanner& contexts;
    KeepAlive& keep_alive;
  };
  explicit ModelLoads(Parts parts) : parts_(parts) {}

  // See the methods of ModelRouter.
  async::Task<Result<bool>> load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin, bool save);
  async::Task<Result<>> preload(backends::ModelPtr model);
  async::Task<Result<>> unload(ModelName model);
  async::Task<Result<UnloadReport>> unload_all();
  async::Task<Result<>> pin(ModelName model, bool pinned);
  async::Task<Result<PressureReport>> simulate_pressure(double pct);
  async::Task<Result<MemoryEstimate>> estimate(backends::ModelPtr model, OptionPatch options);
  async::Task<Result<OptionReport>> options(backends::ModelPtr model, OptionChange change);

  // Stores the options of a load with its process.
  void note_requested(const ModelName& model, const OptionPatch& options);
  // Sends the core the eviction settings of all loaded models, after a change of saved or configured options.
  void update_eviction();
  // The same for a load that starts: options may have changed while it was queued.
  void update_eviction(const LoadSpec& spec);

 private:
  const Parts parts_;
};

}  // namespace corral::router
