#include "router/model_router.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/recipe.h"
#include "residency/npu_rule.h"
#include "router/eviction.h"

namespace corral::router {
namespace {

// A load may take this long however small the model, plus its bytes at the speed of a slow disk.
constexpr Millis kLoadDeadlineBase{60'000};
constexpr std::uint64_t kSlowDiskBytesPerMilli = 50'000;

Millis default_deadline(Bytes size) { return kLoadDeadlineBase + Millis(size.value() / kSlowDiskBytesPerMilli); }

residency::LoadFault fault_of(const Error& error) {
  using residency::LoadFault;
  if (error.code == backends::errc::model_file_not_found) return LoadFault::file_not_found;
  if (error.code == backends::errc::invalid_option || error.code == backends::errc::backend_not_installed)
    return LoadFault::invalid;
  if (error.code == backends::errc::load_never_fits) return LoadFault::never_fits;
  if (error.code == backends::errc::load_out_of_memory) return LoadFault::out_of_memory;
  return error.code == backends::errc::load_crashed ? LoadFault::crashed : LoadFault::other;
}

Error not_installed(const models::ModelInfo& model) {
  const Recipe* const recipe = find_recipe(model.recipe);
  const auto needs = recipe && !recipe->program.empty()
                         ? fmt::format("needs the program '{}', which this server has no backend for", recipe->program)
                         : std::string("isn't known here");
  return {make_error_code(errc::unknown_recipe),
          fmt::format("model '{}' is served by the recipe '{}', which {}", model.name.value(), model.recipe, needs),
          "model"};
}

}  // namespace

class ModelRouter::Ticket {
 public:
  explicit Ticket(ModelRouter& router) : router_(router), id(++router.last_ticket_), done_(router.home_.executor()) {
    router_.tickets_[id] = this;
  }
  ~Ticket() {
    router_.tickets_.erase(id);
    if (!answer_) router_.dispatch(residency::CancelTicket{id});
    // Granted, but whoever waited has gone: nobody else would give the lease back.
    if (const auto* granted = answer_ ? std::get_if<residency::Granted>(&*answer_) : nullptr)
      router_.return_lease(granted->lease);
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  void set(Answer answer) {
    answer_ = std::move(answer);
    done_.set();
  }
  // The answer; what it holds is the caller's from then on.
  async::Task<Answer> wait() {
    co_await done_.wait();
    co_return std::exchange(answer_, Error(make_error_code(errc::shutting_down), "answered already")).value();
  }

 private:
  ModelRouter& router_;

 public:
  const residency::TicketId id;

 private:
  async::Event done_;
  std::optional<Answer> answer_;
};

ModelRouter::ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends,
                         RouterOptions options, backends::OptionStore saved, MemoryGauge* gauge)
    : home_(home),
      timers_(timers),
      backends_(std::move(backends)),
      options_(std::move(options)),
      saved_(std::move(saved)),
      gauge_(gauge),
      core_(options_.residency, saved_.pins()),
      started_(timers.now()),
      hub_(home.executor(), timers, [this] { return look(); }),
      idle_(home.executor()),
      alarm_(home.executor()),
      tasks_(home.executor()) {
  idle_.set();
}

ModelRouter::~ModelRouter() = default;

// ---- events in, actions out

void ModelRouter::dispatch(residency::Event event) {
  events_.push_back(std::move(event));
  if (dispatching_) return;
  dispatching_ = true;
  while (!events_.empty()) {
    auto batch = std::exchange(events_, {});
    for (auto& next : batch) {
      actions_.clear();
      core_.handle(next, now(), actions_);
      run(actions_);
      hub_.stepped(core_.revision());
    }
  }
  dispatching_ = false;
}

void ModelRouter::run(residency::ActionList& actions) {
  for (const auto& action : actions) {
    std::visit([this](const auto& known) { on(known); }, action);
  }
}

void ModelRouter::answer(residency::TicketId ticket, Answer answer) {
  if (const auto found = tickets_.find(ticket); found != tickets_.end()) found->second->set(std::move(answer));
}

void ModelRouter::on(const residency::StartLoad& action) {
  const auto running = Running::make(action.server, action.spec, home_.executor());
  const auto& spec = LoadSpec::of(action.spec);
  running->server = spec.backend->create(spec.model, spec.load_options);
  running->requested = spec.requested;
  running_[action.server] = running;
  // What was changed while it was queued counts too.
  if (const auto eviction = eviction_of(wanted(spec.name, spec.requested)); eviction != spec.eviction)
    dispatch(residency::ChangeEviction{spec.name, eviction});
  idle_.reset();
  log::info("router", "loading {}{}", spec.name.value(), action.attempt > 1 ? " again, with all memory free" : "");
  if (options_.watchdog_timeout > Millis(0)) {
    running->watchdog.emplace(options_.watchdog_timeout);
    running->watching.spawn("watchdog", watch(running));
  }
  running->tasks.spawn("load", run_load(running));
}

void ModelRouter::on(const residency::AbortLoad& action) {
  const auto found = running_.find(action.server);
  if (found == running_.end()) return;
  const auto running = found->second;
  log::info("router", "load of {} given up ({})", running->spec->name.value(), residency::name_of(action.reason));
  running->stopping = true;
  metrics_of(*running->spec).loads[static_cast<std::size_t>(LoadOutcome::aborted)] += 1;
  tasks_.spawn("abort load", give_up(running, Millis(0)));
}

void ModelRouter::on(const residency::StopServer& action) {
  const auto found = running_.find(action.server);
  if (found == running_.end()) return;
  const auto running = found->second;
  log::info("router", "unloading {} ({})", running->spec->name.value(), residency::name_of(action.reason));
  running->stopping = true;
  metrics_of(*running->spec).stops[static_cast<std::size_t>(action.reason)] += 1;
  tasks_.spawn("stop", give_up(running, options_.stop_grace));
}

void ModelRouter::on(const residency::PinChanged& action) {
  save_pin(action.model, action.pinned);
  if (action.ticket) answer(*action.ticket, action);
}

void ModelRouter::on(const residency::WakeAt& action) {
  alarm_.cancel();
  if (action.time) alarm_.spawn("alarm", wake(*action.time));
}

async::Task<void> ModelRouter::wake(MonoTime when) {
  co_await timers_.sleep_until(when);
  dispatch(residency::Tick{});
}

// ---- one server's life

async::Task<void> ModelRouter::run_load(std::shared_ptr<Running> running) {
  backends::WrappedServer::Hooks hooks;
  hooks.progress = [this, weak = std::weak_ptr(running)](double fraction) {
    const auto alive = weak.lock();
    if (alive) alive->progress = fraction;
    if (alive && alive->watchdog) alive->watchdog->alive();
    hub_.progressed();
  };
  hooks.request_done = [this, spec = running->spec](const backends::RequestStats& stats) { count_use(*spec, stats); };
  const auto begin = timers_.now();
  auto loaded = co_await running->server->load(std::move(hooks));
  if (running->stopping) co_return;  // AbortLoad answers for it
  if (!loaded) {
    if (!running->hung.empty() && loaded.error().code == backends::errc::load_crashed)
      loaded.error().message = fmt::format("'{}' {}", running->spec->name.value(), running->hung);
    log::warning("router", "load of {} failed: {}", running->spec->name.value(), loaded.error().message);
    running->end = loaded.error().message;
    metrics_of(*running->spec).loads[static_cast<std::size_t>(LoadOutcome::failed)] += 1;
    hub_.note(running->id, loaded.error());
    forget(running);
    dispatch(residency::LoadFailed{running->id, fault_of(loaded.error()), loaded.error()});
    co_return;
  }
  running->loading = false;
  running->context_window = running->server->facts().context_window;
  running->hung.clear();
  if (running->watchdog) running->watchdog->alive();
  auto& counted = metrics_of(*running->spec);
  counted.loads[static_cast<std::size_t>(LoadOutcome::loaded)] += 1;
  counted.load_seconds.observe(seconds_between(begin, timers_.now()));
  const auto& spec = LoadSpec::of(running->spec);
  const ModelContext context{.usable = running->context_window,
                             .trained = spec.model->traits.context_length,
                             .asked = spec.load_options.ctx_size.value_or(-1)};
  log::info("router", "{} is ready, with a context of {} tokens", spec.name.value(), context.usable);
  if (const auto warning = warning_of(context); !warning.empty())
    log::warning("router", "{}: {}", spec.name.value(), warning);
  dispatch(residency::LoadSucceeded{running->id});
  running->end = co_await running->server->until_gone();
  if (running->stopping) co_return;  // StopServer answers for it
  if (!running->hung.empty()) running->end = running->hung;
  log::warning("router", "{} ended: {}", running->spec->name.value(), running->end);
  metrics_of(*running->spec).crashes += 1;
  hub_.note(running->id, Error(make_error_code(errc::backend_died), running->end));
  forget(running);
  dispatch(residency::ServerDied{running->id});
}

async::Task<void> ModelRouter::give_up(std::shared_ptr<Running> running, Millis grace) {
  // A load in the middle of starting its process must have let go of it before the process can be stopped for sure.
  running->watching.cancel();
  running->tasks.cancel();
  co_await running->tasks.join();
  co_await running->server->stop(grace);
  forget(running);
  dispatch(residency::ServerStopped{running->id});
}

void ModelRouter::forget(const std::shared_ptr<Running>& running) {
  running->gone.set();
  running->watching.cancel();
  running_.erase(running->id);
  if (running_.empty()) idle_.set();
}

// ---- leases

Lease ModelRouter::make_lease(residency::LeaseId id, residency::ServerId server) {
  const auto found = running_.find(server);
  if (found == running_.end()) return {};
  return Lease(found->second, [this, id] { return_lease(id); });
}

void ModelRouter::return_lease(residency::LeaseId lease) {
  if (home_.executor().running_in_this_thread()) {
    dispatch(residency::ReturnLease{lease});
  } else {
    home_.post([this, lease] { dispatch(residency::ReturnLease{lease}); });
  }
}

Lease ModelRouter::try_acquire(const ModelName& model, std::uint64_t context) {
  if (!home_.executor().running_in_this_thread()) return {};
  if (context > 0) {
    const Running* running = resident(model);
    if (running == nullptr || running->context_window < context) return {};
  }
  const auto lease = core_.try_acquire(model, now());
  if (lease) hub_.stepped(core_.revision());
  return lease ? make_lease(lease->id, lease->server) : Lease();
}

Result<ModelRouter::Resolved> ModelRouter::resolve(const models::ModelInfo& model,
                                                   const backends::LoadOptions& options) const {
  const auto backend = std::ranges::find(backends_, model.recipe, [](const auto* known) { return known->recipe(); });
  if (backend == backends_.end()) {
    return std::unexpected(not_installed(model));
  }
  auto resolved = (*backend)->resolve(model, options);
  if (!resolved) return std::unexpected(resolved.error());
  return Resolved{*backend, std::move(*resolved)};
}

async::Task<Result<std::shared_ptr<LoadSpec>>> ModelRouter::make_spec(backends::ModelPtr model, OptionWish options) {
  auto resolved = resolve(*model, wanted(model->name, options));
  if (!resolved) co_return std::unexpected(resolved.error());
  const auto there = co_await resolved->backend->check_files(model, resolved->options);
  if (!there) co_return std::unexpected(there.error());
  auto spec = std::make_shared<LoadSpec>();
  spec->name = model->name;
  spec->type = model->type;
  spec->recipe = model->recipe;
  spec->options = backends::fingerprint(resolved->options);
  spec->load_deadline = options_.load_timeout.count() > 0 ? options_.load_timeout : default_deadline(model->size);
  spec->model = model;
  spec->load_options = std::move(resolved->options);
  spec->eviction = eviction_of(spec->load_options);
  spec->requested = options;
  spec->backend = resolved->backend;
  co_return spec;
}

async::Task<Result<residency::SpecPtr>> ModelRouter::checked_spec(backends::ModelPtr model, OptionWish options) {
  auto made = co_await make_spec(model, options);
  if (!made) co_return std::unexpected(made.error());
  LoadSpec& spec = **made;
  const auto possible = co_await spec.backend->preflight(spec.model, spec.load_options);
  if (!possible) co_return std::unexpected(possible.error());
  const Device machine = gauge_ == nullptr ? Device::cpu : co_await gauge_->devices();
  spec.device = spec.backend->device(*spec.model, spec.load_options, machine);
  spec.npu = npu_use(spec.recipe, spec.device);
  spec.memory = co_await memory_of(spec);
  co_return std::move(*made);
}

// ---- requests, on the home loop

async::Task<Result<Lease>> ModelRouter::acquire_here(backends::ModelPtr model, std::uint64_t context) {
  if (context > 0) co_return co_await acquire_with(std::move(model), context);
  co_return co_await acquire_new(std::move(model), OptionWish());
}

async::Task<Result<Lease>> ModelRouter::acquire_new(backends::ModelPtr model, OptionWish options) {
  for (bool again = false;; again = true) {
    if (auto lease = try_acquire(model->name)) co_return lease;
    const auto spec = co_await checked_spec(model, options);
    if (!spec) co_return std::unexpected(spec.error());
    Ticket ticket(*this);
    dispatch(residency::Acquire{ticket.id, *spec});
    auto answer = co_await ticket.wait();
    if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
    const auto& granted = std::get<residency::Granted>(answer);
    if (auto lease = make_lease(granted.lease, granted.server)) co_return lease;
    // The process died between the grant and this moment; nothing of the request has been done yet.
    return_lease(granted.lease);
    if (again) {
      co_return fail(errc::backend_died,
                     fmt::format("the backend of '{}' ended right after its load", model->name.value()));
    }
  }
}

async::Task<Result<bool>> ModelRouter::load_here(backends::ModelPtr model, OptionWish options, std::optional<bool> pin,
                                                 bool save) {
  const auto spec = co_await checked_spec(model, options);
  if (!spec) co_return std::unexpected(spec.error());
  Ticket ticket(*this);
  dispatch(residency::Load{ticket.id, *spec, pin});
  auto answer = co_await ticket.wait();
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  remember_request(model->name, options);
  if (save) {
    const auto kept = save_loaded(model->name, options);
    if (!kept) co_return std::unexpected(kept.error());
  }
  co_return std::get<residency::Loaded>(answer).was_resident;
}

async::Task<Result<>> ModelRouter::unload_here(ModelName model) {
  Ticket ticket(*this);
  dispatch(residency::Unload{ticket.id, model});
  auto answer = co_await ticket.wait();
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<UnloadReport>> ModelRouter::unload_all_here() {
  Ticket ticket(*this);
  dispatch(residency::UnloadAll{ticket.id});
  auto answer = co_await ticket.wait();
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& unloaded = std::get<residency::Unloaded>(answer);
  co_return UnloadReport{std::move(unloaded.unloaded), std::move(unloaded.draining)};
}

async::Task<Result<>> ModelRouter::pin_here(ModelName model, bool pinned) {
  Ticket ticket(*this);
  dispatch(residency::Pin{ticket.id, model, pinned});
  auto answer = co_await ticket.wait();
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<PressureReport>> ModelRouter::simulate_pressure_here(double pct) {
  Ticket ticket(*this);
  dispatch(residency::SimulatePressure{ticket.id, pct});
  auto answer = co_await ticket.wait();
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& relieved = std::get<residency::Relieved>(answer);
  co_return PressureReport{std::move(relieved.downsized), std::move(relieved.evicted)};
}

async::Task<Result<MemoryEstimate>> ModelRouter::estimate_here(backends::ModelPtr model, OptionWish options) {
  const auto made = co_await make_spec(model, options);
  if (!made) co_return std::unexpected(made.error());
  const LoadSpec& spec = **made;
  co_return co_await spec.backend->estimate(spec.model, spec.load_options);
}

async::Task<Report> ModelRouter::report_here() {
  const auto moment = now();
  Report report{core_.snapshot(moment), {}, std::nullopt, moment.wall};
  for (const auto& view : report.snapshot.servers) {
    const auto& spec = LoadSpec::of(view.spec);
    auto options = backends::merge(options_of(view.eviction), spec.load_options);
    ServerReport entry{view, {}, spec.model, std::move(options), false, spec.device};
    if (const auto found = running_.find(view.id); found != running_.end()) {
      entry.facts = found->second->server->facts();
      entry.streaming = found->second->streams > 0;
      if (entry.facts.device != Device::none) entry.device = entry.facts.device;
    }
    report.servers.push_back(std::move(entry));
  }
  if (report.snapshot.loading) {
    const auto found = running_.find(report.snapshot.loading->id);
    if (found != running_.end()) report.load_progress = found->second->progress;
  }
  co_return report;
}

async::Task<std::optional<double>> ModelRouter::progress_here(ModelName model) {
  for (const auto& [id, running] : running_) {
    if (running->loading && running->spec->name == model) co_return running->progress;
  }
  co_return std::nullopt;
}

async::Task<Totals> ModelRouter::totals_here() { co_return totals_; }

async::Task<void> ModelRouter::stop_here(Millis deadline) {
  hub_.close();
  dispatch(residency::Shutdown{});
  auto all_gone = [](async::Event& idle) -> async::Task<bool> {
    co_await idle.wait();
    co_return true;
  };
  auto waiting = all_gone(idle_);
  const auto drained = co_await async::with_timeout(timers_, deadline, std::move(waiting));
  if (!drained) {
    const auto left = running_;  // a task may end, and forget its server, as soon as it is spawned
    for (const auto& [id, running] : left) {
      running->stopping = true;
      tasks_.spawn("force stop", give_up(running, Millis(0)));
    }
    co_await idle_.wait();
  }
  if (gauge_ != nullptr) gauge_->unwatch();
  alarm_.cancel();
  co_await alarm_.join();
  co_await tasks_.join();
}

void ModelRouter::change(RouterOptions options) {
  options_ = std::move(options);
  dispatch(residency::ChangeSettings{options_.residency});
  update_eviction();
}

std::string ModelRouter::leftovers() const {
  const auto& state = core_.state();
  const std::pair<std::size_t, const char*> counts[] = {
      {running_.size(), "backends"}, {state.servers.size(), "servers"}, {state.leases.size(), "leases"},
      {tickets_.size(), "tickets"},  {state.waiting.size(), "waiters"}, {state.unloads.size(), "unloads"},
      {tasks_.running(), "tasks"},   {alarm_.running(), "alarms"},      {events_.size(), "events"},
      {hub_.tasks(), "looks"},
  };
  std::string text;
  for (const auto& [count, what] : counts) {
    if (count > 0) fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return text;
}

}  // namespace corral::router
