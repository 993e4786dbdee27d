#include "residency/core/lifecycle.h"

#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "residency/elsewhere.h"

namespace corral::residency {

Server& Lifecycle::add(const SpecPtr& spec, Now now) {
  const ServerId id(++last_id_);
  auto server = std::make_unique<Server>();
  server->id = id;
  server->spec = spec;
  server->eviction = spec->eviction;
  server->queued_at = now.mono;
  Server& load = *server;
  state_.servers.emplace(id, std::move(server));
  state_.models[spec->name].pending = &load;
  ++state_.revision;
  return load;
}

void Lifecycle::move(Server& server, ServerState to) {
  const ServerState from = server.state;
  if (!may_move(from, to)) {
    throw std::logic_error(fmt::format("server {} of '{}' can't go from {} to {}", server.id.value(),
                                       server.spec->name.value(), name_of(from), name_of(to)));
  }
  server.state = to;
  std::size_t& taken = state_.taken[index_of(server.spec->type)];
  if (!runs_elsewhere(*server.spec)) taken = taken + takes_slot(to) - takes_slot(from);
  const auto usual = [](ServerState state) { return state == ServerState::ready || state == ServerState::in_use; };
  if (!usual(from) || !usual(to)) ++state_.revision;
}

void Lifecycle::touch(Server& server, Now now) {
  server.used_nth = ++uses_;
  server.last_use = now.mono;
  server.last_use_wall = now.wall;
}

void Lifecycle::start(Server& load, const Step& step) {
  std::erase(state_.queue, &load);
  if (state_.lending == &load) state_.lending = nullptr;
  state_.lent[index_of(load.spec->type)] += load.lent && !runs_elsewhere(*load.spec);
  Model& model = state_.models[load.spec->name];
  model.pending = nullptr;
  model.current = &load;
  state_.loader = &load;
  load.waits_since.reset();
  load.waits_for.clear();
  load.held_by_memory = false;
  state_.memory.take(state_.memory.bytes(load.spec->memory, MemoryPart::all));
  for (Server* other : state_.queue) other->promise.reset();  // this load takes of it
  load.load_started = step.time();
  touch(load, step.now);
  move(load, ServerState::loading);
  step.act(StartLoad{load.id, load.spec, load.attempt});
}

void Lifecycle::abort(Server& load, StopReason reason, const Step& step) {
  load.leaving = reason;
  load.leaving_for_good = true;
  move(load, ServerState::evicting);
  load.stopping_since = step.time();
  ++state_.stops[static_cast<std::size_t>(reason)];
  step.act(AbortLoad{load.id, reason});
}

void Lifecycle::drain(Server& server, StopReason reason, const Step& step) { drain(server, reason, true, step); }

void Lifecycle::drain_for_load(Server& server, StopReason reason, const Step& step) {
  // What another node stops for a share can't be taken back.
  drain(server, reason, server.spec->share, step);
}

void Lifecycle::drain(Server& server, StopReason reason, bool for_good, const Step& step) {
  if (server.state == ServerState::evicting) return;
  if (!server.leaving_for_good) {
    server.leaving = reason;
    server.leaving_for_good = for_good;
  }
  if (server.state != ServerState::draining) {
    move(server, ServerState::draining);
    if (server.spec->share && server.leases > 0) step.act(Recall{server.id});
    // A victim of one load that has just become that of another one hasn't served in between.
    if (server.brought_back != state_.decisions) server.draining_since = step.time();
  }
  if (server.leases == 0) stop(server, step);
}

void Lifecycle::undrain(Server& server) {
  server.leaving = StopReason::none;
  server.brought_back = state_.decisions;
  move(server, ServerState::in_use);
}

void Lifecycle::stop(Server& server, const Step& step) {
  // To be downsized for one reason and stopped for another in the same step: it is only stopped.
  const auto is_downsize = [&](const Action& action) {
    const auto* downsize = std::get_if<Downsize>(&action);
    return downsize != nullptr && downsize->server == server.id;
  };
  if (server.downsize_asked && std::erase_if(step.out, is_downsize) > 0) server.downsize_asked = false;
  move(server, ServerState::evicting);
  server.stopping_since = step.time();
  ++state_.stops[static_cast<std::size_t>(server.leaving)];
  step.act(StopServer{server.id, server.leaving});
}

void Lifecycle::remove(Server& server, ServerState last, const Step& step) {
  if (!server.waiters.empty()) {
    throw std::logic_error(
        fmt::format("'{}' goes while {} still wait for it", server.spec->name.value(), server.waiters.size()));
  }
  if (takes_slot(server.state)) {
    state_.lent[index_of(server.spec->type)] -= server.lent && !runs_elsewhere(*server.spec);
    state_.memory.give_up(state_.memory.held(server), step.time() + state_.settings.memory_wait);
  }
  const bool evicted = server.state == ServerState::evicting;
  tickets_.reclaimed(server, evicted ? Reclaimed::evicted : Reclaimed::nothing, step);
  preflight_.drop(server, step);
  move(server, last);
  const ModelName name = server.spec->name;
  Model& model = state_.models[name];
  if (model.pending == &server) model.pending = nullptr;
  if (model.current == &server) model.current = nullptr;
  if (state_.loader == &server) state_.loader = nullptr;
  if (state_.lending == &server) state_.lending = nullptr;
  std::erase(state_.queue, &server);
  state_.leases.drop_all(server);
  tickets_.gone(server, step);
  state_.servers.erase(server.id);
  forget_if_empty(name);
}

void Lifecycle::forget_if_empty(const ModelName& name) {
  const auto at = state_.models.find(name);
  if (at == state_.models.end()) return;
  const Model& model = at->second;
  const bool noted = model.failure || model.crashes || model.lent_failure || model.lent_crashes;
  if (!model.current && !model.pending && !model.pinned && !noted) state_.models.erase(at);
}

}  // namespace corral::residency
