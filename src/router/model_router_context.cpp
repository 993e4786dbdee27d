// The part of ModelRouter that knows contexts: what models have, what a load would give, and what a request wants.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/context_size.h"
#include "router/model_router.h"

namespace corral::router {
namespace {

std::uint64_t free_of(const residency::MemorySampled& sample, bool host) {
  std::uint64_t free = 0;
  for (const auto& pool : sample.pools) {
    if ((pool.pool.value() == kHostPool) == host) free += pool.available;
  }
  return free;
}

// What a process gives back when it ends. Pages of its file count as free already.
std::uint64_t occupied(const backends::ServerFacts& facts, const models::ModelInfo& model) {
  if (facts.predicted) return facts.predicted->unreclaimable();
  return facts.memory_bytes - std::min(facts.memory_bytes, model.size.value());
}

}  // namespace

std::string warning_of(const ModelContext& context) {
  if (context.trained == 0 || context.asked <= 0 || static_cast<std::uint64_t>(context.asked) <= context.trained)
    return {};
  return fmt::format(
      "ctx_size {} is more than the {} tokens that the model was trained with: one conversation uses {} of them, the "
      "rest "
      "is for others beside it",
      context.asked, context.trained, context.usable);
}

// Samples are kept for a moment: lists are asked for often, and want the same answer twice.
async::Task<void> ModelRouter::refresh_free() {
  constexpr Millis kFresh{2'000};
  if (gauge_ == nullptr || (free_at_ && timers_.now() - *free_at_ < kFresh)) co_return;
  auto sample = co_await gauge_->sample();
  free_ = std::move(sample);
  free_at_ = timers_.now();
}

// By type, what the model gives back that would have to go for another one.
std::map<ModelType, std::uint64_t> ModelRouter::comes_back() const {
  struct Oldest {
    std::int32_t models = 0;
    WallTime last_use;
    const Running* running = nullptr;
  };
  std::map<ModelType, Oldest> types;
  const auto snapshot = core_.snapshot(now());
  for (const auto& view : snapshot.servers) {
    const auto found = running_.find(view.id);
    if (found == running_.end() || !residency::is_resident(view.state)) continue;
    Oldest& oldest = types[view.spec->type];
    ++oldest.models;
    if (view.pinned || (oldest.running != nullptr && oldest.last_use <= view.last_use)) continue;
    oldest.last_use = view.last_use;
    oldest.running = found->second.get();
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

const Running* ModelRouter::resident(const ModelName& model) const {
  for (const auto& [id, running] : running_) {
    if (running->spec->name == model && !running->stopping && !running->loading) return running.get();
  }
  return nullptr;
}

ModelContext ModelRouter::predicted(const models::ModelInfo& model, const backends::LoadOptions& options,
                                    std::uint64_t comes_back) const {
  ModelContext context{.usable = 0, .trained = model.traits.context_length, .asked = options.ctx_size.value_or(-1)};
  const auto resolved = resolve(model, options);
  if (!resolved) return context;
  const bool has_gpu = std::ranges::any_of(free_.pools, [](const auto& one) { return one.pool.value() != kHostPool; });
  const Device machine = has_gpu ? Device::cpu | Device::gpu : Device::cpu;
  const bool on_gpu = has(resolved->backend->device(model, resolved->options, machine), Device::gpu);
  const std::uint64_t free = free_of(free_, !on_gpu);
  context.asked = resolved->options.ctx_size.value_or(-1);
  context.usable = resolved->backend->context(model, resolved->options, free == 0 ? 0 : free + comes_back);
  return context;
}

async::Task<std::vector<ModelContext>> ModelRouter::contexts_here(std::vector<backends::ModelPtr> models) {
  co_await refresh_free();
  const auto more = comes_back();
  std::vector<ModelContext> contexts;
  for (const auto& model : models) {
    if (const Running* running = resident(model->name)) {
      contexts.push_back({.usable = running->context_window,
                          .trained = model->traits.context_length,
                          .asked = LoadSpec::of(running->spec).load_options.ctx_size.value_or(-1)});
      continue;
    }
    const auto freed = more.find(model->type);
    contexts.push_back(predicted(*model, wanted(model->name, {}), freed == more.end() ? 0 : freed->second));
  }
  co_return contexts;
}

async::Task<std::vector<ModelContext>> ModelRouter::contexts(std::vector<backends::ModelPtr> models) {
  auto task = contexts_here(std::move(models));
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

// What a load must say so that a conversation may have `tokens`; nothing: what would be loaded anyway is enough.
std::optional<OptionWish> ModelRouter::wish_for(const backends::ModelPtr& model, std::uint64_t tokens) const {
  const Running* running = resident(model->name);
  OptionWish wish = running != nullptr ? running->requested : OptionWish();
  const auto now = predicted(*model, wanted(model->name, wish), 0);
  const bool enough = running != nullptr ? running->context_window >= tokens : now.usable >= tokens;
  if (enough) return std::nullopt;
  wish.set.ctx_size = static_cast<std::int64_t>(tokens);
  return wish;
}

// A request that wants more than there is reloads the model as a load would; one that wants less gets what there is.
async::Task<Result<Lease>> ModelRouter::acquire_with(backends::ModelPtr model, std::uint64_t tokens) {
  const auto trained = model->traits.context_length;
  if (trained != 0 && tokens > trained) {
    co_return fail(backends::errc::invalid_option,
                   fmt::format("'ctx_size' is {}, but '{}' was trained with {} tokens of context: take that or less",
                               tokens, model->name.value(), trained),
                   "ctx_size");
  }
  co_await refresh_free();
  constexpr int kAttempts = 3;  // others may load it anew meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto lease = try_acquire(model->name, tokens)) co_return lease;
    auto wish = wish_for(model, tokens);
    const bool loaded = resident(model->name) != nullptr;
    if (wish && loaded) {
      const auto reloaded = co_await load_here(model, std::move(*wish), std::nullopt, false);
      if (!reloaded) co_return std::unexpected(reloaded.error());
      continue;
    }
    auto lease = co_await acquire_new(model, wish ? std::move(*wish) : OptionWish());
    if (!lease || lease->context_window() >= tokens) co_return lease;
  }
  const Running* running = resident(model->name);
  co_return fail(backends::errc::invalid_option,
                 fmt::format("'ctx_size' is {}, but '{}' has a context of {} tokens here: take that or less", tokens,
                             model->name.value(), running == nullptr ? 0 : running->context_window),
                 "ctx_size");
}

}  // namespace corral::router
