#include "residency/lending.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/memory_estimate.h"
#include "residency/elsewhere.h"
#include "residency/errors.h"
#include "residency/npu_rule.h"
#include "residency/reclaim.h"

namespace corral::residency {
namespace {

MemoryUse sum_of(const State& state, const auto& counts) {
  MemoryUse sum;
  for (const auto& [id, instance] : state.instances) {
    if (!counts(*instance)) continue;
    for (const PoolUse& use : instance->spec->memory) {
      auto at = std::ranges::find(sum, use.pool, &PoolUse::pool);
      if (at == sum.end()) at = sum.insert(at, PoolUse{use.pool});
      at->total += use.total;
      at->dynamic += use.dynamic;
    }
  }
  return sum;
}

std::int64_t max_lent(const State& state, std::size_t pool) {
  return static_cast<std::int64_t>(static_cast<double>(state.memory.pools()[pool].total) * state.settings.lend_share);
}

bool is_leaving(const Instance& instance) {
  return instance.state == InstanceState::draining || instance.state == InstanceState::evicting;
}

class LentRule {
 public:
  LentRule(State& state, const Instance& load, MonoTime now)
      : state_(state), settings_(state.settings), load_(load), now_(now) {}

  LentEvictionPlan find() {
    share_npu();
    if (!plan_.refused) find_slot();
    if (!plan_.refused) fit_memory();
    if (plan_.refused) plan_.victims.clear();
    return std::move(plan_);
  }

 private:
  bool is_victim(const Instance& instance) const {
    return std::ranges::find(plan_.victims, &instance) != plan_.victims.end();
  }

  // Idle for long.
  bool may_go(const Instance& instance) const {
    const bool quiet = is_idle(instance) && now_ - instance.last_use >= settings_.lend_quiet;
    return quiet && !runs_elsewhere(*instance.spec) && !is_victim(instance) && !state_.is_protected(instance) &&
           (instance.lent || settings_.lend_evicts_local);
  }

  void share_npu() {
    for (const auto& [id, instance] : state_.instances) {
      if (!takes_slot(instance->state) || may_share_npu(*instance->spec, *load_.spec)) continue;
      if (instance->state == InstanceState::evicting) {
        plan_.settles = true;
      } else if (may_go(*instance)) {
        plan_.victims.push_back(instance.get());
      } else {
        return refuse(fmt::format("'{}' uses the NPU", instance->spec->name.value()));
      }
    }
  }

  void find_slot() {
    if (load_.spec->share) return;  // it takes none of the lend_slots
    const ModelType type = load_.spec->type;
    std::size_t taken = 0;
    Instance* oldest = nullptr;
    for (const auto& [id, instance] : state_.instances) {
      if (!instance->lent || instance->spec->share || !takes_slot(instance->state)) continue;
      if (instance->spec->type != type || is_victim(*instance)) continue;
      ++taken;
      const bool later = oldest != nullptr && oldest->used_nth < instance->used_nth;
      if (may_go(*instance) && !later) oldest = instance.get();
    }
    if (taken < settings_.lend_slots) return;
    const bool leaves = std::ranges::any_of(state_.instances, [&](const auto& entry) {
      const Instance& instance = *entry.second;
      const bool of_type = instance.spec->type == type && !instance.spec->share;
      return instance.lent && instance.state == InstanceState::evicting && of_type;
    });
    if (leaves) {
      plan_.settles = true;
    } else if (oldest != nullptr) {
      plan_.victims.push_back(oldest);
    } else {
      refuse(fmt::format("{} models of type {} are already lent", taken, name_of(type)));
    }
  }

  void fit_memory() {
    const MemoryLedger& ledger = state_.memory;
    plan_.stale = !ledger.is_fresh(now_, settings_.memory_poll);
    if (plan_.stale) return;
    if (ledger.pools().empty()) {
      if (settings_.lend_share < 1) refuse("this node can't measure its memory, and lends only a part of it");
      return;
    }
    if (load_.spec->memory.empty()) return refuse("its memory need is unknown");
    const PoolBytes need = ledger.bytes(load_.spec->memory, MemoryPart::all);
    keep_to_share(need);
    if (!plan_.refused) find_free(need);
  }

  // All lent models together, also those whose processes still stop.
  void keep_to_share(const PoolBytes& need) {
    const MemoryLedger& ledger = state_.memory;
    PoolBytes over = need;
    add(over, ledger.bytes(lent_memory(state_), MemoryPart::all));
    for (std::size_t i = 0; i < over.size(); ++i) over[i] = need[i] == 0 ? 0 : over[i] - max_lent(state_, i);
    if (none_left(over)) return;
    plan_.settles = true;
    std::vector<Instance*> idle;
    for (const auto& [id, instance] : state_.instances) {
      if (!instance->lent || !takes_slot(instance->state)) continue;
      if (is_victim(*instance) || instance->state == InstanceState::evicting) {
        subtract(over, ledger.bytes(instance->spec->memory, MemoryPart::all));
      } else if (may_go(*instance)) {
        idle.push_back(instance.get());
      }
    }
    std::ranges::sort(idle, {}, &Instance::used_nth);
    for (Instance* instance : idle) {
      const PoolBytes gives = ledger.bytes(instance->spec->memory, MemoryPart::all);
      bool helps = false;
      for (std::size_t i = 0; i < over.size(); ++i) helps |= gives[i] > 0 && over[i] > 0;
      if (!helps) continue;
      subtract(over, gives);
      plan_.victims.push_back(instance);
    }
    if (!none_left(over)) refuse_for(short_of(need, over));
  }

  void find_free(const PoolBytes& need) {
    const MemoryLedger& ledger = state_.memory;
    PoolBytes missing = need;
    bool free = true;
    for (std::size_t i = 0; i < need.size(); ++i) {
      if (need[i] == 0) continue;
      const MemoryLedger::Pool& pool = ledger.pools()[i];
      const std::int64_t kept = kept_of(pool);
      free &= need[i] + kept <= pool.available;
      missing[i] += kept - pool.expected;
    }
    for (const Instance* victim : plan_.victims) subtract(missing, ledger.held(*victim));
    plan_.settles |= !free;
    std::vector<Reclaim> choice;
    for (const auto& [id, instance] : state_.instances) {
      if (instance->state == InstanceState::evicting) choice.push_back({instance.get(), false});
    }
    for (const bool lent : {true, false}) {
      const auto open = [&](const Instance& instance) {
        return instance.lent == lent && !instance.spec->memory.empty() && may_go(instance);
      };
      for (Instance* instance : by_score(state_, now_, open)) choice.push_back({instance, false});
    }
    const ReclaimPlan found = cover(ledger, missing, choice);
    if (!found.enough) return refuse_for(short_of(need, found.left));
    for (const Reclaim& reclaim : found.reliefs) {
      if (reclaim.instance->state != InstanceState::evicting) plan_.victims.push_back(reclaim.instance);
    }
  }

  // Some memory stays free: lending alone must not cause memory pressure.
  std::int64_t kept_of(const MemoryLedger::Pool& pool) const {
    const double share = std::clamp(1 - settings_.auto_evict_threshold_pct, 0.0, 1.0);
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(pool.total) * share));
  }

  void refuse(const std::string& why) {
    plan_.refused.emplace(errc::not_here, fmt::format("can't load '{}' for peers: {}", load_.spec->name.value(), why),
                          "model");
  }

  std::vector<MemoryNeed> short_of(const PoolBytes& need, const PoolBytes& left) const {
    std::vector<MemoryNeed> memory;
    for (std::size_t i = 0; i < need.size(); ++i) {
      if (left[i] <= 0) continue;
      const std::int64_t have = std::max<std::int64_t>(0, need[i] - left[i]);
      memory.push_back(
          {state_.memory.pools()[i].id.value(), static_cast<std::uint64_t>(need[i]), static_cast<std::uint64_t>(have)});
    }
    return memory;
  }

  void refuse_for(std::vector<MemoryNeed> memory) {
    refuse(in_words(memory) + " to lend");
    plan_.refused->memory = std::move(memory);
  }

  State& state_;
  const Settings& settings_;
  const Instance& load_;
  const MonoTime now_;
  LentEvictionPlan plan_;
};

}  // namespace

MemoryUse lent_memory(const State& state) {
  return sum_of(state, [](const Instance& instance) { return instance.lent && takes_slot(instance.state); });
}

bool is_too_much_lent(const State& state) {
  if (state.settings.lend_share <= 0) return true;
  const auto stays = [](const Instance& instance) {
    return instance.lent && takes_slot(instance.state) && !is_leaving(instance);
  };
  const PoolBytes lent = state.memory.bytes(sum_of(state, stays), MemoryPart::all);
  for (std::size_t i = 0; i < lent.size(); ++i) {
    if (lent[i] > max_lent(state, i)) return true;
  }
  return false;
}

bool is_for_peers_only(const Instance& load) {
  return std::ranges::all_of(load.waiters, [](const Waiter& waiter) { return waiter.is_peer(); });
}

Error not_here(const ModelName& model, std::string_view why) {
  return {errc::not_here, fmt::format("can't serve '{}' to peers now: {}", model.value(), why), "model"};
}

Error not_standing(const ModelName& model) {
  return {errc::not_here, fmt::format("several nodes serve '{}' together, and they aren't ready", model.value()),
          "model"};
}

EvictionSettings lent_eviction(const EvictionSettings& own, const Settings& settings) {
  EvictionSettings lent{.auto_evict = true,
                        .downsize_idle_timeout = Millis{-1},
                        .evict_idle_timeout = settings.lend_idle_unload,
                        .evict_weight_factor = own.evict_weight_factor};
  if (!own.auto_evict) return lent;
  lent.downsize_idle_timeout = own.downsize_idle_timeout;
  const bool sooner = own.evict_idle_timeout >= Millis{0} &&
                      (lent.evict_idle_timeout < Millis{0} || own.evict_idle_timeout < lent.evict_idle_timeout);
  if (sooner) lent.evict_idle_timeout = own.evict_idle_timeout;
  return lent;
}

Place place_for(const State& state, const Instance& lent) {
  const ModelType type = lent.spec->type;
  const auto waits = [&](const Instance* load) {
    return load->spec->type == type && load->spec->name != lent.spec->name;
  };
  if (std::ranges::any_of(state.queue, waits)) return {};
  std::size_t staying = 0;
  Instance* oldest = nullptr;
  for (const auto& [id, instance] : state.instances) {
    if (instance->lent || runs_elsewhere(*instance->spec) || instance->spec->type != type) continue;
    if (!takes_slot(instance->state) || is_leaving(*instance)) continue;
    ++staying;
    const bool later = oldest != nullptr && oldest->used_nth < instance->used_nth;
    if (is_idle(*instance) && !state.is_protected(*instance) && !later) oldest = instance.get();
  }
  if (state.settings.limits.allows(type, staying + 1)) return {.is_free = true};
  return {.is_free = false, .victim = state.settings.limits.allows(type, staying) ? oldest : nullptr};
}

LentEvictionPlan find_lent_room(State& state, const Instance& load, MonoTime now) {
  return LentRule(state, load, now).find();
}

}  // namespace corral::residency
