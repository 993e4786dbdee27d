// The interface of the router: leases, loads, pins, reports, events, from any loop. Its parts do the work, each with
// one job (docs/modules/router.md); this class connects them and passes actions of the residency core to them.
//
// The parts belong to the home loop. A method called on any loop runs there and completes on the caller's loop. No
// method waits while the core decides, so loaded models, health and the queue respond at once during loads and stops.
#pragma once

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
  Millis stop_grace{5'000};    // between asking a backend to end and forcing it
  Millis watchdog_timeout{0};  // of silence, then a backend counts as hung; 0: nobody watches
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
  // For the groups of a mesh. On the home loop.
  GroupLoads& groups() { return groups_; }

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
  async::Task<void> stop_here(Millis deadline);

  async::Loop& home_;
  async::Timers& timers_;

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
