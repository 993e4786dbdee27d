#include "residency/core/leases.h"

#include "residency/lending.h"

namespace corral::residency {

LeaseId Leases::take(Server& server, RequestOrigin origin, Now now) {
  if (server.leases++ == 0) lifecycle_.move(server, ServerState::in_use);
  server.peer_leases += origin == RequestOrigin::peer;
  server.downsize_crossed = server.downsize_asked;
  if (server.shrunk) {
    server.shrunk = false;
    state_.memory.take(state_.memory.bytes(server.spec->memory, MemoryPart::dynamic));
  }
  lifecycle_.touch(server, now);
  return state_.leases.take(server, origin);
}

void Leases::grant(Server& server, TicketId ticket, RequestOrigin origin, const Step& step) {
  const LeaseId lease = take(server, origin, step.now);
  step.act(Granted{ticket, lease, server.id});
}

bool Leases::release(LeaseId lease, const Step& step) {
  const auto [server, origin] = state_.leases.give_back(lease);
  if (server == nullptr) return false;
  lifecycle_.touch(*server, step.now);
  server->peer_leases -= origin == RequestOrigin::peer;
  --server->leases;
  if (server->state == ServerState::evicting) return false;  // its recall has ended under the request
  if (server->leases == 0) return now_idle(*server, step);
  // A drain may wait just for that: peers have only so long.
  const bool matters = server->lent || server->state == ServerState::draining;
  return matters && origin == RequestOrigin::local && works_for_peers_only(*server);
}

bool Leases::now_idle(Server& server, const Step& step) {
  if (server.state == ServerState::draining) {
    lifecycle_.stop(server, step);
    return true;
  }
  lifecycle_.move(server, ServerState::ready);
  // An idle instance concerns only loads that wait and a type that is over its limit.
  const ModelType type = server.spec->type;
  const Limits& limits = state_.settings.limits;
  const bool within =
      limits.allows(type, state_.taken[index_of(type)]) || limits.allows(type, state_.slots_taken(type));
  if (!state_.queue.empty() || !within || server.lent) return true;
  if (server.eviction.auto_evict) timer_.plan_idle(server, step);
  return false;
}

}  // namespace corral::residency
