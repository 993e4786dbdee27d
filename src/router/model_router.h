// The shell around the decision core: brings it events, runs its actions on real backends, hands out leases.
//
// Lives on the home loop; every method may be called on any loop and answers there. Nothing in here waits while the
// core decides, so resident models, health and the queue answer at once whatever loads or stops.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/option_store.h"
#include "backends/wrapped_server.h"
#include "residency/core.h"
#include "router/errors.h"
#include "router/event_hub.h"
#include "router/lease.h"
#include "router/memory_gauge.h"
#include "router/metrics.h"
#include "router/model_context.h"
#include "router/option_report.h"
#include "router/running.h"

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
struct ServerReport {
  residency::ServerView view;
  backends::ServerFacts facts;
  backends::ModelPtr model;
  backends::LoadOptions options;
  bool streaming = false;        // at least one answer of it is a stream
  Device device = Device::none;  // it computes on: as its process says, before that as was expected of the load
};

struct Report {
  residency::Snapshot snapshot;
  std::vector<ServerReport> servers;
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
  std::shared_ptr<Running> running;

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

// What finished requests have used, all models together.
struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::optional<backends::RequestStats> last;
  ModelName last_model;
};

// What a reader of events gets at a time.
struct Update {
  std::uint64_t number = 0;     // of the last event that is in it
  std::optional<Report> whole;  // how everything stands; the events go on from there
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

class ModelRouter {
 public:
  // Everything referred to must outlive the router. `saved`: of models, and their pins; the router keeps it up to date.
  // `gauge` nullptr: nothing is known of memory, and no rule of it applies.
  ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends, RouterOptions options,
              backends::OptionStore saved = backends::OptionStore(), MemoryGauge* gauge = nullptr);
  ~ModelRouter();

  // A lease on the model, loading it first if need be. Cancelling gives up the place in the queue; a load nobody else
  // waits for is aborted. Errors: those of residency and backends.
  // `context`: tokens that the request wants its conversation to have (0: whatever there is). A model that has fewer is
  // loaded anew with so many, as load() would do it; invalid_option where that can't be.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, std::uint64_t context = 0);
  // Only if the model can take the request at once and this is the home loop; else an empty lease.
  Lease try_acquire(const ModelName& model, std::uint64_t context = 0);

  // Loads as told (or touches what is loaded just so); what `options` leave open is decided by what is saved for the
  // model (except for what they say shall not count), then by the configuration. True: it was in memory already.
  // `save`: once it is loaded, `options` are saved for it, over what was saved before.
  async::Task<Result<bool>> load(backends::ModelPtr model, OptionWish options, std::optional<bool> pin,
                                 bool save = false);
  async::Task<Result<>> unload(ModelName model);
  async::Task<Result<UnloadReport>> unload_all();
  async::Task<Result<>> pin(ModelName model, bool pinned);
  // What is saved for the model, after this change. Errors: invalid_option and the like for values that were set,
  // not_saved.
  async::Task<Result<OptionReport>> options(backends::ModelPtr model, OptionChange change);
  // Of all models for which something is saved.
  async::Task<SavedOptions> saved_options();
  // The memory that load() with these options would take. Loads and evicts nothing.
  async::Task<Result<MemoryEstimate>> estimate(backends::ModelPtr model, OptionWish options);
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
  void count(RequestEnd end);
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
  using Answer = std::variant<residency::Granted, residency::Loaded, residency::Unloaded, residency::PinChanged,
                              residency::Relieved, Error>;
  // Somebody waiting for the core's answer. Leaves the queue when it goes without one.
  class Ticket;

  // All of these on the home loop.
  residency::Now now() const { return {timers_.now(), timers_.wall_now()}; }
  void dispatch(residency::Event event);
  Picture look() const;
  void run(residency::ActionList& actions);
  void on(const residency::StartLoad& action);
  void on(const residency::AbortLoad& action);
  void on(const residency::StopServer& action);
  void on(const residency::Downsize& action);
  void on(const residency::SampleMemory& action);
  void on(const residency::WatchMemory& action);
  void on(const residency::Relieved& action) { answer(action.ticket, action); }
  void on(const residency::Granted& action) { answer(action.ticket, action); }
  void on(const residency::Loaded& action) { answer(action.ticket, action); }
  void on(const residency::Unloaded& action) { answer(action.ticket, action); }
  void on(const residency::PinChanged& action);
  void on(const residency::Rejected& action) { answer(action.ticket, action.error); }
  void on(const residency::WakeAt& action);
  void answer(residency::TicketId ticket, Answer answer);

  // The backend of a model, and what `options` come to there.
  struct Resolved {
    backends::Backend* backend;
    backends::LoadOptions options;
  };
  Result<Resolved> resolve(const models::ModelInfo& model, const backends::LoadOptions& options) const;
  // Without what depends on the machine's memory. Its files are there.
  async::Task<Result<std::shared_ptr<LoadSpec>>> make_spec(backends::ModelPtr model, OptionWish options);
  // All of it, and whether such a load can succeed on this machine at all.
  async::Task<Result<residency::SpecPtr>> checked_spec(backends::ModelPtr model, OptionWish options);
  Lease make_lease(residency::LeaseId id, residency::ServerId server);
  void return_lease(residency::LeaseId lease);
  async::Task<void> run_load(std::shared_ptr<Running> running);
  async::Task<void> watch(std::weak_ptr<Running> watched);
  async::Task<void> end_hung(std::shared_ptr<Running> running);
  async::Task<void> give_up(std::shared_ptr<Running> running, Millis grace);
  void forget(const std::shared_ptr<Running>& running);
  async::Task<void> wake(MonoTime when);

  async::Task<Result<Lease>> acquire_here(backends::ModelPtr model, std::uint64_t context);
  // Loads it, if need be, with what `options` say of such a load.
  async::Task<Result<Lease>> acquire_new(backends::ModelPtr model, OptionWish options);
  async::Task<Result<bool>> load_here(backends::ModelPtr model, OptionWish options, std::optional<bool> pin, bool save);
  async::Task<Result<>> unload_here(ModelName model);
  async::Task<Result<UnloadReport>> unload_all_here();
  async::Task<Result<>> pin_here(ModelName model, bool pinned);
  // model_options.cpp
  async::Task<Result<OptionReport>> options_here(backends::ModelPtr model, OptionChange change);
  // The options of a load that says this, not resolved yet.
  backends::LoadOptions wanted(const ModelName& model, const OptionWish& wish) const;
  // What a model and a load say, with what the configuration says behind it.
  backends::LoadOptions with_defaults(const backends::LoadOptions& said) const;
  async::Task<SavedOptions> saved_options_here() { co_return saved_.all(); }
  Result<> save_loaded(const ModelName& model, const OptionWish& requested);
  void save_pin(const ModelName& model, bool pinned);
  void remember_request(const ModelName& model, const OptionWish& requested);
  // Tells the core how models in memory leave it by themselves, after what is saved or configured has changed.
  void update_eviction();
  // model_router_context.cpp
  async::Task<Result<Lease>> acquire_with(backends::ModelPtr model, std::uint64_t tokens);
  std::optional<OptionWish> wish_for(const backends::ModelPtr& model, std::uint64_t tokens) const;
  const Running* resident(const ModelName& model) const;
  async::Task<void> refresh_free();
  std::map<ModelType, std::uint64_t> comes_back() const;
  ModelContext predicted(const models::ModelInfo& model, const backends::LoadOptions& options,
                         std::uint64_t comes_back) const;
  async::Task<std::vector<ModelContext>> contexts_here(std::vector<backends::ModelPtr> models);
  // model_router_memory.cpp
  async::Task<void> sample_memory();
  async::Task<void> downsize(std::shared_ptr<Running> running);
  async::Task<residency::MemoryUse> memory_of(const LoadSpec& spec);
  async::Task<Result<PressureReport>> simulate_pressure_here(double pct);
  async::Task<Result<MemoryEstimate>> estimate_here(backends::ModelPtr model, OptionWish options);
  async::Task<Report> report_here();
  async::Task<std::optional<double>> progress_here(ModelName model);
  async::Task<Totals> totals_here();
  async::Task<MetricsReport> metrics_here();
  async::Task<std::vector<Resident>> residents_here();
  void count_here(const RequestEnd& end);
  void count_use(const residency::ModelSpec& spec, const backends::RequestStats& stats);
  ModelMetrics& metrics_of(const residency::ModelSpec& spec);
  async::Task<Update> next_update(std::optional<std::uint64_t> seen, Millis patience);
  async::Task<void> end_events_here();
  async::Task<void> stop_here(Millis deadline);

  async::Loop& home_;
  async::Timers& timers_;
  const std::vector<backends::Backend*> backends_;

  // Owned by the home loop.
  RouterOptions options_;
  backends::OptionStore saved_;
  MemoryGauge* const gauge_;       // may be nullptr
  residency::MemorySampled free_;  // as of free_at_
  std::optional<MonoTime> free_at_;
  residency::Core core_;
  std::unordered_map<residency::ServerId, std::shared_ptr<Running>> running_;
  std::unordered_map<residency::TicketId, Ticket*> tickets_;
  std::uint64_t last_ticket_ = 0;
  std::vector<residency::Event> events_;  // raised while actions ran
  residency::ActionList actions_;
  bool dispatching_ = false;
  Totals totals_;
  Metrics metrics_;
  const MonoTime started_;
  EventHub hub_;
  async::Event idle_;  // no server is left
  async::TaskGroup alarm_;
  async::TaskGroup tasks_;
};

}  // namespace corral::router
