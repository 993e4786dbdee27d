#include "router/model_router.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/external/stranger.h"
#include "residency/errors.h"
#include "router/instances/plain_request.h"
#include "router/options/eviction.h"

namespace corral::router {
namespace {

ProcessOptions process_options(const RouterOptions& options) { return {options.stop_grace, options.watchdog_timeout}; }

}  // namespace

ModelRouter::ModelRouter(async::Loop& home, async::Timers& timers, std::vector<backends::Backend*> backends,
                         RouterOptions options, backends::OptionStore saved, MemorySampler* sampler)
    : home_(home),
      timers_(timers),
      started_(timers.now()),
      wishes_(std::move(backends), std::move(saved)),
      driver_(home.executor(), timers, residency::Core(options.residency, wishes_.pins()), *this),
      hub_(home.executor(), timers, [this] { return look(); }),
      memory_(home.executor(), driver_, sampler),
      checks_(home.executor(), driver_, memory_),
      processes_(home.executor(), timers, driver_, counters_, hub_, process_options(options)),
      request_checks_(home.executor(), timers),
      contexts_(timers, driver_, processes_, wishes_, sampler) {
  wishes_.configure(std::move(options.default_options), std::move(options.defaults_without_args), options.load_timeout);
}

ModelRouter::~ModelRouter() = default;

// ---- leases

Lease ModelRouter::make_lease(residency::LeaseId id, residency::InstanceId instance) {
  auto running = processes_.find(instance);
  if (!running) return {};
  return Lease(std::move(running), [this, id] { return_lease(id); });
}

void ModelRouter::return_lease(residency::LeaseId lease) {
  if (home_.executor().running_in_this_thread()) {
    driver_.return_lease(lease);
  } else {
    home_.post([this, lease] { driver_.return_lease(lease); });
  }
}

Lease ModelRouter::try_acquire(const ModelName& model, std::uint64_t context, residency::RequestOrigin origin) {
  if (!home_.executor().running_in_this_thread()) return {};
  if (context > 0) {
    const RunningInstance* running = processes_.resident(model);
    if (running == nullptr || running->context_window < context) return {};
  }
  const auto lease = driver_.try_acquire(model, origin);
  return lease ? make_lease(lease->id, lease->instance) : Lease();
}

async::Task<Result<Lease>> ModelRouter::acquire_here(backends::ModelPtr model, LeaseRequest request) {
  if (request.requester.origin == residency::RequestOrigin::peer)
    co_return co_await acquire_for_peer(std::move(model), std::move(request));
  if (request.context.tokens > 0) {
    // Some external backends have an unknown context: they reject too large requests themselves.
    const auto resolved = wishes_.resolve(*model, backends::LoadOptions());
    const bool known =
        !resolved || dynamic_cast<const backends::Stranger*>(resolved->backend) == nullptr || contexts_.most(model) > 0;
    if (known) co_return co_await acquire_with(std::move(model), std::move(request));
  }
  co_return co_await acquire_new(std::move(model), OptionPatch(), std::move(request.asked));
}

async::Task<bool> ModelRouter::may_evict(std::shared_ptr<const LoadSpec> spec) {
  const auto* known = driver_.core().state().find(spec->name);
  if (known != nullptr && known->pending != nullptr) co_return false;
  const auto* loading = processes_.loading();
  if (loading != nullptr && loading->spec->name == spec->name) co_return false;
  if (processes_.resident(spec->name) != nullptr || processes_.all().empty()) co_return false;
  const auto looked = std::make_shared<LoadSpec>(*spec);
  const auto there = co_await looked->backend->check_files(looked->model, looked->load_options);
  if (!there) co_return false;  // the load will report the error
  co_await memory_.look_at(*looked);
  co_return driver_.may_evict(looked);
}

async::Task<Result<Lease>> ModelRouter::acquire_new(backends::ModelPtr model, OptionPatch options,
                                                    std::shared_ptr<const AskedRequest> asked,
                                                    residency::RequestOrigin origin) {
  bool looked = false;
  for (bool again = false;;) {
    if (auto lease = try_acquire(model->name, 0, origin)) co_return lease;
    const auto spec = wishes_.spec_of(model, options);
    if (!spec) co_return std::unexpected(spec.error());
    (*spec)->origin = origin;
    (*spec)->joins_only = held_.contains(model->name);
    const bool checked = asked && !(*spec)->joins_only && !is_plain(*asked, context_at_least(**spec));
    if (checked && co_await may_evict(*spec)) {
      auto checking = request_checks_.check(*spec, std::exchange(asked, nullptr));
      const auto fine = co_await std::move(checking);
      if (!fine) co_return std::unexpected(fine.error());
      continue;  // the state may have changed meanwhile
    }
    residency::Acquire question{{}, *spec};
    auto asking = driver_.ask(std::move(question));
    auto answer = co_await std::move(asking);
    if (const auto* error = std::get_if<Error>(&answer)) {
      // After a cooldown error: replaced files may be tried at once.
      const bool cooling = error->code == residency::errc::cooling_down && !looked;
      looked = true;
      if (!cooling) co_return std::unexpected(*error);
      const auto there = co_await (*spec)->backend->check_files(model, (*spec)->load_options);
      const auto files = (*spec)->backend->files_state(*model, (*spec)->load_options);
      if (!there || files == (*spec)->files) co_return std::unexpected(*error);
      continue;
    }
    const auto& granted = std::get<residency::Granted>(answer);
    if (auto lease = make_lease(granted.lease, granted.instance)) co_return lease;
    // The process died between the grant and now; it has done nothing for the request yet.
    return_lease(granted.lease);
    if (again) {
      co_return fail(errc::backend_died,
                     fmt::format("the backend of '{}' ended right after its load", model->name.value()));
    }
    again = true;
  }
}

// Peer requests never change the options of loads.
async::Task<Result<Lease>> ModelRouter::acquire_for_peer(backends::ModelPtr model, LeaseRequest request) {
  const auto tokens = request.context.tokens;
  const auto too_few = [&](std::uint64_t has) {
    return fail(
        residency::errc::not_here,
        fmt::format("'ctx_size' is {}, but '{}' has {} tokens of context here", tokens, model->name.value(), has),
        "ctx_size");
  };
  if (tokens > 0) {
    co_await contexts_.refresh();
    const RunningInstance* running = processes_.resident(model->name);
    const auto has = running != nullptr ? running->context_window : contexts_.most(model);
    if (tokens > has) co_return too_few(has);
  }
  auto lease = co_await acquire_new(model, OptionPatch(), std::move(request.asked), residency::RequestOrigin::peer);
  if (lease && lease->context_window() < tokens) co_return too_few(lease->context_window());
  co_return lease;
}

namespace {

Error not_yours(const ModelName& model, std::uint64_t tokens, std::uint64_t most) {
  return {make_error_code(errc::context_not_yours),
          fmt::format("'ctx_size' is {}, but '{}' has {} tokens of context, and this key doesn't decide how models are "
                      "loaded: take that or less, or use a key with the scope admin, here or for a load with more",
                      tokens, model.value(), most),
          "ctx_size"};
}

}  // namespace

// If a request needs more context, the model is reloaded as by a load. If it needs less, it gets the existing context.
async::Task<Result<Lease>> ModelRouter::acquire_with(backends::ModelPtr model, LeaseRequest request) {
  const auto tokens = request.context.tokens;
  const auto trained = model->traits.context_length;
  if (trained != 0 && tokens > trained) {
    co_return fail(backends::errc::invalid_option,
                   fmt::format("'ctx_size' is {}, but '{}' was trained with {} tokens of context: take that or less",
                               tokens, model->name.value(), trained),
                   "ctx_size");
  }
  co_await contexts_.refresh();
  constexpr int kAttempts = 3;  // other requests may reload it meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto lease = try_acquire(model->name, tokens)) co_return lease;
    auto wish = contexts_.wish_for(model, tokens);
    if (wish && !request.context.may_reload) {
      const auto most = contexts_.most(model);
      if (tokens > most) co_return std::unexpected(not_yours(model->name, tokens, most));
    }
    const bool loaded = processes_.resident(model->name) != nullptr;
    if (held_.contains(model->name)) wish.reset();  // its group's plan sets the context
    if (wish && loaded) {
      auto told = processes_.resident(model->name)->requested;
      const auto reloaded = co_await load_here(model, std::move(*wish), std::nullopt, false);
      if (!reloaded) co_return std::unexpected(reloaded.error());
      note_requested(model->name, told);  // a request doesn't change the options of later loads
      continue;
    }
    auto lease = co_await acquire_new(model, wish ? std::move(*wish) : OptionPatch(), request.asked);
    if (!lease || lease->context_window() >= tokens) co_return lease;
  }
  const RunningInstance* running = processes_.resident(model->name);
  co_return fail(backends::errc::invalid_option,
                 fmt::format("'ctx_size' is {}, but '{}' has a context of {} tokens here: take that or less", tokens,
                             model->name.value(), running == nullptr ? 0 : running->context_window),
                 "ctx_size");
}

// ---- explicit loads and unloads

void ModelRouter::note_requested(const ModelName& model, const OptionPatch& options) {
  for (const auto& [id, running] : processes_.all()) {
    if (running->spec->name == model && !running->stopping) running->requested = options;
  }
}

async::Task<Result<bool>> ModelRouter::load_here(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                                 bool save) {
  const auto spec = wishes_.spec_of(model, options);
  if (!spec) co_return std::unexpected(spec.error());
  if (pin) kept_pins_.erase(model->name);
  residency::Load question{{}, *spec, pin};
  auto asking = driver_.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  note_requested(model->name, options);
  if (save) {
    const auto kept = wishes_.save_loaded(model->name, options);
    if (!kept) co_return std::unexpected(kept.error());
  }
  co_return std::get<residency::Loaded>(answer).was_resident;
}

async::Task<Result<>> ModelRouter::unload_here(ModelName model) {
  residency::Unload question{{}, std::move(model)};
  auto asking = driver_.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<UnloadReport>> ModelRouter::unload_all_here() {
  auto asking = driver_.ask(residency::UnloadAll());
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& unloaded = std::get<residency::Unloaded>(answer);
  co_return UnloadReport{std::move(unloaded.unloaded), std::move(unloaded.draining)};
}

async::Task<Result<>> ModelRouter::pin_here(ModelName model, bool pinned) {
  kept_pins_.erase(model);
  residency::Pin question{{}, std::move(model), pinned};
  auto asking = driver_.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<PressureReport>> ModelRouter::simulate_pressure_here(double pct) {
  residency::SimulatePressure question{{}, pct};
  auto asking = driver_.ask(question);
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& relieved = std::get<residency::Relieved>(answer);
  co_return PressureReport{std::move(relieved.downsized), std::move(relieved.evicted)};
}

async::Task<Result<MemoryEstimate>> ModelRouter::estimate_here(backends::ModelPtr model, OptionPatch options) {
  const auto made = wishes_.spec_of(model, options);
  if (!made) co_return std::unexpected(made.error());
  const LoadSpec& spec = **made;
  const auto there = co_await spec.backend->check_files(spec.model, spec.load_options);
  if (!there) co_return std::unexpected(there.error());
  co_return co_await spec.backend->estimate(spec.model, spec.load_options);
}

// ---- options

async::Task<Result<OptionReport>> ModelRouter::options_here(backends::ModelPtr model, OptionChange change) {
  const bool dry_run = change.dry_run;
  const bool supposes = change.supposes();
  co_await contexts_.refresh();
  const auto about = model;
  auto changing = wishes_.change(std::move(model), std::move(change), driver_);
  auto report = co_await std::move(changing);
  if (report) {
    report->window = contexts_.predicted(*about, report->given, 0);
    const RunningInstance* const running = processes_.resident(about->name);
    if (running != nullptr && (!supposes || !report->needs_reload)) report->window.usable = running->context_window;
  }
  if (report && !dry_run) update_eviction();
  co_return report;
}

void ModelRouter::update_eviction() {
  std::vector<residency::ChangeEviction> changes;
  for (const auto& [id, running] : processes_.all()) {
    const auto& name = running->spec->name;
    if (running->stopping) continue;
    changes.push_back({name, eviction_of(wishes_.wanted(name, running->requested))});
  }
  for (auto& change : changes) driver_.dispatch(std::move(change));
}

void ModelRouter::on(const residency::StartLoad& action) {
  processes_.on(action);
  // Includes changes made while it was queued.
  const auto& spec = LoadSpec::of(action.spec);
  if (const auto eviction = eviction_of(wishes_.wanted(spec.name, spec.requested)); eviction != spec.eviction)
    driver_.dispatch(residency::ChangeEviction{spec.name, eviction});
}

void ModelRouter::change(RouterOptions options) {
  const auto residency = options.residency;
  processes_.change(process_options(options));
  wishes_.configure(std::move(options.default_options), std::move(options.defaults_without_args), options.load_timeout);
  driver_.dispatch(residency::ChangeSettings{residency});
  update_eviction();
}

// ---- the end

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
