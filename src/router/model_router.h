// The interface of the router: leases, loads, pins, reports, events, from any loop. Its parts do the work, each with
// one job (docs/modules/router.md); this class connects them and passes actions of the residency core to them.
//
// The parts belong to the home loop. A method called on any loop runs there and completes on the caller's loop. No
// method waits while the core decides, so loaded models, health and the queue respond at once during loads and stops.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "async/on_loop.h"
#include "router/base/counters.h"
#include "router/base/errors.h"
#include "router/base/lease.h"
#include "router/core/core_driver.h"
#include "router/core/event_hub.h"
#include "router/group_loads.h"
#include "router/instances/load_checks.h"

namespace corral::router {

struct RouterOptions {
  residency::Settings residency;
  backends::LoadOptions default_options;  // from the configuration
  // The same without the server's own llamacpp_args; unset: it has none.
  std::optional<backends::LoadOptions> defaults_without_args = {};
  Millis load_timeout{0};      // 0: from the size of the model
  Millis stop_grace{5'000};    // between the request to end and the kill of a process
  Millis watchdog_timeout{0};  // silence after which a process counts as hung; 0: no watchdog
};

// One batch for a reader of events.
struct Update {
  std::uint64_t number = 0;       // of its last event
  std::optional<Report> whole;    // the full state; later events follow it
  std::vector<NoticePtr> others;  // with `whole`: the state of other sources
  std::vector<EventPtr> events;
  bool ended = false;  // no update follows
};

using SavedOptions = backends::OptionStore::All;

class ModelRouter;

// One reader of events. On one loop; dropping it ends the subscription.
class EventReader {
 public:
  // `router` must outlive it.
  explicit EventReader(ModelRouter& router);
  // Waits for events for up to `patience`, else returns an empty update. The first update, and each one after the
  // reader was too slow for the list of events, has `whole`.
  async::Task<Update> next(Millis patience);

 private:
  ModelRouter& router_;
  const std::shared_ptr<void> listening_;
  std::optional<std::uint64_t> seen_;
};

class ModelRouter final : public LeaseProvider, private ActionExecutor {
 public:
  // All arguments must outlive the router. `saved`: saved options and pins of models; the router updates them.
  // `sampler` nullptr: free memory is unknown, and no rule of memory applies.
  ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends, RouterOptions options,
              backends::OptionStore saved = backends::OptionStore(), MemorySampler* sampler = nullptr);
  ~ModelRouter() override;

  // A lease on the model, which is loaded first if need be. Cancellation ends the wait in the queue; a load without
  // other waiters is aborted. If the model has less context than requested, it is reloaded with that much, as by
  // load(). Errors: those of residency and backends; invalid_option if such a context is impossible, context_not_yours
  // if the requester may not reload it.
  //
  // A peer's request (Requester::origin) gets a lease on a loaded model, or a lent load (residency/lending.h). If
  // neither is possible at once, it is refused: residency::errc::not_here, whose memory has the missing amounts. It
  // never changes the options of a load.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request = {}) override;
  // Only if the model can take the request at once and this is the home loop; else an empty lease.
  Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return try_acquire(model.name, context);
  }
  Lease try_acquire(const ModelName& model, std::uint64_t context = 0,
                    residency::RequestOrigin origin = residency::RequestOrigin::local);

  // Loads the model with `options` (or touches it if it is loaded with them). Unset options come from those saved for
  // the model (except those that `options` unset), then from the configuration. True: it was in memory already. `save`:
  // after the load, `options` are saved for the model, over older ones.
  async::Task<Result<bool>> load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                 bool save = false);
  // Loads the model with its saved options, if nothing has to be evicted for it (ModelSpec::evicts_nothing).
  async::Task<Result<>> preload(backends::ModelPtr model);
  async::Task<Result<>> unload(ModelName model);
  async::Task<Result<UnloadReport>> unload_all();
  async::Task<Result<>> pin(ModelName model, bool pinned);
  // Sets how long a loaded model stays without requests, until another load or keep(). 0: it is evicted after its
  // running requests. Below 0: it is pinned if an unpinned slot of its type remains; otherwise it is never evicted for
  // idleness. Such a pin isn't saved; it ends with the next keep() or when the model is stopped. On any loop; doesn't
  // wait.
  void keep(ModelName model, Millis idle);
  // The options saved for the model, after this change. Errors: invalid_option and similar for invalid values,
  // not_saved.
  async::Task<Result<OptionReport>> options(backends::ModelPtr model, OptionChange change);
  // Of all models with saved options.
  async::Task<SavedOptions> saved_options();
  // Includes models that are not in memory, or not on disk.
  async::Task<std::set<ModelName>> pins();
  // Predicted memory need of load() with these options. Loads and evicts nothing.
  async::Task<Result<MemoryEstimate>> estimate(backends::ModelPtr model, OptionPatch options);
  // Contexts of these models, in their order: of the loaded model, or as a load would give it now.
  async::Task<std::vector<ModelContext>> contexts(std::vector<backends::ModelPtr> models);
  // Projectors of these models, in their order: of the loaded model, or of a load. Without a sample of the memory.
  async::Task<std::vector<Projector>> projectors(std::vector<backends::ModelPtr> models);
  // Simulates idleness or memory pressure once, see residency::SimulatePressure.
  async::Task<Result<PressureReport>> simulate_pressure(double pct);

  async::Task<Report> report();
  // Samples the memory, at most once a second: some drivers take long. Shares of other nodes' models are included.
  async::Task<MemoryReport> memory();
  // The file with the output of the model's latest process, which may have ended; empty: none is known.
  async::Task<std::filesystem::path> log_file(ModelName model);
  // Progress of the running load, if it is of this model.
  async::Task<std::optional<double>> progress(ModelName model);
  async::Task<Totals> totals();
  async::Task<MetricsReport> metrics();
  async::Task<std::vector<Resident>> residents();
  // Records the end of a request. On any loop.
  void count(RequestEnd end) override;
  // `call` gets the usage of each request that a process of this node has finished. One at a time; empty: no longer. On
  // the home loop, or while it does not run.
  void on_used(std::function<void(const backends::RequestStats&)> call) { counters_.on_used(std::move(call)); }
  // For the groups of a mesh. On the home loop.
  GroupLoads& groups() { return groups_; }

  // Adds a source of events as long as the result lives. On the home loop.
  std::shared_ptr<void> attach(const EventSource& source) { return hub_.attach(source); }
  // Publishes a notice to readers. On any loop; in the order of the calls of one loop.
  void notify(NoticePtr notice);
  // Ends all readers of events, also later ones; they get what has happened so far. stop() does that, too.
  async::Task<void> end_events();

  // Changes the settings. Loading and loaded models keep options that only a reload could change. On the home loop.
  void change(RouterOptions options);
  // A further recipe. `backend` must outlive this object. On the home loop.
  void add(backends::Backend& backend) { options_.add(backend); }
  // The recipes of later loads; without this call those of recipe.h. On the home loop, or before it runs.
  void use(RecipeTable recipes) { options_.use(std::move(recipes)); }

  // Refuses new requests, lets running ones finish until `deadline`, then stops every instance. Once.
  async::Task<void> stop(Millis deadline);

  // Counts of what still exists: "2 instances, 1 leases"; empty when the router is at rest. On the home loop.
  std::string leftovers() const;

 private:
  friend class EventReader;

  // Actions of the core.
  void on(const residency::CheckLoad& action) override { checks_.on(action); }
  void on(const residency::DropCheck& action) override { checks_.on(action); }
  void on(const residency::StartLoad& action) override;
  void on(const residency::AbortLoad& action) override { processes_.on(action); }
  void on(const residency::StopInstance& action) override;
  void on(const residency::Recall& action) override;
  void on(const residency::Downsize& action) override { processes_.on(action); }
  void on(const residency::SampleMemory& action) override { memory_.on(action); }
  void on(const residency::WatchMemory& action) override { memory_.on(action); }
  void on(const residency::PinChanged& action) override;
  void stepped(std::uint64_t revision) override { hub_.stepped(revision); }

  // A part, for calls from any loop.
  template <typename Part>
  async::OnLoop<Part> at_home(Part& part) const {
    return {part, home_.executor()};
  }
  async::Task<Update> next_update(std::optional<std::uint64_t> seen, Millis patience);
  async::Task<MemoryReport> memory_here();
  async::Task<void> stop_here(Millis deadline);

  async::Loop& home_;
  async::Timers& timers_;
  device::MemoryPools pools_;  // of the last sample for memory()
  MonoTime pools_until_{};

  // Belong to the home loop.
  const MonoTime started_;
  ModelOptions options_;
  Counters counters_;
  CoreDriver driver_;
  EventHub hub_;
  MemoryReporter memory_;
  LoadChecks checks_;
  ProcessManager processes_;
  RequestChecks request_checks_;
  ContextPlanner contexts_;
  KeepAlive keep_alive_;
  ModelLoads loads_;
  LeaseManager leases_;
  GroupLoads groups_;
};

}  // namespace corral::router
