#include "residency/eviction_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "residency/elsewhere.h"
#include "residency/errors.h"
#include "residency/npu_rule.h"

namespace corral::residency {
namespace {

class Finder {
 public:
  Finder(State& state, const Instance& load) : state_(state), load_(load) {}

  EvictionPlan find() {
    for (const auto& [id, instance] : state_.instances) {
      if (takes_slot(instance->state)) force(*instance);
    }
    if (!plan_.refused) fill_slots();
    return std::move(plan_);
  }

 private:
  // Instances that must stop for other reasons than slots.
  void force(Instance& instance) {
    const ModelSpec& spec = *instance.spec;
    if (spec.name == load_.spec->name) return add(instance, StopReason::reload);
    const bool may_go = !state_.is_protected(instance);
    if (!may_share_npu(spec, *load_.spec)) {
      if (may_go) return add(instance, StopReason::npu);
      return refuse(fmt::format("the NPU is held by '{}', which is pinned", spec.name.value()));
    }
    if (load_.attempt > 1 && drives_out(state_, instance) && goes_now(instance)) add(instance, StopReason::evict_all);
  }

  bool goes_now(const Instance& instance) const {
    const auto& first = load_.first_to_go;
    return first.empty() || std::ranges::find(first, instance.id) != first.end();
  }

  void fill_slots() {
    const ModelType type = load_.spec->type;
    if (runs_elsewhere(*load_.spec)) return;
    std::vector<Instance*> candidates;
    std::size_t staying = 0;
    for (const auto& [id, instance] : state_.instances) {
      if (instance->lent || runs_elsewhere(*instance->spec) || !takes_slot(instance->state)) continue;
      if (instance->spec->type != type || is_victim(*instance)) continue;
      ++staying;
      if (!state_.is_protected(*instance)) candidates.push_back(instance.get());
    }
    std::ranges::sort(candidates, {}, [](const Instance* s) { return std::pair(rank(*s), s->used_nth); });
    for (Instance* candidate : candidates) {
      if (state_.settings.limits.allows(type, staying + 1)) return;
      add(*candidate, StopReason::room);
      --staying;
    }
    if (state_.settings.limits.allows(type, staying + 1)) return;
    refuse(fmt::format("all loaded models of type {} are pinned", name_of(type)));
  }

  static int rank(const Instance& instance) {
    if (instance.state == InstanceState::evicting) return 0;
    if (instance.state == InstanceState::draining) return instance.leaving_for_good ? 2 : 3;
    return is_busy(instance) ? 4 : 1;
  }

  bool is_victim(const Instance& instance) const {
    return std::ranges::any_of(plan_.victims, [&](const Victim& victim) { return victim.instance == &instance; });
  }
  void add(Instance& instance, StopReason reason) { plan_.victims.push_back({&instance, reason}); }
  void refuse(const std::string& why) {
    plan_.refused.emplace(errc::slots_pinned, fmt::format("{}: unpin or unload one first", why), "model");
  }

  State& state_;
  const Instance& load_;
  EvictionPlan plan_;
};

}  // namespace

bool drives_out(const State& state, const Instance& instance) {
  return takes_slot(instance.state) && !runs_elsewhere(*instance.spec) &&
         (state.settings.nuclear_evicts_pinned || !state.is_protected(instance));
}

bool evicts_nothing(const Instance& load) {
  return !load.waiters.empty() && std::ranges::all_of(load.waiters, [](const Waiter& waiter) {
    return waiter.spec != nullptr && waiter.spec->evicts_nothing;
  });
}

bool EvictionPlan::held_by_memory() const {
  return settles.has_value() || !downsizes.empty() ||
         std::ranges::any_of(victims, [](const Victim& victim) { return victim.reason == StopReason::memory; });
}

EvictionPlan plan_eviction(State& state, const Instance& load, MonoTime now) {
  EvictionPlan plan = Finder(state, load).find();
  if (!plan.refused) fit_memory(state, load, now, plan);
  // By an old sample it is not decided yet.
  const bool evicts = !plan.victims.empty() || !plan.downsizes.empty();
  if (!plan.refused && !plan.stale && evicts && evicts_nothing(load)) {
    const auto& first = plan.victims.empty() ? *plan.downsizes.front() : *plan.victims.front().instance;
    plan.refused.emplace(errc::needs_eviction,
                         fmt::format("'{}' has no free slot or memory, and '{}' is not evicted for it",
                                     load.spec->name.value(), first.spec->name.value()),
                         "model");
  }
  return plan;
}

}  // namespace corral::residency
