// ModelRouter's methods for callers on any loop: they hop to the home loop and back.
#include "router/model_router.h"

namespace corral::router {
namespace {

// Calls `say` on the home loop.
template <typename Say, typename T = std::invoke_result_t<Say>>
async::Task<T> said_on(async::Executor home, Say say) {
  auto there = [](Say words) -> async::Task<T> { co_return words(); };
  auto task = there(std::move(say));
  co_return co_await async::run_on(home, std::move(task));
}

async::Task<void> close(EventHub& hub) {
  hub.close();
  co_return;
}

}  // namespace

async::Task<Result<Lease>> ModelRouter::acquire(backends::ModelPtr model, LeaseRequest request) {
  return async::run_on(home_.executor(), acquire_here(std::move(model), std::move(request)));
}

async::Task<Result<bool>> ModelRouter::load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                            bool save) {
  return async::run_on(home_.executor(), load_here(std::move(model), std::move(options), pin, save));
}

async::Task<Result<>> ModelRouter::unload(ModelName model) {
  return async::run_on(home_.executor(), unload_here(std::move(model)));
}

async::Task<Result<UnloadReport>> ModelRouter::unload_all() {
  return async::run_on(home_.executor(), unload_all_here());
}

async::Task<Result<>> ModelRouter::pin(ModelName model, bool pinned) {
  return async::run_on(home_.executor(), pin_here(std::move(model), pinned));
}

void ModelRouter::keep(ModelName model, Millis idle) {
  home_.post([this, model = std::move(model), idle] { keep_here(model, idle); });
}

async::Task<Result<OptionReport>> ModelRouter::options(backends::ModelPtr model, OptionChange change) {
  return async::run_on(home_.executor(), options_here(std::move(model), std::move(change)));
}

async::Task<Result<MemoryEstimate>> ModelRouter::estimate(backends::ModelPtr model, OptionPatch options) {
  return async::run_on(home_.executor(), estimate_here(std::move(model), std::move(options)));
}

async::Task<Result<PressureReport>> ModelRouter::simulate_pressure(double pct) {
  return async::run_on(home_.executor(), simulate_pressure_here(pct));
}

async::Task<std::vector<ModelContext>> ModelRouter::contexts(std::vector<backends::ModelPtr> models) {
  return async::run_on(home_.executor(), contexts_.of(std::move(models)));
}

async::Task<void> ModelRouter::stop(Millis deadline) { return async::run_on(home_.executor(), stop_here(deadline)); }

async::Task<SavedOptions> ModelRouter::saved_options() {
  return said_on(home_.executor(), [this] { return wishes_.all_saved(); });
}

async::Task<std::set<ModelName>> ModelRouter::pins() {
  return said_on(home_.executor(), [this] { return wishes_.pins(); });
}

async::Task<Report> ModelRouter::report() {
  return said_on(home_.executor(), [this] { return report_now(); });
}

async::Task<std::optional<double>> ModelRouter::progress(ModelName model) {
  return said_on(home_.executor(), [this, model = std::move(model)] {
    const auto* loading = processes_.loading();
    return loading != nullptr && loading->spec->name == model ? std::optional(loading->progress) : std::nullopt;
  });
}

async::Task<Totals> ModelRouter::totals() {
  return said_on(home_.executor(), [this] { return counters_.totals(); });
}

async::Task<MetricsReport> ModelRouter::metrics() {
  return said_on(home_.executor(), [this] {
    const auto uptime = std::chrono::duration_cast<Millis>(timers_.now() - started_);
    return MetricsReport{report_now(), counters_.models(), uptime};
  });
}

async::Task<std::vector<Resident>> ModelRouter::residents() {
  return said_on(home_.executor(), [this] { return residents_now(); });
}

async::Task<void> ModelRouter::end_events() { return async::run_on(home_.executor(), close(hub_)); }

void ModelRouter::count(RequestEnd end) {
  if (home_.executor().running_in_this_thread()) {
    counters_.ended(end);
  } else {
    home_.post([this, end = std::move(end)] { counters_.ended(end); });
  }
}

void ModelRouter::tell(NoticePtr notice) {
  if (home_.executor().running_in_this_thread()) {
    hub_.tell(std::move(notice));
  } else {
    home_.post([this, notice = std::move(notice)]() mutable { hub_.tell(std::move(notice)); });
  }
}

async::Task<Update> EventReader::next(Millis patience) {
  auto task = router_.next_update(seen_, patience);
  auto update = co_await async::run_on(router_.home_.executor(), std::move(task));
  seen_ = update.number;
  co_return update;
}

}  // namespace corral::router
