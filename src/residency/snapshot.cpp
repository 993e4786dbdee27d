#include "residency/snapshot.h"

#include "residency/elsewhere.h"
#include "residency/lending.h"
#include "residency/reclaim.h"
#include "residency/state.h"

namespace corral::residency {
namespace {

Millis since(MonoTime begin, Now now) { return std::chrono::duration_cast<Millis>(now.mono - begin); }

QueuedView view_of_queued(const State& state, const Instance& load, std::size_t position, Now now) {
  QueuedView view{.model = load.spec->name,
                  .type = load.spec->type,
                  .position = position,
                  .waiting = since(load.queued_at, now),
                  .waiters = load.waiters.size(),
                  .waiting_for = {},
                  .checking = load.check != 0,
                  .for_memory = load.held_by_memory};
  for (InstanceId id : load.waits_for) {
    const auto at = state.instances.find(id);
    if (at != state.instances.end()) view.waiting_for.push_back(at->second->spec->name);
  }
  return view;
}

}  // namespace

Snapshot take_snapshot(const State& state, Now now) {
  Snapshot snapshot;
  snapshot.limits = state.settings.limits;
  snapshot.lent_memory = lent_memory(state);
  snapshot.lend_share = state.settings.lend_share;
  const Instance* recent = nullptr;
  const auto loaded_at = [](const Instance& instance) {
    return std::pair(instance.load_started + instance.load_duration, instance.id);
  };
  snapshot.revision = state.revision;
  snapshot.stops = state.stops;
  snapshot.downsizes = state.downsizes;
  for (const auto& [id, instance] : state.instances) {
    if (!takes_slot(instance->state)) continue;
    const std::size_t type = index_of(instance->spec->type);
    if (!instance->spec->share && !runs_elsewhere(*instance->spec))
      ++(instance->lent ? snapshot.lent : snapshot.taken)[type];
    if (instance.get() == state.loader) {
      snapshot.loading = LoadingView{.id = id,
                                     .spec = instance->spec,
                                     .since = since(instance->load_started, now),
                                     .waiters = instance->waiters.size(),
                                     .attempt = instance->attempt,
                                     .lent = instance->lent,
                                     .aborting = instance->state == InstanceState::evicting,
                                     .leaving = instance->leaving};
      continue;
    }
    const bool is_model = is_resident(instance->state) && !instance->spec->share;
    if (is_model && (recent == nullptr || loaded_at(*recent) < loaded_at(*instance))) recent = instance.get();
    const bool pinned = state.pinned(*instance);
    snapshot.pinned[type] += pinned;
    snapshot.downsized[type] += instance->state == InstanceState::downsized;
    snapshot.instances.push_back({.id = id,
                                  .spec = instance->spec,
                                  .state = instance->state,
                                  .last_use = instance->last_use_wall,
                                  .pinned = pinned,
                                  .leases = instance->leases,
                                  .peer_leases = instance->peer_leases,
                                  .lent = instance->lent,
                                  .load_duration = instance->load_duration,
                                  .idle = instance->leases > 0 ? Millis{0} : since(instance->last_use, now),
                                  .score = eviction_score(*instance, now.mono),
                                  .leaving = instance->leaving,
                                  .eviction = instance->eviction,
                                  .idle_next = idle_outlook(state, *instance, now.mono)});
  }
  if (recent != nullptr) snapshot.most_recent = recent->spec->name;
  for (const Instance* load : state.queue) {
    snapshot.queue.push_back(view_of_queued(state, *load, snapshot.queue.size() + 1, now));
  }
  for (const auto& [name, model] : state.models) {
    for (const auto* failure : {&model.failure, &model.crashes}) {
      if (!*failure) continue;
      const Millis left = std::max(Millis{0}, std::chrono::ceil<Millis>((*failure)->cool_until - now.mono));
      snapshot.failures.push_back({name, failure == &model.crashes, (*failure)->in_a_row, left, (*failure)->cause});
    }
  }
  return snapshot;
}

}  // namespace corral::residency
