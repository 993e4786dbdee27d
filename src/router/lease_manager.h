// Gives leases to requests. A model that is not in memory, or whose context is too small, is loaded first. Belongs to
// the home loop.
#pragma once

#include <memory>
#include <set>

#include "async/loop.h"
#include "router/base/lease.h"
#include "router/instances/memory_reporter.h"
#include "router/instances/request_checks.h"
#include "router/model_loads.h"

namespace corral::router {

class LeaseManager {
 public:
  // All must outlive it.
  struct Parts {
    async::Loop& home;
    CoreDriver& driver;
    const ProcessManager& processes;
    const ModelOptions& options;
    ContextPlanner& contexts;
    MemoryReporter& memory;
    RequestChecks& checks;
    ModelLoads& loads;
  };
  explicit LeaseManager(Parts parts) : parts_(parts) {}

  // See the methods of ModelRouter. try_acquire() may be called on any loop.
  Lease try_acquire(const ModelName& model, std::uint64_t context = 0,
                    residency::RequestOrigin origin = residency::RequestOrigin::local);
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request);

  // The lease that the core granted; empty if the process has ended meanwhile.
  Lease make_lease(residency::LeaseId id, residency::InstanceId instance);
  // On any loop.
  void return_lease(residency::LeaseId lease);
  // See GroupLoads::hold().
  void hold(const ModelName& model, bool held) { held ? void(held_.insert(model)) : void(held_.erase(model)); }

 private:
  async::Task<Result<Lease>> acquire_for_peer(backends::ModelPtr model, LeaseRequest request);
  // With at least the context that the request names.
  async::Task<Result<Lease>> acquire_with(backends::ModelPtr model, LeaseRequest request);
  // Loads it if need be, with `options`.
  async::Task<Result<Lease>> acquire_new(backends::ModelPtr model, OptionPatch options,
                                         std::shared_ptr<const AskedRequest> asked = {},
                                         residency::RequestOrigin origin = residency::RequestOrigin::local);
  // True if a load of this model would be a new one, and might evict another model.
  async::Task<bool> may_evict(std::shared_ptr<const LoadSpec> spec);

  const Parts parts_;
  std::set<ModelName> held_;
};

}  // namespace corral::router
