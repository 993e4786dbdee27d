// GroupProcesses over the router. An engine of a plan is a load like any other, except for the place of its layers. A
// worker is a share that the residency core lends, accounts for and recalls; a lease holds it as long as the grant
// lasts.
//
//   mesh's loop ── orders, copied ──> home loop: one task for each engine and each worker, from its order to its end
//               <── reports, copied ──
//
// Each order is reported exactly once, after its processes are gone, whatever happens to them and whenever orders come.
// GroupProcesses and listen() belong to the mesh's loop, everything else to the home loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/share_backend.h"
#include "backends/split_backend.h"
#include "fleet/base/weight_caches.h"
#include "fleet/hosting/group_processes.h"
#include "router/model_router.h"

namespace corral::fleet {

// A worker's backend, and the data that it reports when it is ready.
struct WorkerBackend {
  std::shared_ptr<backends::Backend> backend;
  std::string socket;
  std::function<std::string()> llama;
};

struct RouterGroupParts {
  async::Loop& home;
  async::Timers& timers;
  router::ModelRouter& router;
  std::function<backends::ModelPtr(const std::string& name)> find;  // a model on this node's disk; nullptr: none
  std::function<std::shared_ptr<backends::Backend>(backends::EngineSplit)> engine;
  std::function<WorkerBackend(backends::ShareOrder)> worker;
  WeightCaches* caches = nullptr;  // none: weights aren't cached
  std::string llama;               // version of this node's engines
};

class RouterGroupProcesses final : public GroupProcesses {
 public:
  // Everything that `parts` refers to must outlive it.
  explicit RouterGroupProcesses(RouterGroupParts parts);
  ~RouterGroupProcesses() override;

  // Sets the receiver of reports, on `mesh`'s loop; nullptr: none. Orders of the previous receiver end at once, and
  // aren't reported to this one. On the mesh's loop.
  void listen(async::Executor mesh, GroupReports* reports);

  void start_engine(EngineOrder order) override;
  void drain_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::optional<Millis> within) override;
  void stop_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::string why) override;
  void open_worker(WorkerOrder order) override;
  void reap_worker(const mesh::NodeId& host, mesh::PlanTerm of) override;
  void hold(const std::string& name, bool held) override;
  void members(std::vector<mesh::NodeId> all) override;

  // Ends everything; later orders are ignored. Once.
  async::Task<void> stop();
  // Engines, workers and tasks that are left: for tests.
  std::size_t leftovers() const { return engines_.size() + workers_.size() + tasks_.running(); }

 private:
  struct Ear;
  struct Engine;
  struct Worker;
  using EnginePtr = std::shared_ptr<Engine>;
  using WorkerPtr = std::shared_ptr<Worker>;
  using EngineKey = std::pair<mesh::ContentKey, mesh::PlanTerm>;
  using WorkerKey = std::pair<mesh::NodeId, mesh::PlanTerm>;

  void post(std::move_only_function<void()> work);
  static void report(const std::shared_ptr<Ear>& ear, std::move_only_function<void(GroupReports&)> words);
  void end_all();

  // router_group_engines.cpp
  void start(EngineOrder order);
  async::Task<void> live(EnginePtr engine);
  async::Task<Result<router::Lease>> load(EnginePtr engine);
  async::Task<void> report_progress(EnginePtr engine);
  void drain(const EngineKey& key, std::optional<Millis> within);
  async::Task<void> drain_in_time(EnginePtr engine, std::optional<Millis> within);
  void stop(const EngineKey& key, std::string why = {});
  async::Task<void> stop_now(EnginePtr engine, std::string why);
  void ended(const EnginePtr& engine, EngineEnd how, std::string why);
  void update_hold(const std::string& name);

  // router_group_workers.cpp
  void open(WorkerOrder order);
  async::Task<void> live(WorkerPtr worker);
  async::Task<Result<router::Lease>> begin(WorkerPtr worker);
  async::Task<void> look_after(WorkerPtr worker, WeightFolder folder);
  void failed(const WorkerPtr& worker, Error why);
  void reap(const WorkerKey& key);
  async::Task<void> reap_now(WorkerPtr worker);

  async::Task<Result<router::Lease>> acquire(router::GroupLoad load, MonoTime until);

  RouterGroupParts parts_;
  std::shared_ptr<Ear> receiver_;  // used on the mesh's loop: the latest receiver

  // Used on the home loop.
  std::shared_ptr<Ear> ear_;
  bool stopping_ = false;
  std::uint64_t last_share_ = 0;
  std::set<std::string> held_;
  std::map<EngineKey, EnginePtr> engines_;
  std::map<WorkerKey, WorkerPtr> workers_;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
