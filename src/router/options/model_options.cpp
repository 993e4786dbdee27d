#include "router/options/model_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "config/load/ollama_options.h"
#include "router/base/errors.h"
#include "router/options/eviction.h"

namespace corral::router {
namespace {

// Time limit of a load of any size, plus its bytes at the speed of a slow disk.
constexpr Millis kLoadDeadlineBase{60'000};
constexpr std::uint64_t kSlowDiskBytesPerMilli = 50'000;

Millis default_deadline(Bytes size) { return kLoadDeadlineBase + Millis(size.value() / kSlowDiskBytesPerMilli); }

Error not_installed(const models::ModelInfo& model, const RecipeTable& recipes) {
  const Recipe* const recipe = recipes.find(model.recipe);
  const auto needs = recipe && !recipe->program.empty()
                         ? fmt::format("needs the program '{}', for which this server has no backend", recipe->program)
                         : std::string("is unknown");
  return {make_error_code(errc::unknown_recipe),
          fmt::format("model '{}' is served by the recipe '{}', which {}", model.name.value(), model.recipe, needs),
          "model"};
}

// Options of a model from Ollama's registry. Saved options override them; they override the server's settings.
backends::LoadOptions came_with(const models::ModelInfo& model) {
  auto options = config::options_of_ollama(model.parameters);
  if (!model.adapter.empty()) options.lora = std::vector{model.adapter.native()};
  return options;
}

// Adds the configured options of this model alone.
backends::LoadOptions of_model(const std::vector<backends::Backend*>& all, const ModelName& model,
                               backends::LoadOptions requested) {
  for (const auto* backend : all) {
    if (const auto configured = backend->configured(model)) requested = backends::merge(requested, *configured);
  }
  return requested;
}

}  // namespace

Result<ModelOptions::Resolved> ModelOptions::resolve(const models::ModelInfo& model,
                                                     const backends::LoadOptions& options) const {
  const auto backend = std::ranges::find(backends_, model.recipe, [](const auto* known) { return known->recipe(); });
  if (backend == backends_.end()) return std::unexpected(not_installed(model, recipes_));
  auto resolved = (*backend)->resolve(model, options);
  if (!resolved) return std::unexpected(resolved.error());
  return Resolved{*backend, std::move(*resolved)};
}

Result<std::shared_ptr<LoadSpec>> ModelOptions::spec_of(const backends::ModelPtr& model,
                                                        const OptionPatch& patch) const {
  auto resolved = resolve(*model, wanted(*model, patch));
  if (!resolved) return std::unexpected(resolved.error());
  auto spec = std::make_shared<LoadSpec>();
  spec->name = model->name;
  spec->type = model->type;
  spec->recipe = model->recipe;
  spec->options = backends::fingerprint(resolved->options);
  spec->load_deadline = resolved->backend->load_deadline(*model).value_or(default_deadline(model->size));
  if (load_timeout_.count() > 0) spec->load_deadline = load_timeout_;
  spec->to_check = true;
  if (resolved->backend->attached(*model)) spec->device = Device::none;
  spec->files = resolved->backend->files_state(*model, resolved->options);
  spec->model = model;
  spec->load_options = std::move(resolved->options);
  spec->eviction = eviction_of(spec->load_options);
  spec->requested = patch;
  spec->backend = resolved->backend;
  return spec;
}

backends::LoadOptions ModelOptions::wanted(const models::ModelInfo& model, const OptionPatch& patch) const {
  return with_defaults(of_model(backends_, model.name, patch.over(saved_.of(model.name))), came_with(model));
}

backends::LoadOptions ModelOptions::wanted(const ModelName& model, const OptionPatch& patch) const {
  return with_defaults(of_model(backends_, model, patch.over(saved_.of(model))));
}

backends::LoadOptions ModelOptions::with_defaults(const backends::LoadOptions& requested,
                                                  const backends::LoadOptions& came_with) const {
  const bool instead = requested.llamacpp_args && !requested.merge_args.value_or(true);
  const auto& configured = instead && without_args_ ? *without_args_ : defaults_;
  const auto own = backends::merge(config::with_args(requested), came_with);
  auto options = backends::merge(own, configured);
  // A context of the model's own is meant for one request: the server's flags divide theirs only.
  if (!own.kv_unified && (own.ctx_size || own.parallel)) options.kv_unified.reset();
  return options;
}

async::Task<Result<OptionReport>> ModelOptions::change(backends::ModelPtr model, OptionChange change,
                                                       const CoreDriver& driver) {
  const auto saved_then = [&] {
    backends::LoadOptions saved;
    if (!change.unset_all) saved = saved_.of(model->name);
    return change.patch.over(std::move(saved));
  };
  const auto brought = came_with(*model);
  Result<> there;
  if (const auto tried = resolve(*model, with_defaults(of_model(backends_, model->name, saved_then()), brought))) {
    there = co_await tried->backend->check_files(model, tried->options);
    if (there && change.dry_run && !change.skip_preflight)
      there = co_await tried->backend->preflight(model, tried->options);
  }

  // From here on nothing suspends, so no other code changes the saved options meanwhile.
  OptionReport report;
  report.wanted = saved_then();
  report.saved = change.dry_run ? saved_.of(model->name) : report.wanted;
  const auto* known = driver.core().state().find(model->name);
  report.pinned = known != nullptr && known->pinned;
  const auto without_saved = backends::merge(brought, defaults_);
  const auto defaults = resolve(*model, without_saved);
  report.defaults = defaults ? defaults->options : without_saved;
  const auto given = with_defaults(of_model(backends_, model->name, report.wanted), brought);
  report.given = given;
  auto effective = resolve(*model, given);
  if (effective && !there) effective = std::unexpected(there.error());
  // Invalid values of this change are an error; older invalid values are only reported.
  if (!effective && change.patch.set != backends::LoadOptions()) co_return std::unexpected(effective.error());
  report.effective = effective ? effective->options : given;
  if (!effective) report.problem = effective.error().message;
  for (const auto& view : driver.core().snapshot(driver.now()).instances) {
    if (view.spec->name != model->name) continue;
    report.loaded = residency::is_resident(view.state);
    report.needs_reload = report.loaded && effective && view.spec->options != backends::fingerprint(report.effective);
  }
  if (change.dry_run) co_return report;
  const auto kept = saved_.save(model->name, report.wanted);
  if (!kept) co_return std::unexpected(kept.error());
  co_return report;
}

Result<> ModelOptions::save_loaded(const ModelName& model, const OptionPatch& requested) {
  return saved_.save(model, requested.over(saved_.of(model)));
}

void ModelOptions::save_pin(const ModelName& model, bool pinned) {
  const auto kept = saved_.pin(model, pinned);
  if (!kept) log::error("router", "the pin isn't saved and ends with the server: {}", kept.error().message);
}

}  // namespace corral::router
