// The router around the residency core, and its public interface: leases, loads, pins, reports, from any loop. Objects
// with one job each do the work. core_driver.h drives the core, process_manager.h has the processes, model_options.h
// the options of loads. load_checks.h and memory_reporter.h run preflights, counters.h counts, event_hub.h publishes
// changes.
//
// Lives on the home loop; every method may be called on any loop and returns there. Nothing in here blocks, so resident
// models, health and the queue respond at once, whatever loads or stops.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "router/base/counters.h"
#include "router/base/errors.h"
#include "router/base/lease.h"
#include "router/core/core_driver.h"
#include "router/core/event_hub.h"
#include "router/group_load.h"
#include "router/instances/context_planner.h"
#include "router/instances/load_checks.h"
#include "router/instances/memory_reporter.h"
#include "router/instances/process_manager.h"
#include "router/instances/request_checks.h"
#include "router/options/model_options.h"

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

// One loaded or loading model, with the facts of its process.
struct InstanceReport {
  residency::InstanceView view;
  backends::ServerFacts facts;
  backends::ModelPtr model;
  backends::LoadOptions options;
  bool streaming = false;        // at least one of its responses is a stream
  Device device = Device::none;  // as its process reports; before that as predicted for the load
};

// A share of another node's model: not a model for requests.
struct ShareReport {
  InstanceReport instance;
  ShareOf of;
};

struct Report {
  residency::Snapshot snapshot;  // its instances include shares, its `loading` never is one
  std::vector<InstanceReport> instances;
  std::vector<ShareReport> shares;
  std::optional<double> load_progress;  // of snapshot.loading
  WallTime time;                        // when it was taken
};

// All metrics, and the current state.
struct MetricsReport {
  Report report;
  Metrics models;  // of every model with a request or load since the start
  Millis uptime{0};
};

// A loaded model whose process can be queried. Doesn't keep it in memory.
struct Resident {
  ModelName model;
  std::shared_ptr<RunningInstance> running;

  // For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const;
};

// Effect of a simulated memory pressure.
struct PressureReport {
  std::vector<ModelName> downsized;
  std::vector<ModelName> evicted;
};

struct UnloadReport {
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;  // still finishing requests
};

// One delivery to a reader of events.
struct Update {
  std::uint64_t number = 0;       // of the last event in it
  std::optional<Report> whole;    // the whole state; later events follow it
  std::vector<NoticePtr> others;  // with `whole`: the states of other sources
  std::vector<EventPtr> events;
  bool ended = false;  // nothing will follow
};

using SavedOptions = backends::OptionStore::All;

class ModelRouter;

// A subscriber of changes. On one loop; its destruction ends the subscription.
class EventReader {
 public:
  // `router` must outlive it.
  explicit EventReader(ModelRouter& router);
  // Waits up to `patience` for changes; returns an empty update after that. The first update, and one after missed
  // events, is the whole state.
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
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request = {}) override;
  // A peer's request (Requester::origin) gets a lease on a loaded model, or a lent load (residency/lending.h). If
  // neither is possible at once, it is refused: residency::errc::not_here, whose memory has the missing amounts. It
  // never changes the options of a load.
  //
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
  // Simulates idleness or memory pressure once, see residency::SimulatePressure.
  async::Task<Result<PressureReport>> simulate_pressure(double pct);

  async::Task<Report> report();
  // Progress of the running load, if it is of this model.
  async::Task<std::optional<double>> progress(ModelName model);
  async::Task<Totals> totals();
  async::Task<MetricsReport> metrics();
  async::Task<std::vector<Resident>> residents();
  // Records the end of a request. On any loop.
  void count(RequestEnd end) override;
  // ---- for groups of a mesh (model_router_groups.cpp); all on the home loop

  // Loads it and returns a lease. A failure evicts nothing, and the caller decides about another attempt. Errors: those
  // of acquire(), and not_here if the model is in memory for another purpose. If only a load for another peer is in the
  // way, the error has the fact residency::SoonHere.
  async::Task<Result<Lease>> acquire_for_group(GroupLoad load);
  // Ends the instance of this backend at once, even if requests run; returns when it is gone.
  async::Task<void> end_of_group(std::shared_ptr<backends::Backend> of);
  // The same, but lets running requests finish, as unload() does.
  async::Task<void> drain_of_group(std::shared_ptr<backends::Backend> of);
  // A held model is loaded only by groups or explicit loads, never by a request.
  void hold(const ModelName& model, bool held);
  // True if the model is loaded, loading, stopping or queued.
  bool is_there(const ModelName& model) const;

  // Adds a source of events as long as the result lives. On the home loop.
  std::shared_ptr<void> attach(const EventSource& source) { return hub_.attach(source); }
  // Publishes a notice to readers. On any loop; in the order of the calls of one loop.
  void tell(NoticePtr notice);
  // Ends all readers of events, also later ones; they get what has happened so far. stop() does that, too.
  async::Task<void> end_events();

  // Changes the settings. Loading and loaded models keep options that only a reload could change. On the home loop.
  void change(RouterOptions options);

  // Refuses new requests, lets running ones finish until `deadline`, then stops every instance. Once.
  async::Task<void> stop(Millis deadline);

  // Counts of what still exists: "2 servers, 1 lease"; empty when the router is at rest. On the home loop.
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

  // The instance of this backend, if any.
  std::optional<residency::InstanceId> instance_of(const backends::Backend& backend) const;
  Result<std::shared_ptr<LoadSpec>> spec_of_group(const GroupLoad& load) const;

  // All of these on the home loop.
  Lease make_lease(residency::LeaseId id, residency::InstanceId instance);
  void return_lease(residency::LeaseId lease);
  async::Task<Result<Lease>> acquire_here(backends::ModelPtr model, LeaseRequest request);
  async::Task<Result<Lease>> acquire_with(backends::ModelPtr model, LeaseRequest request);
  // Stores the options of the last load with its process.
  void note_requested(const ModelName& model, const OptionPatch& options);
  // Loads it if need be; `options` are those of the load.
  async::Task<Result<Lease>> acquire_new(backends::ModelPtr model, OptionPatch options,
                                         std::shared_ptr<const AskedRequest> asked = {},
                                         residency::RequestOrigin origin = residency::RequestOrigin::local);
  // Whether this request would start a new load that might evict another model.
  async::Task<bool> may_evict(std::shared_ptr<const LoadSpec> spec);
  // For peer requests.
  async::Task<Result<Lease>> acquire_for_peer(backends::ModelPtr model, LeaseRequest request);
  async::Task<Result<bool>> load_here(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                      bool save);
  async::Task<Result<>> unload_here(ModelName model);
  async::Task<Result<UnloadReport>> unload_all_here();
  async::Task<Result<>> pin_here(ModelName model, bool pinned);
  async::Task<Result<OptionReport>> options_here(backends::ModelPtr model, OptionChange change);
  async::Task<Result<PressureReport>> simulate_pressure_here(double pct);
  async::Task<Result<MemoryEstimate>> estimate_here(backends::ModelPtr model, OptionPatch options);
  // Sends new eviction settings of loaded models to the core, after saved or configured options have changed.
  void update_eviction();
  void keep_here(const ModelName& model, Millis idle);
  // Pins that keep() sets; model_router_keep.cpp.
  bool may_keep_pinned(const ModelName& model) const;
  void pin_kept(const ModelName& model, bool pinned);
  RouterSnapshot look() const;
  Report report_now() const;
  std::vector<Resident> residents_now() const;
  async::Task<Update> next_update(std::optional<std::uint64_t> seen, Millis patience);
  async::Task<void> stop_here(Millis deadline);

  async::Loop& home_;
  async::Timers& timers_;

  // Owned by the home loop.
  const MonoTime started_;
  ModelOptions wishes_;
  Counters counters_;
  CoreDriver driver_;
  EventHub hub_;
  MemoryReporter memory_;
  LoadChecks checks_;
  ProcessManager processes_;
  RequestChecks request_checks_;
  ContextPlanner contexts_;
  std::set<ModelName> held_;
  std::set<ModelName> kept_pins_;  // pins that keep() has set
};

}  // namespace corral::router
