#include "residency/core/reclaimer.h"

#include <algorithm>
#include <utility>

#include "residency/elsewhere.h"
#include "residency/reclaim.h"

namespace corral::residency {
namespace {

// True if `one` leaves less missing than `other` in some pool.
bool is_short_of_less(const ReclaimPlan& one, const ReclaimPlan& other) {
  for (std::size_t i = 0; i < one.left.size(); ++i) {
    if (std::max<std::int64_t>(one.left[i], 0) < std::max<std::int64_t>(other.left[i], 0)) return true;
  }
  return false;
}

}  // namespace

void Reclaimer::enforce_limits(const Step& step) {
  for (ModelType type : kModelTypes) {
    while (true) {
      std::size_t staying = 0;
      Instance* oldest = nullptr;
      for (const auto& [id, instance] : state_.instances) {
        const InstanceState state = instance->state;
        if (instance->lent || runs_elsewhere(*instance->spec) || instance->spec->type != type || !takes_slot(state))
          continue;
        if (state == InstanceState::draining || state == InstanceState::evicting) continue;
        ++staying;
        const bool may_go = is_idle(*instance) && !state_.pinned(*instance);
        if (may_go && (oldest == nullptr || instance->used_nth < oldest->used_nth)) oldest = instance.get();
      }
      if (oldest == nullptr || state_.settings.limits.allows(type, staying)) break;
      lifecycle_.drain(*oldest, StopReason::limit, step);
    }
  }
}

void Reclaimer::evict_idle(Millis floor, const Step& step) {
  for (const auto& [id, instance] : state_.instances) {
    if (is_evict_due(state_, *instance, step.time(), floor)) lifecycle_.drain(*instance, StopReason::idle, step);
  }
}

void Reclaimer::downsize_idle(Millis floor, const Step& step) {
  for (const auto& [id, instance] : state_.instances) {
    if (is_downsize_due(state_, *instance, step.time(), floor)) downsizer_.downsize(*instance, step);
  }
}

bool Reclaimer::relieve_pressure(const std::vector<PoolSample>& seen, const Step& step) {
  const PoolBytes needed = excess(seen);
  if (none_left(needed)) return false;
  const auto open = [&](const Instance& instance) {
    const MonoTime loaded = instance.load_started + instance.load_duration;
    return instance.eviction.auto_evict && !state_.pinned(instance) &&
           step.time() - loaded >= state_.settings.pressure_grace;
  };
  std::vector<Reclaim> downsizes;
  std::vector<Reclaim> choice;
  for (Instance* instance : by_score(state_, step.time(), open)) {
    if (may_downsize(state_, *instance)) downsizes.push_back({instance, true});
    choice.push_back({instance, false});
  }
  ReclaimPlan found = cover(state_.memory, needed, downsizes);
  if (!found.enough) {
    // Only if evictions give more than downsizing does.
    ReclaimPlan more = cover(state_.memory, needed, choice);
    if (is_short_of_less(more, found)) found = std::move(more);
  }
  for (const Reclaim& reclaim : found.reliefs) {
    if (reclaim.downsize) {
      downsizer_.downsize(*reclaim.instance, step);
    } else {
      lifecycle_.drain(*reclaim.instance, StopReason::pressure, step);
    }
  }
  return !found.reliefs.empty();
}

// Bytes of each pool above the target below the threshold; 0 for a pool that isn't above the threshold.
PoolBytes Reclaimer::excess(const std::vector<PoolSample>& seen) const {
  const Settings& settings = state_.settings;
  const auto is_above = [&](std::uint64_t total, std::int64_t available) {
    const auto used = static_cast<double>(total) - static_cast<double>(available);
    return used > static_cast<double>(total) * settings.auto_evict_threshold_pct;
  };
  PoolBytes pending(state_.memory.pools().size());
  for (const auto& [id, instance] : state_.instances) {
    if (instance->state == InstanceState::evicting) add(pending, state_.memory.held(*instance));
    if (instance->state == InstanceState::downsizing)
      add(pending, state_.memory.bytes(instance->spec->memory, MemoryPart::dynamic));
  }
  PoolBytes excess(pending.size());
  for (std::size_t i = 0; i < excess.size(); ++i) {
    const std::int64_t free = state_.memory.pools()[i].expected + pending[i];
    const bool above = is_above(seen[i].total, static_cast<std::int64_t>(seen[i].available));
    if (!above || !is_above(seen[i].total, free)) continue;
    const double max = settings.auto_evict_threshold_pct - settings.pressure_relief;
    excess[i] = static_cast<std::int64_t>(static_cast<double>(seen[i].total) * (1 - max)) - free;
  }
  return excess;
}

bool Reclaimer::handle(const SimulatePressure& event, const Step& step) {
  if (event.pct < 0) {
    evict_idle(Millis{0}, step);
    downsize_idle(Millis{0}, step);
  } else if (event.pct >= state_.settings.auto_evict_threshold_pct) {
    const auto open = [this](const Instance& instance) {
      return instance.eviction.auto_evict && !state_.pinned(instance);
    };
    const std::vector<Instance*> found = by_score(state_, step.time(), open);
    if (!found.empty()) lifecycle_.drain(*found.front(), StopReason::pressure, step);
  }
  PendingRelief relief{event.ticket, {}, {}, {}};
  for (const auto& [id, instance] : state_.instances) {
    const bool automatic = instance->leaving == StopReason::idle || instance->leaving == StopReason::pressure;
    const bool goes = instance->state == InstanceState::evicting && automatic;
    if (goes || instance->state == InstanceState::downsizing) relief.waits_for.push_back(id);
  }
  if (relief.waits_for.empty()) {
    step.act(Relieved{event.ticket, {}, {}});
  } else {
    state_.reliefs.push_back(std::move(relief));
  }
  return true;
}

}  // namespace corral::residency
