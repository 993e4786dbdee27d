#include "router/instances/context_planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/context_prediction.h"
#include "residency/instance_state.h"

namespace corral::router {
namespace {

constexpr std::uint64_t kCellMultiple = 256;  // of the engine

std::uint64_t free_of(const residency::MemorySampled& sample, bool host) {
  std::uint64_t free = 0;
  for (const auto& pool : sample.pools) {
    if ((pool.pool.value() == kHostPool) == host) free += pool.available;
  }
  return free;
}

// Memory that is free after the process has ended. Pages of its file already count as free.
std::uint64_t occupied(const backends::ServerFacts& facts, const models::ModelInfo& model) {
  if (facts.predicted) return facts.predicted->unreclaimable();
  return facts.memory_bytes - std::min(facts.memory_bytes, model.size.value());
}

std::uint64_t occupies(const backends::ServerFacts& facts) {
  return facts.predicted ? facts.predicted->total() : facts.memory_bytes;
}

}  // namespace

std::string warning_of(const ModelContext& context) {
  if (context.asked > 0 && context.usable > static_cast<std::uint64_t>(context.asked)) {
    return fmt::format("ctx_size {} became {}: contexts are multiples of {} tokens", context.asked, context.usable,
                       kCellMultiple);
  }
  if (context.trained == 0 || context.asked <= 0 || static_cast<std::uint64_t>(context.asked) <= context.trained)
    return {};
  return fmt::format(
      "ctx_size {} is more than the {} tokens that the model was trained with: one conversation uses {} of them, the "
      "rest "
      "is for other conversations",
      context.asked, context.trained, context.usable);
}

// A sample is reused for a moment: lists are often requested, and two in a row should be equal.
async::Task<void> ContextPlanner::refresh() {
  constexpr Millis kFresh{2'000};
  if (sampler_ == nullptr || (free_at_ && timers_.now() - *free_at_ < kFresh)) co_return;
  auto sample = co_await sampler_->sample();
  free_ = std::move(sample);
  free_at_ = timers_.now();
}

// By type: the memory of the model that a load would evict.
std::map<ModelType, std::uint64_t> ContextPlanner::comes_back() const {
  struct Oldest {
    std::int32_t models = 0;
    WallTime last_use;
    const RunningInstance* running = nullptr;
  };
  std::map<ModelType, Oldest> types;
  const auto snapshot = driver_.core().snapshot(driver_.now());
  for (const auto& view : snapshot.instances) {
    const auto running = processes_.find(view.id);
    if (!running || !residency::is_resident(view.state) || view.lent) continue;  // lent ones have no slot of the type
    Oldest& oldest = types[view.spec->type];
    ++oldest.models;
    if (view.pinned || (oldest.running != nullptr && oldest.last_use <= view.last_use)) continue;
    oldest.last_use = view.last_use;
    oldest.running = running.get();
  }
  std::map<ModelType, std::uint64_t> bytes;
  for (const auto& [type, oldest] : types) {
    const bool full = !snapshot.limits.allows(type, static_cast<std::size_t>(oldest.models) + 1);
    if (!full || oldest.running == nullptr) continue;
    const auto& spec = LoadSpec::of(oldest.running->spec);
    bytes[type] = occupied(oldest.running->server->facts(), *spec.model);
  }
  return bytes;
}

ModelContext ContextPlanner::predicted(const models::ModelInfo& model, const backends::LoadOptions& options,
                                       std::uint64_t comes_back) const {
  ModelContext context{.usable = 0,
                       .trained = model.traits.context_length,
                       .asked = options.ctx_size.value_or(-1),
                       .projector = projector_in(options)};
  const auto resolved = options_.resolve(model, options);
  if (!resolved) return context;
  const bool has_gpu = std::ranges::any_of(free_.pools, [](const auto& one) { return one.pool.value() != kHostPool; });
  const Device machine = has_gpu ? Device::cpu | Device::gpu : Device::cpu;
  const bool on_gpu = has(resolved->backend->device(model, resolved->options, machine), Device::gpu);
  const std::uint64_t free = free_of(free_, !on_gpu);
  context.asked = resolved->options.ctx_size.value_or(-1);
  context.usable = resolved->backend->context(model, resolved->options, free == 0 ? 0 : free + comes_back);
  const auto estimate = resolved->backend->known_estimate(model, resolved->options);
  context.memory = estimate ? estimate->total() : backends::estimated_memory(model, resolved->options);
  context.cache = backends::estimated_cache(model, resolved->options);
  context.compute = backends::estimated_buffers(model, resolved->options);
  context.predicted = estimate.has_value();
  if (estimate) {
    context.cache = context.compute = 0;
    for (const auto& device : estimate->devices) context.cache += device.kv, context.compute += device.compute;
  }
  return context;
}

async::Task<std::vector<ModelContext>> ContextPlanner::of(std::vector<backends::ModelPtr> models) {
  co_await refresh();
  const auto more = comes_back();
  std::vector<ModelContext> contexts;
  for (const auto& model : models) {
    if (const RunningInstance* running = processes_.resident(model->name)) {
      const auto anew = predicted(*model, options_.wanted(*model, {}), 0);
      // Its part of a split doesn't show the need of the whole model.
      const bool part = LoadSpec::of(running->spec).own_backend != nullptr;
      contexts.push_back({.usable = running->context_window,
                          .trained = model->traits.context_length,
                          .asked = LoadSpec::of(running->spec).load_options.ctx_size.value_or(-1),
                          .memory = part ? anew.memory : occupies(running->server->facts()),
                          .cache = anew.cache,
                          .compute = anew.compute,
                          .predicted = anew.predicted,
                          .projector = projector_in(LoadSpec::of(running->spec).load_options)});
      continue;
    }
    const auto freed = more.find(model->type);
    contexts.push_back(predicted(*model, options_.wanted(*model, {}), freed == more.end() ? 0 : freed->second));
  }
  co_return contexts;
}

async::Task<std::vector<Projector>> ContextPlanner::projectors(std::vector<backends::ModelPtr> models) {
  std::vector<Projector> projectors;
  for (const auto& model : models) {
    const RunningInstance* running = processes_.resident(model->name);
    projectors.push_back(
        projector_in(running != nullptr ? LoadSpec::of(running->spec).load_options : options_.wanted(*model, {})));
  }
  co_return projectors;
}

// With the options of the last load, or else with the saved and configured ones.
std::uint64_t ContextPlanner::by_itself(const backends::ModelPtr& model, const RunningInstance* running) const {
  const auto patch = running != nullptr ? running->requested : OptionPatch();
  return predicted(*model, options_.wanted(*model, patch), 0).usable;
}

std::optional<OptionPatch> ContextPlanner::patch_for(const backends::ModelPtr& model, std::uint64_t tokens) const {
  const RunningInstance* running = processes_.resident(model->name);
  const auto has = running != nullptr ? running->context_window : by_itself(model, nullptr);
  if (has >= tokens) return std::nullopt;
  OptionPatch patch = running != nullptr ? running->requested : OptionPatch();
  patch.set.ctx_size = static_cast<std::int64_t>(tokens);
  return patch;
}

std::uint64_t ContextPlanner::max(const backends::ModelPtr& model) const {
  const RunningInstance* running = processes_.resident(model->name);
  return std::max(running != nullptr ? running->context_window : 0, by_itself(model, running));
}

}  // namespace corral::router
