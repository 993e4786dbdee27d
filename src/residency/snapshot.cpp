#include "residency/snapshot.h"

#include "residency/elsewhere.h"
#include "residency/lending.h"
#include "residency/reclaim.h"
#include "residency/state.h"

namespace corral::residency {
namespace {

Millis since(MonoTime begin, Now now) { return std::chrono::duration_cast<Millis>(now.mono - begin); }

QueuedView view_of_queued(const State& state, const Server& load, std::size_t position, Now now) {
  QueuedView view{.model = load.spec->name,
                  .type = load.spec->type,
                  .position = position,
                  .waiting = since(load.queued_at, now),
                  .waiters = load.waiters.size(),
                  .waiting_for = {},
                  .checking = load.check != 0,
                  .for_memory = load.held_by_memory};
  for (ServerId id : load.waits_for) {
    const auto at = state.servers.find(id);
    if (at != state.servers.end()) view.waiting_for.push_back(at->second->spec->name);
  }
  return view;
}

}  // namespace

Snapshot take_snapshot(const State& state, Now now) {
  Snapshot snapshot;
  snapshot.limits = state.settings.limits;
  snapshot.lent_memory = lent_memory(state);
  snapshot.lend_share = state.settings.lend_share;
  const Server* recent = nullptr;
  const auto loaded_at = [](const Server& server) {
    return std::pair(server.load_started + server.load_duration, server.id);
  };
  snapshot.revision = state.revision;
  snapshot.stops = state.stops;
  snapshot.downsizes = state.downsizes;
  for (const auto& [id, server] : state.servers) {
    if (!takes_slot(server->state)) continue;
    const std::size_t type = index_of(server->spec->type);
    if (!server->spec->share && !runs_elsewhere(*server->spec)) ++(server->lent ? snapshot.lent : snapshot.taken)[type];
    if (server.get() == state.loader) {
      snapshot.loading = LoadingView{.id = id,
                                     .spec = server->spec,
                                     .since = since(server->load_started, now),
                                     .waiters = server->waiters.size(),
                                     .attempt = server->attempt,
                                     .lent = server->lent,
                                     .aborting = server->state == ServerState::evicting,
                                     .leaving = server->leaving};
      continue;
    }
    const bool is_model = is_resident(server->state) && !server->spec->share;
    if (is_model && (recent == nullptr || loaded_at(*recent) < loaded_at(*server))) recent = server.get();
    const bool pinned = state.pinned(*server);
    snapshot.pinned[type] += pinned;
    snapshot.downsized[type] += server->state == ServerState::downsized;
    snapshot.servers.push_back({.id = id,
                                .spec = server->spec,
                                .state = server->state,
                                .last_use = server->last_use_wall,
                                .pinned = pinned,
                                .leases = server->leases,
                                .peer_leases = server->peer_leases,
                                .lent = server->lent,
                                .load_duration = server->load_duration,
                                .idle = server->leases > 0 ? Millis{0} : since(server->last_use, now),
                                .score = eviction_score(*server, now.mono),
                                .leaving = server->leaving,
                                .eviction = server->eviction});
  }
  if (recent != nullptr) snapshot.most_recent = recent->spec->name;
  for (const Server* load : state.queue) {
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
