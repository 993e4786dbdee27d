// The part of the router that knows what is saved for a model.
#include "base/log.h"
#include "router/eviction.h"
#include "router/model_router.h"

namespace corral::router {

backends::LoadOptions ModelRouter::wanted(const ModelName& model, const OptionWish& wish) const {
  return with_defaults(wish.over(saved_.of(model)));
}

backends::LoadOptions ModelRouter::with_defaults(const backends::LoadOptions& said) const {
  const bool instead = said.llamacpp_args && !said.merge_args.value_or(true);
  const auto& configured =
      instead && options_.defaults_without_args ? *options_.defaults_without_args : options_.default_options;
  return backends::merge(config::with_args(said), configured);
}

async::Task<Result<OptionReport>> ModelRouter::options_here(backends::ModelPtr model, OptionChange change) {
  const auto saved_then = [&] {
    backends::LoadOptions saved;
    if (!change.unset_all) saved = saved_.of(model->name);
    return change.wish.over(std::move(saved));
  };
  Result<> there;
  if (const auto tried = resolve(*model, with_defaults(saved_then())))
    there = co_await tried->backend->check_files(model, tried->options);

  co_await refresh_free();
  // From here on nothing waits, so nobody else changes what is saved meanwhile.
  OptionReport report;
  report.wanted = saved_then();
  report.saved = change.dry_run ? saved_.of(model->name) : report.wanted;
  report.pinned = core_.state().find(model->name) != nullptr && core_.state().find(model->name)->pinned;
  const auto defaults = resolve(*model, options_.default_options);
  report.defaults = defaults ? defaults->options : options_.default_options;
  const auto given = with_defaults(report.wanted);
  auto effective = resolve(*model, given);
  if (effective && !there) effective = std::unexpected(there.error());
  // What is wrong with values that were just given is an answer; what was wrong before is only told.
  if (!effective && change.wish.set != backends::LoadOptions()) co_return std::unexpected(effective.error());
  report.effective = effective ? effective->options : given;
  if (!effective) report.problem = effective.error().message;
  for (const auto& view : core_.snapshot(now()).servers) {
    if (view.spec->name != model->name) continue;
    report.loaded = residency::is_resident(view.state);
    report.needs_reload = report.loaded && effective && view.spec->options != backends::fingerprint(report.effective);
  }
  const Running* const running = resident(model->name);
  report.window = predicted(*model, given, 0);
  if (running != nullptr && !report.needs_reload) report.window.usable = running->context_window;
  if (change.dry_run) co_return report;
  const auto kept = saved_.save(model->name, report.wanted);
  if (!kept) co_return std::unexpected(kept.error());
  update_eviction();
  co_return report;
}

void ModelRouter::remember_request(const ModelName& model, const OptionWish& requested) {
  for (const auto& [id, running] : running_) {
    if (running->spec->name == model && !running->stopping) running->requested = requested;
  }
}

void ModelRouter::update_eviction() {
  std::vector<residency::ChangeEviction> changes;
  for (const auto& [id, running] : running_) {
    const auto& name = running->spec->name;
    if (running->stopping) continue;
    changes.push_back({name, eviction_of(wanted(name, running->requested))});
  }
  for (auto& change : changes) dispatch(std::move(change));
}

Result<> ModelRouter::save_loaded(const ModelName& model, const OptionWish& requested) {
  return saved_.save(model, requested.over(saved_.of(model)));
}

void ModelRouter::save_pin(const ModelName& model, bool pinned) {
  const auto kept = saved_.pin(model, pinned);
  if (!kept) log::error("router", "the pin counts until the server ends: {}", kept.error().message);
}

async::Task<SavedOptions> ModelRouter::saved_options() {
  co_return co_await async::run_on(home_.executor(), saved_options_here());
}

async::Task<Result<OptionReport>> ModelRouter::options(backends::ModelPtr model, OptionChange change) {
  auto task = options_here(std::move(model), std::move(change));
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

}  // namespace corral::router
