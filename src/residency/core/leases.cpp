#include "residency/core/leases.h"

#include "residency/lending.h"

namespace corral::residency {

LeaseId Leases::take(Instance& instance, RequestOrigin origin, Now now) {
  if (instance.leases++ == 0) lifecycle_.move(instance, InstanceState::in_use);
  instance.peer_leases += origin == RequestOrigin::peer;
  instance.downsize_crossed = instance.downsize_asked;
  if (instance.shrunk) {
    instance.shrunk = false;
    state_.memory.take(state_.memory.bytes(instance.spec->memory, MemoryPart::dynamic));
  }
  lifecycle_.touch(instance, now);
  return state_.leases.take(instance, origin);
}

void Leases::grant(Instance& instance, TicketId ticket, RequestOrigin origin, const Step& step) {
  const LeaseId lease = take(instance, origin, step.now);
  step.act(Granted{ticket, lease, instance.id});
}

bool Leases::release(LeaseId lease, const Step& step) {
  const auto [instance, origin] = state_.leases.give_back(lease);
  if (instance == nullptr) return false;
  lifecycle_.touch(*instance, step.now);
  instance->peer_leases -= origin == RequestOrigin::peer;
  --instance->leases;
  if (instance->state == InstanceState::evicting) return false;  // it was recalled while the request ran
  if (instance->leases == 0) return now_idle(*instance, step);
  // A drain may wait for this: peer requests have a time limit.
  const bool matters = instance->lent || instance->state == InstanceState::draining;
  return matters && origin == RequestOrigin::local && works_for_peers_only(*instance);
}

bool Leases::now_idle(Instance& instance, const Step& step) {
  if (instance.state == InstanceState::draining) {
    lifecycle_.stop(instance, step);
    return true;
  }
  lifecycle_.move(instance, InstanceState::ready);
  // An idle instance matters only to waiting loads and to a type above its limit.
  const ModelType type = instance.spec->type;
  const Limits& limits = state_.settings.limits;
  const bool within =
      limits.allows(type, state_.taken[index_of(type)]) || limits.allows(type, state_.slots_taken(type));
  if (!state_.queue.empty() || !within || instance.lent) return true;
  if (instance.eviction.auto_evict) timer_.plan_idle(instance, step);
  return false;
}

}  // namespace corral::residency
