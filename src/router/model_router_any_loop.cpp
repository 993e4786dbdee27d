// ModelRouter's methods for callers on any loop: they hop to the home loop and back.
#include "router/model_router.h"

namespace corral::router {

async::Task<Result<Lease>> ModelRouter::acquire(backends::ModelPtr model, std::uint64_t context) {
  auto task = acquire_here(std::move(model), context);
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<bool>> ModelRouter::load(backends::ModelPtr model, OptionWish options, std::optional<bool> pin,
                                            bool save) {
  auto task = load_here(std::move(model), std::move(options), pin, save);
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<>> ModelRouter::unload(ModelName model) {
  auto task = unload_here(std::move(model));
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<UnloadReport>> ModelRouter::unload_all() {
  auto task = unload_all_here();
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<>> ModelRouter::pin(ModelName model, bool pinned) {
  auto task = pin_here(std::move(model), pinned);
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<MemoryEstimate>> ModelRouter::estimate(backends::ModelPtr model, OptionWish options) {
  auto task = estimate_here(std::move(model), std::move(options));
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Report> ModelRouter::report() {
  auto task = report_here();
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<std::optional<double>> ModelRouter::progress(ModelName model) {
  auto task = progress_here(std::move(model));
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Totals> ModelRouter::totals() {
  auto task = totals_here();
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<void> ModelRouter::stop(Millis deadline) {
  auto task = stop_here(deadline);
  co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<Result<PressureReport>> ModelRouter::simulate_pressure(double pct) {
  auto task = simulate_pressure_here(pct);
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

}  // namespace corral::router
