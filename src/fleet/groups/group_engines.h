// The engines of the models that this node hosts. An engine starts after all its tunnels are open, and they close after
// it has ended. Belongs to the mesh's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/cancel_source.h"
#include "async/task_group.h"
#include "fleet/groups/group_runner.h"

namespace corral::fleet {

// Time limit for loading a plan's engine: three times the predicted time of the transfers to the workers, and at least
// the limit of an unsplit model of its size.
Millis load_deadline(const mesh::SplitPlan& plan);

class GroupEngines {
 public:
  struct Engine {
    mesh::GroupPlan plan;
    mesh::PlanTerm of;
    bool by_owner = false;
    bool ordered = false;  // passed to GroupProcesses; before that its tunnels are being opened
    bool ready = false;
    std::optional<double> progress;
    std::vector<std::shared_ptr<void>> tunnels;
    async::CancelSource opening;
  };
  // An engine failed before it was ordered.
  using Failed = std::function<void(const mesh::ContentKey&, mesh::PlanTerm, std::string why)>;

  // `parts` outlives it.
  GroupEngines(const GroupParts& parts, mesh::NodeId own, Failed failed)
      : parts_(parts), own_(own), failed_(std::move(failed)), tasks_(parts.executor) {}

  void start(mesh::GroupPlan plan, mesh::PlanTerm of, bool by_owner);
  // `why`: the cause for its requests. Both: true if the engine had not been ordered yet, and is removed; else
  // GroupProcesses reports its end.
  bool drain(mesh::PlanTerm of, std::optional<Millis> within);
  bool stop(mesh::PlanTerm of, std::string why);
  // GroupProcesses reports its end; false: the engine is unknown.
  bool ended(mesh::PlanTerm of);

  Engine* find(mesh::PlanTerm of);
  const Engine* of_model(const mesh::ContentKey& model) const;
  bool empty() const { return engines_.empty(); }
  std::vector<mesh::PlanTerm> all() const;
  // Waits after the last engine has ended.
  async::Task<void> finish();

 private:
  using Ptr = std::shared_ptr<Engine>;
  struct Tunnels;
  async::Task<void> open(Ptr engine);
  // Opens all tunnels in parallel. Errors: the first failure, as text for users; then none is open.
  async::Task<std::optional<Result<std::vector<OpenTunnel>>>> open_all(Ptr engine, std::vector<mesh::NodeId> nodes);
  async::Task<void> open_one(Ptr engine, std::shared_ptr<Tunnels> tunnels, std::size_t at, mesh::NodeId node);
  // Errors: why the engine can't start, as text for users.
  async::Task<std::optional<Result<EngineOrder>>> prepare(Ptr engine);
  bool give_up_opening(mesh::PlanTerm of);

  const GroupParts& parts_;
  const mesh::NodeId own_;
  const Failed failed_;
  std::map<mesh::PlanTerm, Ptr> engines_;
  bool finished_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
