// Additional interface of backends for external programs: found by a dynamic_cast of a Backend. On the home loop.
#pragma once

#include <optional>

#include "backends/wrapped_server.h"

namespace corral::backends {

class ExternalBackendTraits {
 public:
  virtual ~ExternalBackendTraits() = default;
  // Predicted memory of a load with these resolved options, on its device; total 0: none here.
  virtual GivenMemory expected_memory(const models::ModelInfo& model, const LoadOptions& options,
                                      Device device) const = 0;
  // Time limit of a load of this model.
  virtual Millis load_deadline(const models::ModelInfo& model) const = 0;
  // An attached server: nothing is started for it (residency/elsewhere.h).
  virtual bool attached(const models::ModelInfo& model) const = 0;
  // Configured options of this model alone.
  virtual LoadOptions configured(const ModelName& model) const = 0;
};

}  // namespace corral::backends
