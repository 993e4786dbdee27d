// Whose turn it is. After every event that may change the answer, advance() goes through the queue from the front and
// decides anew for each load; nothing is remembered but how long it has waited. So a victim that is no longer needed
// comes back by itself, and changed pins and limits need no code of their own.
#include <algorithm>

#include "residency/ahead.h"
#include "residency/core.h"
#include "residency/disposal.h"
#include "residency/elsewhere.h"
#include "residency/lending.h"
#include "residency/room.h"

namespace corral::residency {
void Core::advance(Now now, ActionList& out) {
  Server* loader = state_.loader;
  if (loader != nullptr && loader->state == ServerState::loading && loader->spec->load_deadline > Millis{0} &&
      now.mono - loader->load_started >= loader->spec->load_deadline) {
    abort(*loader, StopReason::deadline, now, out);
  }
  // A monitor that hangs holds up nobody for ever: nothing is known then.
  const std::optional<MonoTime> asked = state_.memory.asked;
  if (asked && now.mono - *asked >= state_.settings.memory_wait) state_.memory.sample({}, {}, now.mono);
  give_up_downsizes(now, out);
  end_recalls(now, out);
  // First all that may change a decision, then the decisions, then the deeds.
  Turn turn;
  do {
    while (settle_queue(now, out)) {
    }
    shed(now, out);
    shed_lent(now, out);
    leave_idle(state_.settings.idle_floor, now, out);
    turn = decide(now);
  } while (bring_back(turn));
  yield_to_owner(now, out);
  for (const Victim& victim : turn.victims) {
    const StopReason reason = victim.server->lent ? StopReason::recall : victim.reason;
    drain(*victim.server, reason, false, now, out);
  }
  for (Server* server : turn.downsizes) {
    // For one load it has to go, for another it would have shrunk.
    if (server->state == ServerState::ready) downsize(*server, now, out);
  }
  shrink_idle(state_.settings.idle_floor, now, out);
  if (turn.start != nullptr) start(*turn.start, now, out);
  for (Server* load : turn.checks) ask_check(*load, now, out);
  if (turn.sample && !state_.memory.asked) {
    state_.memory.asked = now.mono;
    out.push_back(SampleMemory{});
  }
  advance_lent(now, out);
  plan_watch(out);
  plan_wake(now, out);
  ++decisions_;
}

bool Core::may_evict(const SpecPtr& spec, Now now) {
  if (state_.servers.empty()) return false;
  if (state_.loader != nullptr || !state_.queue.empty()) return true;
  Server load;
  load.spec = spec;
  load.queued_at = now.mono;
  const Room room = find_room(state_, load, now.mono);
  return !room.refused && (room.stale || !room.victims.empty() || !room.downsizes.empty());
}

// One way through the queue, without doing anything.
Core::Turn Core::decide(Now now) {
  Turn turn;
  bool may_start = state_.loader == nullptr;
  Ahead ahead(state_);
  for (Server* load : state_.queue) {
    if (comes_back(*load)) continue;
    if (load->spec->to_check && !load->checked_at) {  // nothing is known of it: it holds up nobody
      turn.checks.push_back(load);
      continue;
    }
    if (load->attempt > 1) forget_gone(*load);
    const Room room = find_room(state_, *load, now.mono);
    show_victims(*load, room);
    if (ahead.blocks(*load, room)) {
      ahead.add(*load, room);
      continue;
    }
    const bool startable = room.is_there() && !room.stale && may_start;
    if (startable && is_fresh(*load, now)) {
      turn.start = load;
      may_start = false;
      ahead.started(*load);
      continue;
    }
    const bool idle = std::ranges::none_of(room.victims, [](const Victim& v) { return is_busy(*v.server); });
    if (may_start && !room.stale && !idle && !load->waits_since) load->waits_since = now.mono;
    // A promise holds as long as nobody else has to go.
    const bool others_go = !room.victims.empty() || !room.downsizes.empty();
    if (may_start && (room.settles || (others_go && !room.stale))) load->promise = room.settles;
    bool look = startable;
    look |= tell(*load, room, may_start, idle, now, turn);
    if (look) turn.checks.push_back(load);
    // Its turn has come, but what is known of the memory is old.
    turn.sample |= may_start && room.stale;
    // Nobody passes a load whose victims only have to stop, unless one is slow at it; nor a second attempt that waits
    // for those who passed it.
    const bool slow = std::ranges::any_of(room.victims, [&](const Victim& v) { return stops_slowly(*v.server, now); });
    const bool slow_look = look && load->check != 0 && now.mono - load->check_asked >= state_.settings.stop_grace;
    if (slow_look) {
      ahead.add(*load, room);
      continue;
    }
    if ((idle && !slow) || look || room.stale || (load->attempt > 1 && load->first_to_go.empty())) may_start = false;
    ahead.add(*load, room);
  }
  return turn;
}

// Adds to the turn whom this load tells to go, or has told.
bool Core::tell(const Server& load, const Room& room, bool may_start, bool idle, Now now, Turn& turn) const {
  const bool overdue = load.waits_since && now.mono - *load.waits_since >= state_.settings.swap_patience;
  const bool judged = may_start && idle && !room.stale;
  const bool recalls = may_start && !room.stale;  // there is no patience with what peers use
  const bool fresh = is_fresh(load, now);
  // Who goes for a load ahead may give up all that this one needs: that is known at the next look.
  const bool others_go = std::ranges::any_of(
      turn.victims, [](const Victim& v) { return v.server->leases == 0 && v.server->state != ServerState::evicting; });
  bool look = false;
  for (const Victim& victim : room.victims) {
    const Server& server = *victim.server;
    const bool goes_on = server.lent && server.state == ServerState::draining;
    if (!overdue && !judged && !goes_on && !(recalls && is_peers_only(server))) continue;
    // What memory asks for by old news, or in the middle of a load, isn't begun, only gone on with.
    const bool begins = server.state != ServerState::draining && server.state != ServerState::evicting;
    const bool guessed = room.stale || state_.loader != nullptr || others_go;
    if (begins && guessed && victim.reason == StopReason::memory) continue;
    if (begins && !fresh) {
      look = true;
      continue;
    }
    const bool told = std::ranges::any_of(turn.victims, [&](const Victim& v) { return v.server == victim.server; });
    if (server.state != ServerState::loading && !told) turn.victims.push_back(victim);
  }
  if (!judged || others_go) return look;
  for (Server* server : room.downsizes) {
    if (server->state != ServerState::ready) continue;
    look |= !fresh;
    if (fresh) turn.downsizes.push_back(server);
  }
  return look;
}

bool Core::stops_slowly(const Server& server, Now now) const {
  return server.state == ServerState::evicting && now.mono - server.stopping_since >= state_.settings.stop_grace;
}

// Servers that drain for a load that no longer wants their place serve again. True when there was one.
bool Core::bring_back(const Turn& turn) {
  bool any = false;
  for (const auto& [id, server] : state_.servers) {
    if (server->state != ServerState::draining || server->leaving_for_good) continue;
    if (std::ranges::any_of(turn.victims, [&](const Victim& v) { return v.server == server.get(); })) continue;
    undrain(*server);
    any = true;
  }
  return any;
}

// Answers the loads that need no turn: their model is there after all, or waiting doesn't help them. True when one was
// answered: that may concern the others.
bool Core::settle_queue(Now now, ActionList& out) {
  for (Server* load : state_.queue) {
    if (settle(*load, now, out)) return true;
    if (comes_back(*load) || (load->spec->to_check && !load->checked_at)) continue;
    const Room room = find_room(state_, *load, now.mono);
    if (!room.refused) continue;
    reject_askers(*load, load->spec->options, *room.refused, out);
    fall_back(*load, now, out);
    return true;
  }
  return false;
}

// Of those who were there when the first attempt failed, keeps the ones that still have to go.
void Core::forget_gone(Server& load) {
  const auto done = [&](ServerId id) {
    const Server* server = find(id);
    return server == nullptr || !drives_out(state_, *server);
  };
  if (std::erase_if(load.first_to_go, done) == 0 || !load.first_to_go.empty()) return;
  load.waits_since.reset();  // from here on it waits for those that came meanwhile
}

// A queued load whose model is there after all, because it came back from draining: its waiters are served.
bool Core::settle(Server& load, Now now, ActionList& out) {
  Server* current = state_.models[load.spec->name].current;
  if (current == nullptr || !serves(current->state)) return false;
  const bool same = !load.explicit_options || load.spec->options == current->spec->options;
  serve_waiters(load, *current, !same, now, out);
  if (!load.waiters.empty()) return false;
  if (same && load.explicit_options) set_eviction(*current, load.eviction);
  if (same && load.pin == true) make_own(*current);
  if (same && load.pin) set_pin(load.spec->name, *load.pin, std::nullopt, out);
  remove(load, ServerState::gone, now, out);
  return true;
}

// True for a load of a model that drains only because another load wants its place: either it stays or it is gone
// first.
bool Core::comes_back(const Server& load) const {
  const Server* current = state_.find(load.spec->name)->current;
  if (current == nullptr || current->state != ServerState::draining || current->leaving_for_good) return false;
  return !load.explicit_options || load.spec->options == current->spec->options;
}

void Core::show_victims(Server& load, const Room& room) {
  std::vector<ServerId> ids;
  for (const Victim& victim : room.victims) ids.push_back(victim.server->id);
  for (const Server* server : room.downsizes) ids.push_back(server->id);
  const bool by_memory = room.held_by_memory();
  if (ids == load.waits_for && by_memory == load.held_by_memory) return;
  load.waits_for = std::move(ids);
  load.held_by_memory = by_memory;
  ++revision_;
}

// A limit that was lowered: idle servers above it go, least recently used first.
void Core::shed(Now now, ActionList& out) {
  for (ModelType type : kModelTypes) {
    while (true) {
      std::size_t staying = 0;
      Server* oldest = nullptr;
      for (const auto& [id, server] : state_.servers) {
        const ServerState state = server->state;
        if (server->lent || runs_elsewhere(*server->spec) || server->spec->type != type || !takes_slot(state)) continue;
        if (state == ServerState::draining || state == ServerState::evicting) continue;
        ++staying;
        const bool may_go = is_idle(*server) && !state_.pinned(*server);
        if (may_go && (oldest == nullptr || server->used_nth < oldest->used_nth)) oldest = server.get();
      }
      if (oldest == nullptr || state_.settings.limits.allows(type, staying)) break;
      drain(*oldest, StopReason::limit, true, now, out);
    }
  }
}

void Core::start(Server& load, Now now, ActionList& out) {
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
  load.load_started = now.mono;
  touch(load, now);
  move(load, ServerState::loading);
  out.push_back(StartLoad{load.id, load.spec, load.attempt});
}

void Core::plan_wake(Now now, ActionList& out) {
  std::optional<MonoTime> wake;
  const auto consider = [&](MonoTime time) {
    if (time > now.mono && (!wake || time < *wake)) wake = time;
  };
  const Server* loader = state_.loader;
  if (loader != nullptr && loader->state == ServerState::loading && loader->spec->load_deadline > Millis{0}) {
    consider(loader->load_started + loader->spec->load_deadline);
  }
  for (const Server* load : state_.queue) {
    if (load->check != 0 && load->checked_at) consider(load->check_asked + state_.settings.stop_grace);
    if (load->waits_since) consider(*load->waits_since + state_.settings.swap_patience);
    const std::optional<MonoTime>& sampled = state_.memory.sampled();
    if (load->held_by_memory && sampled && loader == nullptr) consider(*sampled + state_.settings.memory_poll);
  }
  if (state_.memory.asked) consider(*state_.memory.asked + state_.settings.memory_wait);
  if (const Server* lending = state_.lending) {
    consider(lending->queued_at + state_.settings.lend_wait);
    if (state_.memory.sampled()) consider(*state_.memory.sampled() + state_.settings.memory_poll);
  }
  for (const auto& [id, server] : state_.servers) {
    if (server->state == ServerState::draining && works_for_peers_only(*server))
      consider(server->draining_since + state_.settings.recall_grace);
    if (const auto due = idle_due(state_, *server, now.mono)) consider(*due);
    const bool holds = server->state == ServerState::evicting && !state_.queue.empty();
    if (holds) consider(server->stopping_since + state_.settings.stop_grace);
    const bool shrinks = server->downsize_asked && !(state_.queue.empty() && state_.reliefs.empty());
    if (shrinks) consider(server->downsize_told + state_.settings.memory_wait);
  }
  if (wake == wake_) return;
  wake_ = wake;
  out.push_back(WakeAt{wake});
}

}  // namespace corral::residency
