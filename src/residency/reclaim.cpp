#include "residency/reclaim.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "residency/elsewhere.h"

namespace corral::residency {
namespace {

constexpr std::int64_t kEnough = std::int64_t{1} << 60;

bool helps(const PoolBytes& given, const PoolBytes& short_by) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] > 0 && short_by[i] > 0) return true;
  }
  return false;
}

// Without it, no pool would be short of memory.
bool is_superfluous(const PoolBytes& given, const PoolBytes& left) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] > 0 && left[i] + given[i] > 0) return false;
  }
  return true;
}

MonoTime after(MonoTime start, Millis timeout, Millis floor) { return start + std::max(timeout, floor); }

}  // namespace

PoolBytes given_by_end_of(const MemoryLedger& ledger, const Instance& instance) {
  return instance.spec->memory.empty() ? PoolBytes(ledger.pools().size(), kEnough) : ledger.held(instance);
}

PoolBytes given_by(const MemoryLedger& ledger, const Reclaim& reclaim) {
  const PoolBytes dynamic = ledger.bytes(reclaim.instance->spec->memory, MemoryPart::dynamic);
  if (reclaim.downsize) return dynamic;
  PoolBytes bytes = given_by_end_of(ledger, *reclaim.instance);
  if (reclaim.instance->state == InstanceState::downsizing) subtract(bytes, dynamic);
  return bytes;
}

double eviction_score(const Instance& instance, MonoTime now) {
  if (!is_idle(instance)) return 0;
  const double idle = std::chrono::duration<double, std::milli>(now - instance.last_use).count();
  const double load = std::max(1.0, static_cast<double>(instance.load_duration.count()));
  return idle / (load * std::max(instance.eviction.evict_weight_factor, 1e-9));
}

bool may_downsize(const State& state, const Instance& instance) {
  return instance.state == InstanceState::ready && instance.eviction.auto_evict && !instance.downsize_asked &&
         instance.downsize_refused != instance.used_nth && !state.pinned(instance);
}

bool is_evict_due(const State& state, const Instance& instance, MonoTime now, Millis floor) {
  const EvictionSettings& settings = instance.eviction;
  return is_idle(instance) && !runs_elsewhere(*instance.spec) && settings.auto_evict && !state.pinned(instance) &&
         settings.evict_idle_timeout >= Millis{0} &&
         now >= after(instance.last_use, settings.evict_idle_timeout, floor);
}

bool is_downsize_due(const State& state, const Instance& instance, MonoTime now, Millis floor) {
  const Millis timeout = instance.eviction.downsize_idle_timeout;
  return may_downsize(state, instance) && timeout >= Millis{0} && now >= after(instance.last_use, timeout, floor);
}

std::optional<MonoTime> idle_due(const State& state, const Instance& instance, MonoTime now) {
  const EvictionSettings& settings = instance.eviction;
  if (!settings.auto_evict || !is_idle(instance)) return std::nullopt;
  std::optional<MonoTime> due;
  const auto consider = [&](Millis timeout) {
    if (timeout < Millis{0}) return;
    const MonoTime time = after(instance.last_use, timeout, state.settings.idle_floor);
    if (time > now && (!due || time < *due)) due = time;
  };
  if (may_downsize(state, instance)) consider(settings.downsize_idle_timeout);
  if (!state.pinned(instance)) consider(settings.evict_idle_timeout);
  return due;
}

std::vector<Instance*> by_score(const State& state, MonoTime now, const std::function<bool(const Instance&)>& wanted) {
  std::vector<Instance*> found;
  for (const auto& [id, instance] : state.instances) {
    if (is_idle(*instance) && wanted(*instance)) found.push_back(instance.get());
  }
  std::ranges::sort(found, {}, [now](const Instance* instance) {
    return std::tuple(instance->spec->memory.empty(), -eviction_score(*instance, now), instance->used_nth);
  });
  return found;
}

ReclaimPlan cover(const MemoryLedger& ledger, const PoolBytes& short_by, const std::vector<Reclaim>& choice) {
  ReclaimPlan result;
  PoolBytes left = short_by;
  std::vector<PoolBytes> given;
  for (const Reclaim& reclaim : choice) {
    if (none_left(left)) break;
    PoolBytes gives = given_by(ledger, reclaim);
    if (!helps(gives, left)) continue;
    subtract(left, gives);
    result.reliefs.push_back(reclaim);
    given.push_back(std::move(gives));
  }
  result.enough = none_left(left);
  // Later reclaims may make earlier ones superfluous. If one pool stays short in any case, the others need no more than
  // was missing of them. Those with the lowest cost stay.
  for (std::size_t i = result.reliefs.size(); i-- > 0;) {
    if (!is_superfluous(given[i], left)) continue;
    add(left, given[i]);
    result.reliefs.erase(result.reliefs.begin() + static_cast<std::ptrdiff_t>(i));
    given.erase(given.begin() + static_cast<std::ptrdiff_t>(i));
  }
  result.left = std::move(left);
  return result;
}

}  // namespace corral::residency
