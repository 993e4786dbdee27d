// What happens without anybody asking for it: idle models shrink and go, and so do the most disposable ones when the
// memory of the machine runs out.
#include <algorithm>
#include <utility>

#include "residency/core.h"
#include "residency/disposal.h"

namespace corral::residency {

namespace {

// Of some memory, less is missing with `one` than with `other`.
bool is_short_of_less(const Cover& one, const Cover& other) {
  for (std::size_t i = 0; i < one.left.size(); ++i) {
    if (std::max<std::int64_t>(one.left[i], 0) < std::max<std::int64_t>(other.left[i], 0)) return true;
  }
  return false;
}

}  // namespace

void Core::downsize(Server& server, Now now, ActionList& out) {
  move(server, ServerState::downsizing);
  server.downsize_asked = true;
  server.downsize_told = now.mono;
  server.downsize_crossed = false;
  out.push_back(Downsize{server.id});
}

// A child that hangs holds up nobody for ever.
void Core::give_up_downsizes(Now now, ActionList& out) {
  for (const auto& [id, server] : state_.servers) {
    if (!server->downsize_asked || now.mono - server->downsize_told < state_.settings.memory_wait) continue;
    if (server->state == ServerState::downsizing) {
      move(*server, ServerState::ready);
      server->downsize_refused = server->used_nth;
    }
    if (server->state != ServerState::evicting) note_relief(*server, false, false, out);
  }
}

void Core::on(const Downsized& event, Now now, ActionList& out) { downsize_ended(event.server, true, now, out); }
void Core::on(const DownsizeFailed& event, Now now, ActionList& out) { downsize_ended(event.server, false, now, out); }

// After a request that came meanwhile it counts as whole. One that was told to go meanwhile has shrunk all the same,
// and gives only the rest when it is gone.
void Core::downsize_ended(ServerId id, bool done, Now now, ActionList& out) {
  Server* server = find(id);
  if (server == nullptr || !server->downsize_asked) return;
  server->downsize_asked = false;
  const bool stays = serves(server->state) && !server->downsize_crossed;
  if (done && !server->downsize_crossed) {
    if (server->state == ServerState::ready) move(*server, ServerState::downsizing);  // it had been given up
    if (stays) move(*server, ServerState::downsized);
    server->shrunk = true;
    ++state_.downsizes;
    const PoolBytes freed = state_.memory.bytes(server->spec->memory, MemoryPart::dynamic);
    state_.memory.give_up(freed, now.mono + state_.settings.memory_wait);
  } else if (stays) {
    if (server->state == ServerState::downsizing) move(*server, ServerState::ready);
    server->downsize_refused = server->used_nth;
  }
  // Who waits for one that goes waits for its end.
  if (server->state != ServerState::evicting) note_relief(*server, stays && done, false, out);
  advance(now, out);
}

void Core::on(const MemorySampled& event, Now now, ActionList& out) {
  const Server* loader = state_.loader;
  state_.memory.sample(event.pools, loader == nullptr ? MemoryUse{} : loader->spec->memory, now.mono);
  // First who goes for other reasons, then who has to go besides.
  advance(now, out);
  if (relieve(event.pools, now, out)) advance(now, out);
}

// A memory is used above the threshold, even with all that is on its way back: idle models give up what brings it well
// below. Downsizing is tried first, where it suffices; pinned ones stay as they are.
bool Core::relieve(const std::vector<PoolSample>& seen, Now now, ActionList& out) {
  const Settings& settings = state_.settings;
  const auto is_above = [&](std::uint64_t total, std::int64_t available) {
    const auto used = static_cast<double>(total) - static_cast<double>(available);
    return used > static_cast<double>(total) * settings.auto_evict_threshold_pct;
  };
  PoolBytes pending(state_.memory.pools().size());
  for (const auto& [id, server] : state_.servers) {
    const bool shrinks = server->state == ServerState::downsizing;
    const bool goes = server->state == ServerState::evicting;
    if (goes) add(pending, state_.memory.held(*server));
    if (shrinks) add(pending, state_.memory.bytes(server->spec->memory, MemoryPart::dynamic));
  }
  PoolBytes excess(pending.size());
  for (std::size_t i = 0; i < excess.size(); ++i) {
    const std::int64_t free = state_.memory.pools()[i].expected + pending[i];
    const bool above = is_above(seen[i].total, static_cast<std::int64_t>(seen[i].available));
    if (!above || !is_above(seen[i].total, free)) continue;
    const double most = settings.auto_evict_threshold_pct - settings.pressure_relief;
    excess[i] = static_cast<std::int64_t>(static_cast<double>(seen[i].total) * (1 - most)) - free;
  }
  if (none_left(excess)) return false;

  const auto open = [&](const Server& server) {
    const MonoTime loaded = server.load_started + server.load_duration;
    return server.eviction.auto_evict && !state_.pinned(server) && now.mono - loaded >= settings.pressure_grace;
  };
  std::vector<Relief> shrinking;
  std::vector<Relief> choice;
  for (Server* server : by_score(state_, now.mono, open)) {
    if (may_downsize(state_, *server)) shrinking.push_back({server, true});
    choice.push_back({server, false});
  }
  Cover found = cover(state_.memory, excess, shrinking);
  if (!found.enough) {
    // Only where stopping gives more than downsizing does.
    Cover more = cover(state_.memory, excess, choice);
    if (is_short_of_less(more, found)) found = std::move(more);
  }
  for (const Relief& relief : found.reliefs) {
    if (relief.downsize) {
      downsize(*relief.server, now, out);
    } else {
      drain(*relief.server, StopReason::pressure, true, now, out);
    }
  }
  return !found.reliefs.empty();
}

// Idle models whose time to go has come.
void Core::leave_idle(Millis floor, Now now, ActionList& out) {
  for (const auto& [id, server] : state_.servers) {
    if (is_evict_due(state_, *server, now.mono, floor)) drain(*server, StopReason::idle, true, now, out);
  }
}

// Those whose time to shrink has come, and who don't go anyway.
void Core::shrink_idle(Millis floor, Now now, ActionList& out) {
  for (const auto& [id, server] : state_.servers) {
    if (is_downsize_due(state_, *server, now.mono, floor)) downsize(*server, now, out);
  }
}

// The last request of a server has ended. Nearly always an earlier wake-up is planned anyway.
void Core::plan_idle(const Server& server, Now now, ActionList& out) {
  const auto due = idle_due(state_, server, now.mono);
  if (due && (!wake_ || *due < *wake_)) plan_wake(now, out);
}

void Core::on(const SimulatePressure& event, Now now, ActionList& out) {
  if (event.pct < 0) {
    leave_idle(Millis{0}, now, out);
    shrink_idle(Millis{0}, now, out);
  } else if (event.pct >= state_.settings.auto_evict_threshold_pct) {
    const auto open = [this](const Server& server) { return server.eviction.auto_evict && !state_.pinned(server); };
    const std::vector<Server*> found = by_score(state_, now.mono, open);
    if (!found.empty()) drain(*found.front(), StopReason::pressure, true, now, out);
  }
  PendingRelief relief{event.ticket, {}, {}, {}};
  for (const auto& [id, server] : state_.servers) {
    const bool automatic = server->leaving == StopReason::idle || server->leaving == StopReason::pressure;
    const bool goes = server->state == ServerState::evicting && automatic;
    if (goes || server->state == ServerState::downsizing) relief.waits_for.push_back(id);
  }
  if (relief.waits_for.empty()) {
    out.push_back(Relieved{event.ticket, {}, {}});
  } else {
    state_.reliefs.push_back(std::move(relief));
  }
  advance(now, out);
}

// A deed that simulated passes may wait for is done, or won't be.
void Core::note_relief(const Server& server, bool downsized, bool evicted, ActionList& out) {
  for (PendingRelief& relief : state_.reliefs) {
    if (std::erase(relief.waits_for, server.id) == 0) continue;
    if (downsized) relief.downsized.push_back(server.spec->name);
    if (evicted) relief.evicted.push_back(server.spec->name);
    if (!relief.waits_for.empty()) continue;
    out.push_back(Relieved{relief.ticket, std::move(relief.downsized), std::move(relief.evicted)});
  }
  std::erase_if(state_.reliefs, [](const PendingRelief& relief) { return relief.waits_for.empty(); });
}

void Core::on(const ChangeEviction& event, Now now, ActionList& out) {
  const Model* model = state_.find(event.model);
  if (model == nullptr || model->current == nullptr) return;
  set_eviction(*model->current, event.eviction);
  ++revision_;
  advance(now, out);
}

// The memory is watched as long as somebody is in it who may go for its sake.
void Core::plan_watch(ActionList& out) {
  const bool wanted = std::ranges::any_of(state_.servers, [](const auto& entry) {
    const Server& server = *entry.second;
    return server.eviction.auto_evict && server.state >= ServerState::loading && server.state < ServerState::evicting;
  });
  if (wanted == state_.watching) return;
  state_.watching = wanted;
  out.push_back(WatchMemory{wanted});
}

}  // namespace corral::residency
