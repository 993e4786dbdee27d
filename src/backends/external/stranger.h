// What the router asks of backends whose servers are programs of others, beside what it asks of any: found by a
// dynamic_cast of a Backend. On the home loop.
#pragma once

#include <optional>

#include "backends/wrapped_server.h"

namespace corral::backends {

class ExternalBackendTraits {
 public:
  virtual ~ExternalBackendTraits() = default;
  // What a load with these resolved options takes, on what it computes on; total 0: nothing here.
  virtual GivenMemory expected_memory(const models::ModelInfo& model, const LoadOptions& options,
                                      Device device) const = 0;
  // What a load of this model takes at most before it has failed.
  virtual Millis load_deadline(const models::ModelInfo& model) const = 0;
  // It runs elsewhere already: nothing is started for it (residency/elsewhere.h).
  virtual bool attached(const models::ModelInfo& model) const = 0;
  // What the configuration says of this model alone.
  virtual LoadOptions configured(const ModelName& model) const = 0;
};

}  // namespace corral::backends
