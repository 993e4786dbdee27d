#include "residency/queue_reservations.h"

#include <algorithm>

#include "residency/elsewhere.h"
#include "residency/npu_rule.h"

namespace corral::residency {

QueueReservations::QueueReservations(const State& state) : state_(state) {
  for (ModelType type : kModelTypes) projected_[index_of(type)] = state.slots_taken(type);
  for (const MemoryLedger::Pool& pool : state.memory.pools()) free_.push_back(pool.available);
}

bool QueueReservations::blocks(const Instance& load, const EvictionPlan& plan) const {
  const ModelType type = load.spec->type;
  if (npu_ && uses_npu(*load.spec)) return true;
  if (blocks_by_memory(load, plan)) return true;
  if (runs_elsewhere(*load.spec) || waiting_[index_of(type)] == 0) return false;
  return !plan.victims.empty() || !state_.settings.limits.allows(type, projected_[index_of(type)] + 1);
}

// A load of unknown need doesn't pass one that waits for memory. One of known need passes if its memory fits beside,
// without an eviction for memory: the load ahead may need the same victims.
bool QueueReservations::blocks_by_memory(const Instance& load, const EvictionPlan& plan) const {
  if (load.spec->memory.empty()) return memory_waits_;
  if (!reserved_) return false;
  if (memory_waits_ && plan.held_by_memory()) return true;
  PoolBytes missing = state_.memory.bytes(load.spec->memory, MemoryPart::all);
  const PoolBytes need = missing;
  subtract(missing, free_);
  for (const Victim& victim : plan.victims) subtract(missing, state_.memory.surely_held(*victim.instance));
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (need[i] > 0 && missing[i] > 0) return true;
  }
  return false;
}

void QueueReservations::started(const Instance& load) {
  projected_[index_of(load.spec->type)] += !runs_elsewhere(*load.spec);
  subtract(free_, state_.memory.bytes(load.spec->memory, MemoryPart::all));
}

void QueueReservations::add(const Instance& load, const EvictionPlan& plan) {
  const ModelSpec& spec = *load.spec;
  waiting_[index_of(spec.type)] += !runs_elsewhere(spec);
  projected_[index_of(spec.type)] += !runs_elsewhere(spec);
  npu_ |= uses_npu(spec);
  reserved_ |= !spec.memory.empty();
  memory_waits_ |= plan.held_by_memory();
  PoolBytes claim = state_.memory.bytes(spec.memory, MemoryPart::all);
  for (const Victim& victim : plan.victims) {
    if (!leaves(victim.instance)) continue;
    // When its turn comes, the victims for memory may be others.
    const bool frees_slot = victim.reason != StopReason::memory && !victim.instance->lent;
    if (frees_slot) --projected_[index_of(victim.instance->spec->type)];
    subtract(claim, state_.memory.surely_held(*victim.instance));
  }
  for (const Instance* instance : plan.downsizes) {
    // An instance may have downsized before its answer, and the sample already shows it.
    if (leaves(instance) && !instance->downsize_asked)
      subtract(claim, state_.memory.bytes(instance->spec->memory, MemoryPart::dynamic));
  }
  // Memory that its victims free beyond its need isn't available to others: they may take long to stop.
  for (std::size_t i = 0; i < claim.size(); ++i) free_[i] -= std::max<std::int64_t>(0, claim[i]);
}

// True for the first load that counts on this instance.
bool QueueReservations::leaves(const Instance* instance) {
  if (std::ranges::find(leaving_, instance) != leaving_.end()) return false;
  leaving_.push_back(instance);
  return true;
}

}  // namespace corral::residency
