// The small moves: finding, moving, granting, draining, removing. Every change of a state goes through move().
#include "residency/core.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "residency/elsewhere.h"
#include "residency/lending.h"

namespace corral::residency {

Core::Core(Settings settings, const std::set<ModelName>& pins) {
  state_.settings = std::move(settings);
  for (const ModelName& name : pins) state_.models[name].pinned = true;
}

void Core::handle(const Event& event, Now now, ActionList& out) {
  std::visit([&](const auto& alternative) { on(alternative, now, out); }, event);
}

Server* Core::find(ServerId id) {
  const auto at = state_.servers.find(id);
  return at == state_.servers.end() ? nullptr : at->second.get();
}

void Core::move(Server& server, ServerState to) {
  const ServerState from = server.state;
  if (!may_move(from, to)) {
    throw std::logic_error(fmt::format("server {} of '{}' can't go from {} to {}", server.id.value(),
                                       server.spec->name.value(), name_of(from), name_of(to)));
  }
  server.state = to;
  std::size_t& taken = state_.taken[index_of(server.spec->type)];
  if (!runs_elsewhere(*server.spec)) taken = taken + takes_slot(to) - takes_slot(from);
  const auto usual = [](ServerState state) { return state == ServerState::ready || state == ServerState::in_use; };
  if (!usual(from) || !usual(to)) ++revision_;
}

void Core::touch(Server& server, Now now) {
  server.used_nth = ++uses_;
  server.last_use = now.mono;
  server.last_use_wall = now.wall;
}

std::optional<Core::Lease> Core::try_acquire(const ModelName& model, Now now, Origin origin) {
  const auto at = state_.models.find(model);
  if (at == state_.models.end()) return std::nullopt;
  Server* server = at->second.current;
  if (server == nullptr || !serves(server->state)) return std::nullopt;
  if (origin == Origin::peer || server->lent) [[unlikely]] {
    if (!may_share(*server, origin, now)) return std::nullopt;
    begin_use(*server, now);
    return Lease{lease_of(*server, origin), server->id};
  }
  begin_use(*server, now);
  return Lease{state_.leases.take(*server), server->id};
}

// One more request. A downsized child takes its memory back by itself.
void Core::begin_use(Server& server, Now now) {
  if (server.leases++ == 0) move(server, ServerState::in_use);
  server.downsize_crossed = server.downsize_asked;
  if (server.shrunk) {
    server.shrunk = false;
    state_.memory.take(state_.memory.bytes(server.spec->memory, MemoryPart::dynamic));
  }
  touch(server, now);
}

LeaseId Core::lease_of(Server& server, Origin origin) {
  server.peer_leases += origin == Origin::peer;
  return state_.leases.take(server, origin);
}

void Core::grant(Server& server, TicketId ticket, Now now, ActionList& out, Origin origin) {
  begin_use(server, now);
  out.push_back(Granted{ticket, lease_of(server, origin), server.id});
}

void Core::release(LeaseId lease, Now now, ActionList& out) {
  const auto [server, origin] = state_.leases.give_back(lease);
  if (server == nullptr) return;
  touch(*server, now);
  if (origin == Origin::peer || server->lent || server->peer_leases > 0) [[unlikely]]
    return release_shared(*server, origin, now, out);
  if (--server->leases == 0) now_idle(*server, now, out);
}

// The last request on it has ended.
void Core::now_idle(Server& server, Now now, ActionList& out) {
  if (server.state == ServerState::draining) {
    stop(server, now, out);
    return advance(now, out);
  }
  move(server, ServerState::ready);
  // An idle server concerns only loads that wait and a type that is over its limit.
  const ModelType type = server.spec->type;
  const Limits& limits = state_.settings.limits;
  const bool within =
      limits.allows(type, state_.taken[index_of(type)]) || limits.allows(type, state_.slots_taken(type));
  if (!state_.queue.empty() || !within || server.lent) return advance(now, out);
  if (server.eviction.auto_evict) plan_idle(server, now, out);
}

void Core::stop(Server& server, Now now, ActionList& out) {
  // Told to shrink for one reason and to go for another, in the same step: it only goes.
  const auto shrinks = [&](const Action& action) {
    const auto* downsize = std::get_if<Downsize>(&action);
    return downsize != nullptr && downsize->server == server.id;
  };
  if (server.downsize_asked && std::erase_if(out, shrinks) > 0) server.downsize_asked = false;
  move(server, ServerState::evicting);
  server.stopping_since = now.mono;
  ++state_.stops[static_cast<std::size_t>(server.leaving)];
  out.push_back(StopServer{server.id, server.leaving});
}

void Core::drain(Server& server, StopReason reason, bool for_good, Now now, ActionList& out) {
  if (server.state == ServerState::evicting) return;
  if (!server.leaving_for_good) {
    server.leaving = reason;
    // Another machine stops an engine for it: that can't be taken back.
    server.leaving_for_good = for_good || server.spec->share;
  }
  if (server.state != ServerState::draining) {
    move(server, ServerState::draining);
    if (server.spec->share && server.leases > 0) out.push_back(Recall{server.id});
    // One that was wanted away for something else until now hasn't served anybody in between.
    if (server.brought_back != decisions_) server.draining_since = now.mono;
  }
  if (server.leases == 0) stop(server, now, out);
}

void Core::undrain(Server& server) {
  server.leaving = StopReason::none;
  server.brought_back = decisions_;
  move(server, ServerState::in_use);
}

void Core::abort(Server& load, StopReason reason, Now now, ActionList& out) {
  load.leaving = reason;
  load.leaving_for_good = true;
  move(load, ServerState::evicting);
  load.stopping_since = now.mono;
  ++state_.stops[static_cast<std::size_t>(reason)];
  out.push_back(AbortLoad{load.id, reason});
}

void Core::remove(Server& server, ServerState last, Now now, ActionList& out) {
  if (!server.waiters.empty()) {
    throw std::logic_error(
        fmt::format("'{}' goes while {} still wait for it", server.spec->name.value(), server.waiters.size()));
  }
  if (takes_slot(server.state)) {
    state_.lent[index_of(server.spec->type)] -= server.lent && !runs_elsewhere(*server.spec);
    state_.memory.give_up(state_.memory.held(server), now.mono + state_.settings.memory_wait);
  }
  note_relief(server, false, server.state == ServerState::evicting, out);
  drop_check(server, out);
  move(server, last);
  const ModelName name = server.spec->name;
  Model& model = state_.models[name];
  if (model.pending == &server) model.pending = nullptr;
  if (model.current == &server) model.current = nullptr;
  if (state_.loader == &server) state_.loader = nullptr;
  if (state_.lending == &server) state_.lending = nullptr;
  std::erase(state_.queue, &server);
  state_.leases.drop_all(server);
  for (PendingUnload& unload : state_.unloads) {
    if (std::erase(unload.waits_for, server.id) > 0) unload.unloaded.push_back(name);
    if (unload.waits_for.empty()) {
      out.push_back(Unloaded{unload.ticket, std::move(unload.unloaded), std::move(unload.draining)});
    }
  }
  std::erase_if(state_.unloads, [](const PendingUnload& unload) { return unload.waits_for.empty(); });
  state_.servers.erase(server.id);
  forget_if_empty(name);
}

void Core::forget_if_empty(const ModelName& name) {
  const auto at = state_.models.find(name);
  if (at == state_.models.end()) return;
  const Model& model = at->second;
  const bool noted = model.failure || model.crashes || model.lent_failure || model.lent_crashes;
  if (!model.current && !model.pending && !model.pinned && !noted) state_.models.erase(at);
}

void Core::set_pin(const ModelName& name, bool pinned, std::optional<TicketId> ticket, ActionList& out) {
  Model& model = state_.models[name];
  const bool changes = model.pinned != pinned;
  model.pinned = pinned;
  revision_ += changes;
  if (changes || ticket) out.push_back(PinChanged{ticket, name, pinned});
}

}  // namespace corral::residency
