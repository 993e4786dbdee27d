#include "router/model_router.h"

#include <fmt/format.h>

#include "base/log.h"

namespace corral::router {
namespace {

constexpr Millis kPoolsAge{1'000};  // of a sample for reports

ProcessOptions process_options(const RouterOptions& options) { return {options.stop_grace, options.watchdog_timeout}; }

RouterSnapshot snapshot_of(const CoreDriver& driver, const ProcessManager& processes) {
  const auto* loading = processes.loading();
  return take_snapshot(driver.core(), driver.now(), loading == nullptr ? 0 : loading->progress);
}

}  // namespace

ModelRouter::ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends,
                         RouterOptions options, backends::OptionStore saved, MemorySampler* sampler)
    : home_(home),
      timers_(timers),
      started_(timers.now()),
      options_(std::move(backends), std::move(saved)),
      driver_(home.executor(), timers, residency::Core(options.residency, options_.pins()), *this),
      hub_(home.executor(), timers, [this] { return snapshot_of(driver_, processes_); }),
      memory_(home.executor(), driver_, options_, sampler),
      checks_(home.executor(), driver_, memory_),
      processes_(home.executor(), timers, driver_, counters_, hub_, process_options(options)),
      request_checks_(home.executor(), timers),
      contexts_(timers, driver_, processes_, options_, sampler),
      keep_alive_(driver_, processes_, options_),
      loads_({driver_, processes_, options_, contexts_, keep_alive_}),
      leases_({home_, driver_, processes_, options_, contexts_, memory_, request_checks_, loads_}),
      groups_({timers_, driver_, processes_, options_, leases_, loads_}) {
  options_.configure(std::move(options.default_options), std::move(options.defaults_without_args),
                     options.load_timeout);
}

ModelRouter::~ModelRouter() = default;

// ---- leases, loads, pins, options

async::Task<Result<Lease>> ModelRouter::acquire(backends::ModelPtr model, LeaseRequest request) {
  return at_home(leases_).call(&LeaseManager::acquire, std::move(model), std::move(request));
}

Lease ModelRouter::try_acquire(const ModelName& model, std::uint64_t context, residency::RequestOrigin origin) {
  return leases_.try_acquire(model, context, origin);
}

async::Task<Result<bool>> ModelRouter::load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                            bool save) {
  return at_home(loads_).call(&ModelLoads::load, std::move(model), std::move(options), pin, save);
}

async::Task<Result<>> ModelRouter::preload(backends::ModelPtr model) {
  return at_home(loads_).call(&ModelLoads::preload, std::move(model));
}

async::Task<Result<>> ModelRouter::unload(ModelName model) {
  return at_home(loads_).call(&ModelLoads::unload, std::move(model));
}

async::Task<Result<UnloadReport>> ModelRouter::unload_all() { return at_home(loads_).call(&ModelLoads::unload_all); }

async::Task<Result<>> ModelRouter::pin(ModelName model, bool pinned) {
  return at_home(loads_).call(&ModelLoads::pin, std::move(model), pinned);
}

void ModelRouter::keep(ModelName model, Millis idle) {
  home_.post([this, model = std::move(model), idle] { keep_alive_.keep(model, idle); });
}

async::Task<Result<OptionReport>> ModelRouter::options(backends::ModelPtr model, OptionChange change) {
  return at_home(loads_).call(&ModelLoads::options, std::move(model), std::move(change));
}

async::Task<SavedOptions> ModelRouter::saved_options() {
  return at_home(options_).run([](const ModelOptions& options) { return options.all_saved(); });
}

async::Task<std::set<ModelName>> ModelRouter::pins() {
  return at_home(options_).run([](const ModelOptions& options) { return options.pins(); });
}

async::Task<Result<MemoryEstimate>> ModelRouter::estimate(backends::ModelPtr model, OptionPatch options) {
  return at_home(loads_).call(&ModelLoads::estimate, std::move(model), std::move(options));
}

async::Task<std::vector<Projector>> ModelRouter::projectors(std::vector<backends::ModelPtr> models) {
  return at_home(contexts_).call(&ContextPlanner::projectors, std::move(models));
}

async::Task<std::vector<ModelContext>> ModelRouter::contexts(std::vector<backends::ModelPtr> models) {
  return at_home(contexts_).call(&ContextPlanner::of, std::move(models));
}

async::Task<Result<PressureReport>> ModelRouter::simulate_pressure(double pct) {
  return at_home(loads_).call(&ModelLoads::simulate_pressure, pct);
}

void ModelRouter::change(RouterOptions options) {
  const auto residency = options.residency;
  processes_.change(process_options(options));
  options_.configure(std::move(options.default_options), std::move(options.defaults_without_args),
                     options.load_timeout);
  driver_.dispatch(residency::ChangeSettings{residency});
  loads_.update_eviction();
}

// ---- reports

async::Task<Report> ModelRouter::report() {
  return at_home(*this).run([](ModelRouter& self) { return report_of(self.driver_, self.processes_); });
}

async::Task<MemoryReport> ModelRouter::memory() { return at_home(*this).call(&ModelRouter::memory_here); }

async::Task<MemoryReport> ModelRouter::memory_here() {
  auto* const sampler = memory_.sampler();
  if (sampler != nullptr && timers_.now() >= pools_until_) {
    auto sampling = sampler->pools();
    pools_ = co_await std::move(sampling);
    pools_until_ = timers_.now() + kPoolsAge;
  }
  co_return memory_report_of(driver_, processes_, sampler, pools_);
}

async::Task<std::filesystem::path> ModelRouter::log_file(ModelName model) {
  return at_home(processes_).run([model = std::move(model)](const ProcessManager& processes) {
    return processes.log_file(model);
  });
}

async::Task<std::optional<double>> ModelRouter::progress(ModelName model) {
  return at_home(processes_).run([model = std::move(model)](const ProcessManager& processes) {
    const auto* loading = processes.loading();
    return loading != nullptr && loading->spec->name == model ? std::optional(loading->progress) : std::nullopt;
  });
}

async::Task<Totals> ModelRouter::totals() {
  return at_home(counters_).run([](const Counters& counters) { return counters.totals(); });
}

async::Task<MetricsReport> ModelRouter::metrics() {
  return at_home(*this).run([](ModelRouter& self) {
    const auto uptime = std::chrono::duration_cast<Millis>(self.timers_.now() - self.started_);
    return MetricsReport{report_of(self.driver_, self.processes_), self.counters_.models(), uptime};
  });
}

async::Task<std::vector<Resident>> ModelRouter::residents() {
  return at_home(*this).run([](ModelRouter& self) { return residents_of(self.driver_, self.processes_); });
}

void ModelRouter::count(RequestEnd end) {
  if (home_.executor().running_in_this_thread()) {
    counters_.ended(end);
  } else {
    home_.post([this, end = std::move(end)] { counters_.ended(end); });
  }
}

// ---- events

EventReader::EventReader(ModelRouter& router) : router_(router), listening_(router.hub_.listen()) {}

async::Task<Update> EventReader::next(Millis patience) {
  auto updating = router_.at_home(router_).call(&ModelRouter::next_update, seen_, patience);
  auto update = co_await std::move(updating);
  seen_ = update.number;
  co_return update;
}

async::Task<Update> ModelRouter::next_update(std::optional<std::uint64_t> seen, Millis patience) {
  Update update;
  if (seen) {
    auto batch = co_await hub_.after(*seen, patience);
    update.events = std::move(batch.events);
    update.number = update.events.empty() ? *seen : update.events.back()->number;
    update.ended = batch.closed;
    if (!batch.lost) co_return update;
  }
  update.number = hub_.begin();
  update.whole = report_of(driver_, processes_);
  update.others = hub_.states();
  co_return update;
}

void ModelRouter::notify(NoticePtr notice) {
  if (home_.executor().running_in_this_thread()) {
    hub_.notify(std::move(notice));
  } else {
    home_.post([this, notice = std::move(notice)]() mutable { hub_.notify(std::move(notice)); });
  }
}

async::Task<void> ModelRouter::end_events() {
  return at_home(hub_).run([](EventHub& hub) { hub.close(); });
}

// ---- actions of the core

void ModelRouter::on(const residency::StartLoad& action) {
  processes_.on(action);
  loads_.update_eviction(LoadSpec::of(action.spec));
}

void ModelRouter::on(const residency::StopInstance& action) {
  const auto running = processes_.find(action.instance);
  processes_.on(action);
  if (running && action.reason != residency::StopReason::reload) keep_alive_.stopping(running->spec->name);
}

void ModelRouter::on(const residency::Recall& action) {
  const auto running = processes_.find(action.instance);
  if (!running) return;
  log::info("router", "{} is recalled: this node needs its memory", running->spec->name.value());
  const auto& recalled = LoadSpec::of(running->spec).recalled;
  if (recalled) recalled();
}

void ModelRouter::on(const residency::PinChanged& action) {
  if (KeepAlive::is_saved(action)) options_.save_pin(action.model, action.pinned);
}

// ---- the end

async::Task<void> ModelRouter::stop(Millis deadline) { return at_home(*this).call(&ModelRouter::stop_here, deadline); }

async::Task<void> ModelRouter::stop_here(Millis deadline) {
  hub_.close();
  driver_.dispatch(residency::Shutdown{});
  co_await processes_.stop(deadline);
  co_await memory_.stop();
  co_await checks_.stop();
  co_await request_checks_.stop();
  co_await driver_.stop();
}

std::string ModelRouter::leftovers() const {
  auto counts = driver_.leftovers();
  counts.emplace_back(processes_.all().size(), "processes");
  counts.emplace_back(processes_.tasks() + memory_.tasks() + checks_.tasks() + request_checks_.tasks(), "tasks");
  counts.emplace_back(hub_.tasks(), "looks");
  std::string text;
  for (const auto& [count, what] : counts) {
    if (count > 0) fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return text;
}

}  // namespace corral::router
