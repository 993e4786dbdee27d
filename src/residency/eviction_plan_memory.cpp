// The rule of memory: a load starts when a fresh sample shows enough free memory. It also starts without that if it has
// waited long enough for released memory and no victim is left. Victims are chosen by their predicted memory, so that
// no eviction is in vain.
//
// more than the machine has                     refused permanently, no eviction
// free with memory that is being released       waits for it, at most memory_wait
// stopping lent instances suffices              they stop, idle ones before those that only peers use (lending.h)
// downsizing idle instances as well suffices    they are downsized
// stopping idle instances, then busy, suffices  they stop, as few as possible
// pinned instances hold it                      refused like pinned slots
// other programs hold it                        refused for now, no eviction: it would be in vain; exception: a request
//                                               that arrived while its model was leaving memory waits, then is tried
//
// A load that starts without enough memory costs more than a refusal: the system swaps or kills other processes. So the
// ledger decides, except after the wait: released memory may show as used by caches for longer than a request should
// wait, and a failed load has a second attempt.
#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "base/memory_estimate.h"
#include "residency/elsewhere.h"
#include "residency/errors.h"
#include "residency/eviction_plan.h"
#include "residency/lending.h"
#include "residency/reclaim.h"

namespace corral::residency {
namespace {

constexpr std::chrono::seconds kMemoryInUseRetry{10};

class MemoryRule {
 public:
  MemoryRule(State& state, const Instance& load, MonoTime now, EvictionPlan& plan)
      : state_(state),
        ledger_(state.memory),
        load_(load),
        now_(now),
        plan_(plan),
        need_(ledger_.bytes(load.spec->memory, MemoryPart::all)) {}

  void apply() {
    if (load_.attempt == 1 && exceeds_machine()) return;
    PoolBytes missing = need_;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (need_[i] > 0) missing[i] -= ledger_.pools()[i].expected;
    }
    for (const Victim& victim : plan_.victims) subtract(missing, given_by_end_of(ledger_, *victim.instance));
    if (none_left(missing)) return settle();
    if (load_.attempt > 1) return settle();  // all others stop anyway, and it is never refused
    const std::vector<Reclaim> leaving = with_lent(under_way());
    if (take(cover(ledger_, missing, with_downsizes(leaving)))) return;
    if (take(cover(ledger_, missing, with_stops(leaving)))) return;
    if (is_wanted_back()) return wait(missing);
    if (!is_promised(missing)) refuse(missing);
  }

 private:
  bool exceeds_machine() {
    Error error(errc::insufficient_memory, "", "model");
    for (std::size_t i = 0; i < need_.size(); ++i) {
      if (need_[i] > ledger_.pools()[i].total) add_need(error, i, ledger_.pools()[i].total);
    }
    if (error.memory.empty()) return false;
    error.message = fmt::format("'{}' {}", load_.spec->name.value(), in_words(error.memory));
    plan_.refused = std::move(error);
    return true;
  }

  // All victims are chosen; only released memory is missing.
  void settle() {
    if (!plan_.victims.empty()) return;
    for (std::size_t i = 0; i < need_.size(); ++i) {
      const MemoryLedger::Pool& pool = ledger_.pools()[i];
      if (need_[i] == 0 || need_[i] <= pool.available || pool.expected <= pool.available) continue;
      if (!plan_.settles) plan_.settles.emplace();
      plan_.settles->pools.push_back(pool.id);
      plan_.settles->until = std::max(plan_.settles->until, pool.back_by);
    }
  }

  // A request for these options arrived while the model was leaving memory.
  bool is_wanted_back() const {
    return std::ranges::any_of(load_.waiters, [this](const Waiter& waiter) {
      return waiter.returns && waiter.spec->options == load_.spec->options;
    });
  }

  // A request arrived while its model was leaving memory. The eviction must not fail it: the load waits for memory,
  // then starts anyway.
  void wait(const PoolBytes& missing) {
    const MonoTime until = load_.queued_at + state_.settings.memory_wait;
    if (!plan_.victims.empty() || now_ >= until) return;
    plan_.settles.emplace();
    plan_.settles->until = until;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] > 0) plan_.settles->pools.push_back(ledger_.pools()[i].id);
    }
  }

  // The missing memory was released, and the wait for it is over.
  bool is_promised(const PoolBytes& missing) const {
    if (!load_.promise || now_ < load_.promise->until) return false;
    const std::vector<PoolId>& pools = load_.promise->pools;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] > 0 && std::ranges::find(pools, ledger_.pools()[i].id) == pools.end()) return false;
    }
    return true;
  }

  bool is_victim(const Instance& instance) const {
    return std::ranges::any_of(plan_.victims, [&](const Victim& victim) { return victim.instance == &instance; });
  }

  // Instances that already stop or are being downsized.
  std::vector<Reclaim> under_way() const {
    std::vector<Reclaim> found;
    for (const auto& [id, instance] : state_.instances) {
      if (is_victim(*instance)) continue;
      if (instance->state == InstanceState::evicting) found.push_back({instance.get(), false});
      if (instance->state == InstanceState::downsizing) found.push_back({instance.get(), true});
    }
    return found;
  }

  // Lent instances come before all local ones, even if they were used more recently.
  std::vector<Reclaim> with_lent(std::vector<Reclaim> choice) const {
    const auto lent = [this](const Instance& instance) { return is_peers_only(instance) && !is_victim(instance); };
    for (Instance* instance : by_score(state_, now_, lent)) choice.push_back({instance, false});
    std::vector<Instance*> busy;
    for (const auto& [id, instance] : state_.instances) {
      if (instance->leases > 0 && instance->state != InstanceState::evicting && lent(*instance))
        busy.push_back(instance.get());
    }
    std::ranges::sort(busy, {}, [](const Instance* instance) {
      return std::tuple(instance->state != InstanceState::draining, instance->used_nth);
    });
    for (Instance* instance : busy) choice.push_back({instance, false});
    return choice;
  }

  std::vector<Reclaim> with_downsizes(std::vector<Reclaim> choice) const {
    const auto wanted = [this](const Instance& instance) {
      return may_downsize(state_, instance) && !is_victim(instance) && !instance.lent;
    };
    for (Instance* instance : by_score(state_, now_, wanted)) choice.push_back({instance, true});
    return choice;
  }

  // Adds every instance that isn't pinned.
  std::vector<Reclaim> with_stops(std::vector<Reclaim> choice) const {
    const auto open = [this](const Instance& instance) {
      return !is_victim(instance) && !runs_elsewhere(*instance.spec) && !state_.is_protected(instance) &&
             !is_peers_only(instance);
    };
    for (Instance* instance : by_score(state_, now_, open)) choice.push_back({instance, false});
    std::vector<Instance*> busy;
    for (const auto& [id, instance] : state_.instances) {
      const bool goes =
          takes_slot(instance->state) && instance->state != InstanceState::evicting && !is_idle(*instance);
      if (goes && open(*instance)) busy.push_back(instance.get());
    }
    std::ranges::sort(busy, {}, [](const Instance* instance) {
      const bool drains = instance->state == InstanceState::draining;
      return std::tuple(!(drains && instance->leaving_for_good), !drains, instance->used_nth);
    });
    for (Instance* instance : busy) choice.push_back({instance, false});
    return choice;
  }

  bool take(const ReclaimPlan& found) {
    if (!found.enough) return false;
    for (const Reclaim& reclaim : found.reliefs) {
      if (reclaim.downsize) {
        plan_.downsizes.push_back(reclaim.instance);
      } else {
        plan_.victims.push_back({reclaim.instance, StopReason::memory});
      }
    }
    return true;
  }

  // Even the eviction of all candidates would not suffice.
  void refuse(const PoolBytes& missing) {
    if (!plan_.imagined && (plan_.stale || state_.loader != nullptr))
      return;  // refused only when its turn has come, by a fresh sample
    PoolBytes hopeless = missing;
    for (const Reclaim& reclaim : with_stops(with_lent(under_way()))) subtract(hopeless, given_by(ledger_, reclaim));
    PoolBytes unpinned = missing;
    std::string pinned;
    for (const auto& [id, instance] : state_.instances) {
      if (takes_slot(instance->state) && !is_victim(*instance)) subtract(unpinned, ledger_.held(*instance));
      if (!state_.is_protected(*instance)) continue;
      fmt::format_to(std::back_inserter(pinned), "{}'{}'", pinned.empty() ? "" : ", ", instance->spec->name.value());
    }
    const bool pins = none_left(unpinned);
    Error error(pins ? errc::slots_pinned : errc::memory_in_use, "", "model");
    for (std::size_t i = 0; i < hopeless.size(); ++i) {
      if (hopeless[i] > 0) add_need(error, i, std::max<std::int64_t>(0, need_[i] - hopeless[i]));
    }
    error.message = fmt::format("'{}' {} to spare: ", load_.spec->name.value(), in_words(error.memory));
    if (pins) {
      error.message += fmt::format("the rest is held by pinned models ({}): unpin or unload one first", pinned);
    } else {
      error.message += "the rest is used by other programs";
      error.retry_after = kMemoryInUseRetry;
    }
    plan_.refused = std::move(error);
  }

  void add_need(Error& error, std::size_t pool, std::int64_t have) const {
    error.memory.push_back(
        {ledger_.pools()[pool].id.value(), static_cast<std::uint64_t>(need_[pool]), static_cast<std::uint64_t>(have)});
  }

  State& state_;
  const MemoryLedger& ledger_;
  const Instance& load_;
  const MonoTime now_;
  EvictionPlan& plan_;
  const PoolBytes need_;
};

}  // namespace

void fit_memory(State& state, const Instance& load, MonoTime now, EvictionPlan& plan) {
  if (load.spec->memory.empty()) return;
  plan.stale = !state.memory.is_fresh(now, state.settings.memory_poll);
  if (!state.memory.pools().empty()) MemoryRule(state, load, now, plan).apply();
}

}  // namespace corral::residency
