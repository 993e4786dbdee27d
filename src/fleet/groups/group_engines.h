// The engines of the models that this node hosts: each gets its tunnels first, is begun when all of them are open, and
// loses them when it has ended. Belongs to the mesh's loop.
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

// How long the load of a plan's engine may take: three times what is predicted for what goes to the workers, and never
// less than a load of a model of its size has on one machine.
Millis load_deadline(const mesh::SplitPlan& plan);

class GroupEngines {
 public:
  struct Engine {
    mesh::GroupPlan plan;
    mesh::PlanTerm of;
    bool told = false;
    bool ordered = false;  // the hands have it; before that its tunnels are being opened
    bool ready = false;
    std::optional<double> progress;
    std::vector<std::shared_ptr<void>> tunnels;
    async::CancelSource opening;
  };
  // An engine that hadn't been ordered yet has come to nothing.
  using Failed = std::function<void(const mesh::ContentKey&, mesh::PlanTerm, std::string why)>;

  // `parts` outlives it.
  GroupEngines(const GroupParts& parts, mesh::NodeId own, Failed failed)
      : parts_(parts), own_(own), failed_(std::move(failed)), tasks_(parts.executor) {}

  void start(mesh::GroupPlan plan, mesh::PlanTerm of, bool told);
  // Both: true when it had not been ordered yet, and is gone; else the hands tell how it ends.
  bool drain(mesh::PlanTerm of, std::optional<Millis> within);
  bool stop(mesh::PlanTerm of);
  // The hands say that it has ended; false: it was none of these.
  bool ended(mesh::PlanTerm of);

  Engine* find(mesh::PlanTerm of);
  const Engine* of_model(const mesh::ContentKey& model) const;
  bool empty() const { return engines_.empty(); }
  std::vector<mesh::PlanTerm> all() const;
  // After the last one has ended.
  async::Task<void> finish();

 private:
  using Ptr = std::shared_ptr<Engine>;
  struct Tunnels;
  async::Task<void> open(Ptr engine);
  // All of them at once. Errors: those of the first that can't be had, for people; then none is open.
  async::Task<std::optional<Result<std::vector<OpenTunnel>>>> open_all(Ptr engine, std::vector<mesh::NodeId> nodes);
  async::Task<void> open_one(Ptr engine, std::shared_ptr<Tunnels> tunnels, std::size_t at, mesh::NodeId node);
  // Errors: why it can't begin, for people.
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
