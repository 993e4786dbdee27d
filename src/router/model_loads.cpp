#include "router/model_loads.h"

#include <utility>

#include "router/options/eviction.h"

namespace corral::router {

void ModelLoads::note_requested(const ModelName& model, const OptionPatch& options) {
  for (const auto& [id, running] : parts_.processes.all()) {
    if (running->spec->name == model && !running->stopping) running->requested = options;
  }
}

async::Task<Result<bool>> ModelLoads::load(backends::ModelPtr model, OptionPatch options, std::optional<bool> pin,
                                           bool save) {
  const auto spec = parts_.options.spec_of(model, options);
  if (!spec) co_return std::unexpected(spec.error());
  if (pin) parts_.keep_alive.forget(model->name);
  residency::Load question{{}, *spec, pin};
  auto asking = parts_.driver.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  note_requested(model->name, options);
  if (save) {
    const auto kept = parts_.options.save_loaded(model->name, options);
    if (!kept) co_return std::unexpected(kept.error());
  }
  co_return std::get<residency::Loaded>(answer).was_resident;
}

async::Task<Result<>> ModelLoads::preload(backends::ModelPtr model) {
  const auto spec = parts_.options.spec_of(model, OptionPatch());
  if (!spec) co_return std::unexpected(spec.error());
  (*spec)->evicts_nothing = true;
  residency::Load question{{}, *spec, std::nullopt};
  auto asking = parts_.driver.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<>> ModelLoads::unload(ModelName model) {
  residency::Unload question{{}, std::move(model)};
  auto asking = parts_.driver.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<UnloadReport>> ModelLoads::unload_all() {
  auto asking = parts_.driver.ask(residency::UnloadAll());
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& unloaded = std::get<residency::Unloaded>(answer);
  co_return UnloadReport{std::move(unloaded.unloaded), std::move(unloaded.draining)};
}

async::Task<Result<>> ModelLoads::pin(ModelName model, bool pinned) {
  parts_.keep_alive.forget(model);
  residency::Pin question{{}, std::move(model), pinned};
  auto asking = parts_.driver.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  co_return Result<>();
}

async::Task<Result<PressureReport>> ModelLoads::simulate_pressure(double pct) {
  residency::SimulatePressure question{{}, pct};
  auto asking = parts_.driver.ask(question);
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  auto& relieved = std::get<residency::Relieved>(answer);
  co_return PressureReport{std::move(relieved.downsized), std::move(relieved.evicted)};
}

async::Task<Result<MemoryEstimate>> ModelLoads::estimate(backends::ModelPtr model, OptionPatch options) {
  const auto made = parts_.options.spec_of(model, options);
  if (!made) co_return std::unexpected(made.error());
  const LoadSpec& spec = **made;
  const auto there = co_await spec.backend->check_files(spec.model, spec.load_options);
  if (!there) co_return std::unexpected(there.error());
  co_return co_await spec.backend->estimate(spec.model, spec.load_options);
}

async::Task<Result<OptionReport>> ModelLoads::options(backends::ModelPtr model, OptionChange change) {
  const bool dry_run = change.dry_run;
  const bool supposes = change.supposes();
  co_await parts_.contexts.refresh();
  const auto about = model;
  auto changing = parts_.options.change(std::move(model), std::move(change), parts_.driver);
  auto report = co_await std::move(changing);
  if (report) {
    report->window = parts_.contexts.predicted(*about, report->given, 0);
    const RunningInstance* const running = parts_.processes.resident(about->name);
    if (running != nullptr && (!supposes || !report->needs_reload)) report->window.usable = running->context_window;
  }
  if (report && !dry_run) update_eviction();
  co_return report;
}

void ModelLoads::update_eviction() {
  std::vector<residency::ChangeEviction> changes;
  for (const auto& [id, running] : parts_.processes.all()) {
    const auto& name = running->spec->name;
    if (running->stopping) continue;
    changes.push_back({name, eviction_of(parts_.options.wanted(name, running->requested))});
  }
  for (auto& change : changes) parts_.driver.dispatch(std::move(change));
}

void ModelLoads::update_eviction(const LoadSpec& spec) {
  const auto eviction = eviction_of(parts_.options.wanted(spec.name, spec.requested));
  if (eviction != spec.eviction) parts_.driver.dispatch(residency::ChangeEviction{spec.name, eviction});
}

}  // namespace corral::router
