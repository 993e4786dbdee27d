// How long a loaded model stays in memory because a request said so (Ollama's `keep_alive`): for a time, or
// permanently. The latter is a pin, if that leaves other models a slot of the type. Such pins are not configuration:
// they are not saved, and end when the model stops.
//
// Belongs to the home loop.
#pragma once

#include <set>

#include "router/core/core_driver.h"
#include "router/instances/process_manager.h"
#include "router/options/model_options.h"

namespace corral::router {

class KeepAlive {
 public:
  // All must outlive it.
  KeepAlive(CoreDriver& driver, const ProcessManager& processes, const ModelOptions& options)
      : driver_(driver), processes_(processes), options_(options) {}

  // See ModelRouter::keep().
  void keep(const ModelName& model, Millis idle);
  // Pins made here for this model no longer belong to keep(): `pin` or `load` decides from now on.
  void forget(const ModelName& model) { pins_.erase(model); }
  // The instance stops, for another reason than a reload.
  void stopping(const ModelName& model);
  // False for pins of keep().
  static bool is_saved(const residency::PinChanged& action);

 private:
  bool may_pin(const ModelName& model) const;
  void pin(const ModelName& model, bool pinned);

  CoreDriver& driver_;
  const ProcessManager& processes_;
  const ModelOptions& options_;
  std::set<ModelName> pins_;
};

}  // namespace corral::router
