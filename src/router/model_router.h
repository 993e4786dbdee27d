// The shell around the decision core, and the one door to it: leases, loads, pins, reports, from any loop. What it does
// is done by objects with one job each: core_driver.h asks the core and runs its actions, process_manager.h has the
// processes, model_options.h what models are loaded with, load_checks.h and memory_reporter.h find out what must be
// known before, counters.h counts, event_hub.h tells.
//
// Lives on the home loop; every method may be called on any loop and answers there. Nothing in here waits while the
// core decides, so resident models, health and the queue answer at once whatever loads or stops.
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
  Millis stop_grace{5'000};    // between asking a backend to end and forcing it
  Millis watchdog_timeout{0};  // of silence, then a backend counts as hung; 0: nobody watches
};

// One loaded or loading model with what is known of its process.
struct InstanceReport {
  residency::InstanceView view;
  backends::ServerFacts facts;
  backends::ModelPtr model;
  backends::LoadOptions options;
  bool streaming = false;        // at least one answer of it is a stream
  Device device = Device::none;  // it computes on: as its process says, before that as was expected of the load
};

// A share of another node's model: no model that could be asked.
struct ShareReport {
  InstanceReport instance;
  ShareOf of;
};

struct Report {
  residency::Snapshot snapshot;  // with shares among its servers, but not as `loading`
  std::vector<InstanceReport> instances;
  std::vector<ShareReport> shares;
  std::optional<double> load_progress;  // of snapshot.loading
  WallTime time;                        // when it was taken
};

// Everything that is counted, and how things stand.
struct MetricsReport {
  Report report;
  Metrics models;  // of every model that was asked for or loaded since the start
  Millis uptime{0};
};

// A model that answers, to ask its process about itself. Doesn't keep it in memory.
struct Resident {
  ModelName model;
  std::shared_ptr<RunningInstance> running;

  // For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const;
};

// What a simulated shortage of memory has done.
struct PressureReport {
  std::vector<ModelName> downsized;
  std::vector<ModelName> evicted;
};

struct UnloadReport {
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;  // still finishing requests
};

// What a reader of events gets at a time.
struct Update {
  std::uint64_t number = 0;       // of the last event that is in it
  std::optional<Report> whole;    // how everything stands; the events go on from there
  std::vector<NoticePtr> others;  // with `whole`: how things stand elsewhere
  std::vector<EventPtr> events;
  bool ended = false;  // nothing will follow
};

using SavedOptions = backends::OptionStore::All;

class ModelRouter;

// Somebody who wants to know what changes. On one loop; dropping it ends the interest.
class EventReader {
 public:
  // `router` must outlive it.
  explicit EventReader(ModelRouter& router);
  // Waits for up to `patience` for something to tell; then it comes back with nothing. First, and whenever the reader
  // was too slow for the list of events, comes the whole.
  async::Task<Update> next(Millis patience);

 private:
  ModelRouter& router_;
  const std::shared_ptr<void> listening_;
  std::optional<std::uint64_t> seen_;
};

class ModelRouter final : public LeaseProvider, private ActionExecutor {
 public:
  // Everything referred to must outlive the router. `saved`: of models, and their pins; the router keeps it up to date.
  // `gauge` nullptr: nothing is known of memory, and no rule of it applies.
  ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends, RouterOptions options,
              backends::OptionStore saved = backends::OptionStore(), MemorySampler* sampler = nullptr);
  ~ModelRouter() override;

  // A lease on the model, loading it first if need be. Cancelling gives up the place in the queue; a load nobody else
  // waits for is aborted. Errors: those of residency and backends.
  // A model that has a smaller context than is wished for is loaded anew with so much, as load() would do it. Errors:
  // invalid_option where that can't be, context_not_yours where somebody else has to decide it.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request = {}) override;
  // A peer's request (Requester::origin) gets what its owner can spare: what is in memory, or a load of its own rules
  // (residency/lending.h). What can't be done at once is refused at once: residency::errc::not_here, whose memory says
  // what is short. It never changes how a model is loaded.
  //
  // Only if the model can take the request at once and this is the home loop; else an empty lease.
  Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return try_acquire(model.name, context);
  }
  Lease try_acquire(const ModelName& model, std::uint64_t context = 0,
                    residency::RequestOrigin origin = residency::RequestOrigin::local);

  // Loads as told (or touches what is loaded just so); what `options` leave open is decided by what is saved for the
  // model (except for what they say shall not count), then by the configuration. True: it was in memory already.
  // `save`: once it is loaded, `options` are saved for it, over what was saved before.
  async::Task<Result<bool>> load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                 bool save = false);
  async::Task<Result<>> unload(ModelName model);
  async::Task<Result<UnloadReport>> unload_all();
  async::Task<Result<>> pin(ModelName model, bool pinned);
  // How long the model, if it is in memory, stays there while nobody uses it; until another load or keep() says
  // otherwise. 0: it leaves when its requests have ended; below 0: it is pinned, where that leaves a slot of its type
  // that isn't, else it doesn't leave by itself. Such a pin isn't saved; it ends with the next keep() or when the model
  // is told to leave. On any loop; doesn't wait.
  void keep(ModelName model, Millis idle);
  // What is saved for the model, after this change. Errors: invalid_option and the like for values that were set,
  // not_saved.
  async::Task<Result<OptionReport>> options(backends::ModelPtr model, OptionChange change);
  // Of all models for which something is saved.
  async::Task<SavedOptions> saved_options();
  // Of models that need not be in memory, nor on disk.
  async::Task<std::set<ModelName>> pins();
  // The memory that load() with these options would take. Loads and evicts nothing.
  async::Task<Result<MemoryEstimate>> estimate(backends::ModelPtr model, OptionPatch options);
  // What conversations with these models may have, in their order: there, or as a load would give it now.
  async::Task<std::vector<ModelContext>> contexts(std::vector<backends::ModelPtr> models);
  // One pass of what idleness and pressure do by themselves, see residency::SimulatePressure.
  async::Task<Result<PressureReport>> simulate_pressure(double pct);

  async::Task<Report> report();
  // Progress of the load of this model, if it is the one that loads.
  async::Task<std::optional<double>> progress(ModelName model);
  async::Task<Totals> totals();
  async::Task<MetricsReport> metrics();
  async::Task<std::vector<Resident>> residents();
  // A request has ended. On any loop.
  void count(RequestEnd end) override;
  // ---- for groups of a mesh (model_router_groups.cpp); all on the home loop

  // Loads it and gives a lease. Who begins it decides whether it is tried again: a failure evicts nobody. Errors: those
  // of acquire(), not_here where the model is in memory otherwise; a load for another peer that is in the way is told
  // by the fact residency::SoonHere.
  async::Task<Result<Lease>> acquire_for_group(GroupLoad load);
  // Ends what this backend's load has come to, at once, whatever runs on it; returns when nothing of it is left.
  async::Task<void> end_of_group(std::shared_ptr<backends::Backend> of);
  // The same, but lets run what runs on it, as unload() does.
  async::Task<void> drain_of_group(std::shared_ptr<backends::Backend> of);
  // What is held is loaded by groups, or by an owner who says so, but by no request.
  void hold(const ModelName& model, bool held);
  // In memory, on its way in or out, or waiting for its load.
  bool is_there(const ModelName& model) const;

  // Readers of events hear of this source, too, for as long as the result lives. On the home loop.
  std::shared_ptr<void> attach(const EventSource& source) { return hub_.attach(source); }
  // Tells them. On any loop; in the order of the calls of one loop.
  void tell(NoticePtr notice);
  // Ends all readers of events, now and later: they get what has happened so far. stop() does that, too.
  async::Task<void> end_events();

  // Other settings from now on; what is loading or loaded keeps the options that only a reload could change. On the
  // home loop.
  void change(RouterOptions options);

  // Refuses new requests, lets running ones finish until `deadline`, then stops every backend. Once.
  async::Task<void> stop(Millis deadline);

  // What is still there, in words: "2 servers, 1 lease"; empty when the router is at rest. On the home loop.
  std::string leftovers() const;

 private:
  friend class EventReader;

  // What the core wants done.
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

  // The server that is this backend's, if there is one.
  std::optional<residency::InstanceId> instance_of(const backends::Backend& backend) const;
  Result<std::shared_ptr<LoadSpec>> spec_of_group(const GroupLoad& load) const;

  // All of these on the home loop.
  Lease make_lease(residency::LeaseId id, residency::InstanceId instance);
  void return_lease(residency::LeaseId lease);
  async::Task<Result<Lease>> acquire_here(backends::ModelPtr model, LeaseRequest request);
  async::Task<Result<Lease>> acquire_with(backends::ModelPtr model, LeaseRequest request);
  // What a load has said is kept with its process.
  void note_requested(const ModelName& model, const OptionPatch& options);
  // Loads it, if need be, with what `options` say of such a load.
  async::Task<Result<Lease>> acquire_new(backends::ModelPtr model, OptionPatch options,
                                         std::shared_ptr<const AskedRequest> asked = {},
                                         residency::RequestOrigin origin = residency::RequestOrigin::local);
  // Whether a load of this model would be a new one, and might evict another model.
  async::Task<bool> may_evict(std::shared_ptr<const LoadSpec> spec);
  // A peer's request.
  async::Task<Result<Lease>> acquire_for_peer(backends::ModelPtr model, LeaseRequest request);
  async::Task<Result<bool>> load_here(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                      bool save);
  async::Task<Result<>> unload_here(ModelName model);
  async::Task<Result<UnloadReport>> unload_all_here();
  async::Task<Result<>> pin_here(ModelName model, bool pinned);
  async::Task<Result<OptionReport>> options_here(backends::ModelPtr model, OptionChange change);
  async::Task<Result<PressureReport>> simulate_pressure_here(double pct);
  async::Task<Result<MemoryEstimate>> estimate_here(backends::ModelPtr model, OptionPatch options);
  // Tells the core how models in memory leave it by themselves, after what is saved or configured has changed.
  void update_eviction();
  void keep_here(const ModelName& model, Millis idle);
  // A pin for as long as keep() says; model_router_keep.cpp.
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
  std::set<ModelName> kept_pins_;  // that are keep()'s
};

}  // namespace corral::router
