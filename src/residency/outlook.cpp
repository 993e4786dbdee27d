#include "residency/outlook.h"

#include <algorithm>
#include <array>
#include <memory>

#include "residency/elsewhere.h"
#include "residency/errors.h"
#include "residency/eviction_plan.h"
#include "residency/reclaim.h"
#include "residency/state.h"

namespace corral::residency {
namespace {

// A load that exists only here. No model has an empty name.
Instance imagined(ModelType type, MemoryUse memory, MonoTime now) {
  ModelSpec spec;
  spec.type = type;
  spec.memory = std::move(memory);
  Instance load;
  load.spec = std::make_shared<const ModelSpec>(std::move(spec));
  load.queued_at = now;
  return load;
}

NextReclaim first_of(const EvictionPlan& plan) {
  NextReclaim next;
  if (plan.refused) {
    next.obstacle = plan.refused->code == errc::slots_pinned ? Obstacle::pinned : Obstacle::other_programs;
  } else if (!plan.downsizes.empty()) {
    next.instance = plan.downsizes.front()->id;
    next.downsize = true;
    next.reason = StopReason::memory;
  } else if (!plan.victims.empty()) {
    next.instance = plan.victims.front().instance->id;
    next.reason = plan.victims.front().reason;
  }
  return next;
}

Stay stay_of(const State& state, const Instance& instance) {
  if (!serves(instance.state) && instance.state != InstanceState::loading) return Stay::leaving;
  if (runs_elsewhere(*instance.spec)) return Stay::external;
  if (!is_idle(instance)) return Stay::in_use;
  if (state.pinned(instance)) return Stay::pinned;
  return instance.eviction.auto_evict ? Stay::none : Stay::auto_evict_off;
}

}  // namespace

const char* name_of(Stay stay) {
  static constexpr std::array kStays{"none", "in_use", "pinned", "auto_evict_off", "external", "leaving"};
  return kStays[static_cast<std::size_t>(stay)];
}

const char* name_of(Obstacle obstacle) {
  static constexpr std::array kObstacles{"none", "pinned", "other_programs"};
  return kObstacles[static_cast<std::size_t>(obstacle)];
}

IdleOutlook idle_outlook(const State& state, const Instance& instance, MonoTime now) {
  IdleOutlook outlook{.stay = stay_of(state, instance), .downsize_in = {}, .evict_in = {}};
  if (outlook.stay != Stay::none) return outlook;
  const auto left = [&](Millis timeout) -> std::optional<Millis> {
    if (timeout < Millis{0}) return std::nullopt;
    const MonoTime due = instance.last_use + std::max(timeout, state.settings.idle_floor);
    return std::max(Millis{0}, std::chrono::ceil<Millis>(due - now));
  };
  if (may_downsize(state, instance)) outlook.downsize_in = left(instance.eviction.downsize_idle_timeout);
  outlook.evict_in = left(instance.eviction.evict_idle_timeout);
  return outlook;
}

Outlook outlook(State& state, MonoTime now) {
  Outlook all;
  for (const ModelType type : kModelTypes) {
    const Instance load = imagined(type, {}, now);
    all.slots.push_back({.type = type,
                         .taken = state.slots_taken(type),
                         .limit = state.settings.limits[type],
                         .next = first_of(plan_eviction(state, load, now))});
  }
  for (const auto& pool : state.memory.pools()) {
    const auto need = static_cast<std::uint64_t>(std::max<std::int64_t>(pool.expected, 0)) + 1;
    PoolOutlook of{.pool = pool.id, .next = {}};
    // Otherwise all of it is free.
    if (need <= static_cast<std::uint64_t>(pool.total)) {
      const Instance load = imagined(ModelType::llm, {{pool.id, need, 0}}, now);
      EvictionPlan plan;
      plan.imagined = true;
      fit_memory(state, load, now, plan);
      of.next = first_of(plan);
    }
    all.pools.push_back(std::move(of));
  }
  return all;
}

}  // namespace corral::residency
