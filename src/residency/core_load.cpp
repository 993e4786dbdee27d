// From a wish for a model to its load and the end of it: requests, explicit loads, success, failure, second attempt.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "residency/cooldown.h"
#include "residency/core.h"
#include "residency/errc.h"
#include "residency/lending.h"
#include "residency/room.h"

namespace corral::residency {
namespace {

Error shutting_down() { return {errc::shutting_down, "the server is shutting down"}; }

// Where nothing is known of loads yet.
constexpr std::chrono::seconds kQueueFullRetry{5};

// There is room again when the load that runs has ended: as long as loads of what is in memory took, at most.
std::chrono::seconds until_room(const State& state) {
  Millis sum{0};
  std::int64_t known = 0;
  for (const auto& [id, server] : state.servers) {
    if (server->load_duration <= Millis(0)) continue;
    sum += server->load_duration;
    ++known;
  }
  if (known == 0) return kQueueFullRetry;
  return std::max(std::chrono::ceil<std::chrono::seconds>(sum / known), std::chrono::seconds(1));
}

// A load that others wait for, and whose end will be the answer of newcomers too: also while it is killed for its
// deadline.
bool can_be_joined(const Server& load) {
  const bool retries =
      load.state == ServerState::evicting && load.leaving == StopReason::deadline && !load.waiters.empty();
  return load.state == ServerState::loading || retries;
}

// The model is in memory and on its way out of it.
bool is_leaving(const Server* current) {
  if (current == nullptr || is_given_up(*current)) return false;
  return current->state == ServerState::draining || current->state == ServerState::evicting;
}

}  // namespace

void Core::on(const Acquire& event, Now now, ActionList& out) {
  if (event.spec->origin == Origin::peer) return acquire_for_peer(event, now, out);
  if (!event.spec->joins_only) give_way(event.spec->name, now, out);
  const auto at = state_.models.find(event.spec->name);
  if (at != state_.models.end()) {
    const Model& model = at->second;
    if (model.current && serves(model.current->state)) {
      const bool adopts = model.current->lent && adopt(*model.current, now, out);
      grant(*model.current, event.ticket, now, out);
      return adopts ? advance(now, out) : void();
    }
    if (refuse_newcomer(event.ticket, out)) return;
    if (model.current && can_be_joined(*model.current)) {
      const bool adopts = model.current->lent && adopt(*model.current, now, out);
      add_waiter(*model.current, {event.ticket, true, event.spec});
      return adopts ? advance(now, out) : void();
    }
    if (model.pending) {
      const bool returns = is_leaving(model.current);
      return add_waiter(*model.pending, {event.ticket, true, event.spec, {}, returns});
    }
  }
  if (refuse_newcomer(event.ticket, out) || refuse(*event.spec, event.ticket, now, out)) return;
  if (event.spec->joins_only) {
    out.push_back(Rejected{event.ticket, not_standing(event.spec->name)});
    return;
  }
  Server& load = enqueue(event.spec, now);
  const bool returns = is_leaving(state_.find(event.spec->name)->current);
  add_waiter(load, {event.ticket, true, event.spec, {}, returns});
  advance(now, out);
}

void Core::on(const ReturnLease& event, Now now, ActionList& out) { release(event.lease, now, out); }

void Core::on(const Load& event, Now now, ActionList& out) {
  const ModelSpec& spec = *event.spec;
  give_way(spec.name, now, out);
  const auto at = state_.models.find(spec.name);
  Server* current = at == state_.models.end() ? nullptr : at->second.current;
  Server* load = at == state_.models.end() ? nullptr : at->second.pending;
  const bool as_it_is = current != nullptr && current->spec->options == spec.options;
  const bool stays = as_it_is && (serves(current->state) || can_be_joined(*current));
  if (stays && event.pin == true && is_pinned_out(*current)) return refuse_pin(*current, event.ticket, out);
  if (as_it_is && serves(current->state) && load == nullptr) {
    if (event.pin == true) make_own(*current);
    adopt(*current, now, out);
    set_eviction(*current, spec.eviction);
    touch(*current, now);
    out.push_back(Loaded{event.ticket, current->id, true});
    if (event.pin) set_pin(spec.name, *event.pin, std::nullopt, out);
    return advance(now, out);
  }
  if (refuse_newcomer(event.ticket, out)) return;
  // One that is to be unloaded when it has loaded won't do: it comes again then.
  if (as_it_is && can_be_joined(*current) && !current->unload_when_loaded) {
    if (load != nullptr) absorb(*load, *current, now, out);
    adopt(*current, now, out);
    load = current;
  }
  // The newest wish wins: it changes a load that is queued already, and what is known of the old options counts no
  // more.
  const bool new_options = load == nullptr || load->spec->options != spec.options;
  if (new_options && state_.shutting_down) {
    out.push_back(Rejected{event.ticket, shutting_down()});
    return;
  }
  if (load == nullptr) {
    load = &enqueue(event.spec, now);
  } else if (new_options) {
    load->attempt = 1;
    load->first_to_go.clear();
  }
  // What was found out by a look at just these options stays.
  const bool looked_at = spec.to_check && !new_options;
  if (load->state == ServerState::queued && !looked_at) {
    if (load->spec->memory != spec.memory) load->promise.reset();  // it was for other needs
    if (load->spec != event.spec) drop_check(*load, out);
    load->spec = event.spec;
  }
  set_eviction(*load, spec.eviction);
  load->explicit_options = true;
  if (event.pin) load->pin = event.pin;
  add_waiter(*load, {event.ticket, false, event.spec, event.pin});
  advance(now, out);
}

// True when too many wait already. Peers don't count: they can't keep anybody out.
bool Core::refuse_newcomer(TicketId ticket, ActionList& out) {
  std::size_t waiting = state_.waiting.size();
  for (const Server* load : {state_.loader, state_.lending}) {
    if (waiting < state_.settings.max_queued) return false;
    if (load == nullptr) continue;
    waiting -= static_cast<std::size_t>(std::ranges::count_if(load->waiters, &Waiter::is_peer));
  }
  if (waiting < state_.settings.max_queued) return false;
  Error error(errc::queue_full, fmt::format("{} requests wait for models to load already", waiting));
  error.retry_after = until_room(state_);
  out.push_back(Rejected{ticket, std::move(error)});
  return true;
}

bool Core::refuse(const ModelSpec& spec, TicketId ticket, Now now, ActionList& out) {
  if (state_.shutting_down) {
    out.push_back(Rejected{ticket, shutting_down()});
    return true;
  }
  const Model* model = state_.find(spec.name);
  auto cooling = model == nullptr ? std::nullopt : cooling_down(*model, spec, now.mono);
  if (!cooling) return false;
  out.push_back(Rejected{ticket, std::move(*cooling)});
  return true;
}

Server& Core::enqueue(const SpecPtr& spec, Now now) {
  Server& load = add_queued(spec, now);
  state_.queue.push_back(&load);
  return load;
}

Server& Core::add_queued(const SpecPtr& spec, Now now) {
  const ServerId id(++last_id_);
  auto server = std::make_unique<Server>();
  server->id = id;
  server->spec = spec;
  server->eviction = spec->eviction;
  server->queued_at = now.mono;
  Server& load = *server;
  state_.servers.emplace(id, std::move(server));
  state_.models[spec->name].pending = &load;
  ++revision_;
  return load;
}

void Core::add_waiter(Server& load, Waiter waiter) {
  load.waiters.push_back(waiter);
  state_.waiting.emplace(waiter.ticket, &load);
  ++revision_;
}

// A queued load is no longer wanted, because the one that runs will do: who waits for it waits for that one.
void Core::absorb(Server& queued, Server& running, Now now, ActionList& out) {
  move_waiters(queued, running, running.waiters.end());
  if (queued.pin) running.pin = queued.pin;
  remove(queued, ServerState::gone, now, out);
}

void Core::move_waiters(Server& from, Server& to, std::vector<Waiter>::iterator where) {
  for (const Waiter& waiter : from.waiters) state_.waiting[waiter.ticket] = &to;
  to.waiters.insert(where, from.waiters.begin(), from.waiters.end());
  from.waiters.clear();
}

void Core::serve_waiters(Server& from, Server& with, bool only_leases, Now now, ActionList& out) {
  const auto is_owners = [&](const Waiter& waiter) {
    return !waiter.is_peer() && (waiter.wants_lease || !only_leases);
  };
  if (with.lent && std::ranges::any_of(from.waiters, is_owners)) adopt(with, now, out);
  std::vector<Waiter> rest;
  for (const Waiter& waiter : from.waiters) {
    if (only_leases && !waiter.wants_lease) {
      rest.push_back(waiter);
      continue;
    }
    state_.waiting.erase(waiter.ticket);
    if (waiter.wants_lease) {
      grant(with, waiter.ticket, now, out, waiter.is_peer() ? Origin::peer : Origin::local);
    } else {
      touch(with, now);
      out.push_back(Loaded{waiter.ticket, with.id, &from != &with});
    }
  }
  from.waiters = std::move(rest);
}

void Core::reject_waiters(Server& load, const Error& error, ActionList& out) {
  for (const Waiter& waiter : load.waiters) {
    state_.waiting.erase(waiter.ticket);
    out.push_back(Rejected{waiter.ticket, error});
  }
  load.waiters.clear();
}

// Only those who asked for these options. True when there were any.
bool Core::reject_askers(Server& load, std::uint64_t options, const Error& error, ActionList& out) {
  const bool all = load.spec->once;  // nobody else's wish is tried in its place
  const auto asked = [&](const Waiter& waiter) { return all || waiter.spec->options == options; };
  for (const Waiter& waiter : load.waiters) {
    if (!asked(waiter)) continue;
    state_.waiting.erase(waiter.ticket);
    out.push_back(Rejected{waiter.ticket, error});
  }
  const bool any = std::erase_if(load.waiters, asked) > 0;
  revision_ += any;
  return any;
}

void Core::on(const LoadSucceeded& event, Now now, ActionList& out) {
  Server* server = find(event.server);
  if (server == nullptr || server->state != ServerState::loading) return;
  state_.loader = nullptr;
  move(*server, ServerState::ready);
  touch(*server, now);
  state_.memory.changed();
  server->load_duration = std::chrono::duration_cast<Millis>(now.mono - server->load_started);
  const ModelName& name = server->spec->name;
  state_.models[name].failure.reset();
  state_.models[name].lent_failure.reset();
  if (server->pin == true) make_own(*server);
  if (server->pin) set_pin(name, *server->pin, std::nullopt, out);
  // In the same step: whoever caused the load runs before anybody can want the place.
  serve_waiters(*server, *server, false, now, out);
  if (server->unload_when_loaded) drain(*server, StopReason::unload, true, now, out);
  advance(now, out);
}

void Core::on(const LoadFailed& event, Now now, ActionList& out) {
  Server* server = find(event.server);
  if (server == nullptr) return;
  if (server->state != ServerState::loading) return end(*server, now, out);
  end_failed_load(*server, event.fault, event.error, now, out);
  advance(now, out);
}

void Core::on(const ServerDied& event, Now now, ActionList& out) {
  if (Server* server = find(event.server)) end(*server, now, out, event);
}

void Core::on(const ServerStopped& event, Now now, ActionList& out) {
  if (Server* server = find(event.server)) end(*server, now, out);
}

// The child is gone, told to or not.
void Core::end(Server& server, Now now, ActionList& out, const ServerDied& death) {
  const ModelName name = server.spec->name;
  if (server.state == ServerState::queued) return;
  if (server.state == ServerState::loading) {
    const Error error(errc::load_crashed, fmt::format("the server of '{}' ended while it was loading", name.value()),
                      "model");
    end_failed_load(server, LoadFault::crashed, error, now, out);
  } else if (server.leaving == StopReason::deadline) {
    const Error error(errc::load_deadline,
                      fmt::format("'{}' didn't load within {} ms", name.value(), server.spec->load_deadline.count()),
                      "model");
    end_failed_load(server, LoadFault::deadline, error, now, out);
  } else {
    note_end(server, death, now, out);
    remove(server, server.state == ServerState::evicting ? ServerState::gone : ServerState::failed, now, out);
  }
  advance(now, out);
}

void Core::end_failed_load(Server& load, LoadFault fault, const Error& error, Now now, ActionList& out) {
  if (load.spec->once) reject_waiters(load, error, out);
  if (load.lent) return end_failed_lent(load, fault, error, now, out);
  refuse_peers(load, fmt::format("it didn't load: {}", error.message), out);
  Model& model = state_.models[load.spec->name];
  const bool retries = worth_a_retry(fault) && load.attempt == 1 && !load.unload_when_loaded;
  if (!load.waiters.empty() && retries) {
    retry(load, now);
  } else if (!load.waiters.empty()) {
    const std::uint64_t options = load.spec->options;
    Server* again = model.pending;  // was asked for after the unload
    const bool told = reject_askers(load, options, error, out);
    reject_cooling(load, now, out);  // before what is known of their options makes place for this
    if (told && worth_a_retry(fault)) note_failure(model.failure, state_.settings, *load.spec, error.message, now.mono);
    bool undecided = again != nullptr && again->spec->options == options;
    // Who asked for the model with other options hasn't failed yet.
    if (!load.waiters.empty()) {
      undecided |= again == nullptr;
      if (again == nullptr) again = &enqueue(load.waiters.back().spec, now);
      move_waiters(load, *again, again->waiters.begin());
    }
    if (undecided) {
      reject_askers(*again, options, error, out);
      fall_back(*again, now, out);
    }
  }
  remove(load, ServerState::failed, now, out);
}

void Core::retry(Server& failed, Now now) {
  Model& model = state_.models[failed.spec->name];
  const bool newer_wish = model.pending != nullptr;  // with other options: a first attempt of its own
  Server& next = newer_wish ? *model.pending : enqueue(failed.spec, now);
  move_waiters(failed, next, next.waiters.begin());
  if (!next.pin) next.pin = failed.pin;
  if (newer_wish) return;

  next.queued_at = failed.queued_at;
  next.eviction = failed.eviction;  // may have changed since
  next.explicit_options = failed.explicit_options;
  next.attempt = failed.attempt + 1;
  next.checked_at = failed.checked_at;
  next.check_took = failed.check_took;
  for (const auto& [id, server] : state_.servers) {
    if (server.get() != &failed && drives_out(state_, *server)) next.first_to_go.push_back(id);
  }
  std::ranges::rotate(state_.queue, std::prev(state_.queue.end()));
}

}  // namespace corral::residency
