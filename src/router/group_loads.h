// Loads of groups of a mesh: an engine with parts on other nodes, or a share of another node's model. The residency
// core books, watches and stops both like any other model. Belongs to the home loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/wrapped_server.h"
#include "router/lease_manager.h"
#include "router/options/load_spec.h"

namespace corral::router {

struct GroupLoad {
  backends::ModelPtr model;
  std::shared_ptr<backends::Backend> backend;  // of this load only: its identity
  residency::RequestOrigin origin = residency::RequestOrigin::peer;
  std::uint64_t context = 0;  // context of the group's plan, in tokens, if the model's options don't set it; 0: theirs
  Millis deadline{0};         // 0: the usual one of the model
  std::optional<ShareOf> share = {};
  // The cause of an unexpected end of its process if its requests aren't it, as text for users: then no request is
  // blamed. Empty: no other cause is known. On the home loop.
  std::function<std::string()> others_ended_it = {};
  // Called when this node recalls the share. On the home loop, in the middle of a step: it must only take note.
  std::function<void()> recalled = {};
};

class GroupLoads {
 public:
  // All must outlive it.
  struct Parts {
    async::Timers& timers;
    CoreDriver& driver;
    const ProcessManager& processes;
    const ModelOptions& options;
    LeaseManager& leases;
    ModelLoads& loads;
  };
  explicit GroupLoads(Parts parts) : parts_(parts) {}

  // Loads it and gives a lease. A failure evicts nothing: the caller decides on another attempt. Errors: those of
  // ModelRouter::acquire(), not_here if the model is in memory otherwise; the fact residency::SoonHere if a load for
  // another peer is in the way.
  async::Task<Result<Lease>> acquire(GroupLoad load);
  // Stops this backend's instance at once, with all its requests, which get `why` as the cause (empty: it was
  // unloaded). Returns when nothing of it is left.
  async::Task<void> end(std::shared_ptr<backends::Backend> of, std::string why = {});
  // The same, but running requests finish first, as for an unload.
  async::Task<void> drain(std::shared_ptr<backends::Backend> of);
  // Held models are loaded by groups, or explicitly, but not by requests.
  void hold(const ModelName& model, bool held) { parts_.leases.hold(model, held); }
  // True from the queued load until the process has ended.
  bool is_there(const ModelName& model) const;

 private:
  Result<std::shared_ptr<LoadSpec>> spec_of(const GroupLoad& load) const;
  std::optional<residency::InstanceId> instance_of(const backends::Backend& backend) const;

  const Parts parts_;
};

}  // namespace corral::router
