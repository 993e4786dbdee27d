// What other machines of a mesh get here, and how it comes back when its owner needs it.
//
// A request of a peer's is served by what is in memory like any other. A load for it never waits behind the owner's
// loads: it begins at once, by the rules of lending.h, or is refused (errc::not_here). There is at most one of them,
// and it stands outside of the queue, so that nothing the owner asks for can wait behind it. Whatever he loads goes
// first: a lent model that is in the way goes at once if nobody uses it, else it takes no more requests and has
// `recall_grace`; a load for a peer is aborted. Whatever else has to go, lent or not, waits no longer than that for the
// requests of peers alone.
#include <algorithm>

#include <fmt/format.h>

#include "residency/cooldown.h"
#include "residency/core.h"
#include "residency/elsewhere.h"
#include "residency/errc.h"
#include "residency/lending.h"

namespace corral::residency {
namespace {

constexpr std::chrono::seconds kSoon{5};  // another's load is done by then, or not much later

Error not_here(const ModelName& model, std::string_view why) {
  return {errc::not_here, fmt::format("'{}' isn't served here for others now: {}", model.value(), why), "model"};
}

std::optional<Error> cooling(const std::optional<Failure>& failure, const ModelSpec& spec, MonoTime now) {
  const Millis left = cooling_left(failure, spec, now);
  if (left == Millis{0}) return std::nullopt;
  Error error = not_here(spec.name, fmt::format("it failed again and again: {}", failure->cause));
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(left);
  return error;
}

// A load of the owner's of which enough is known that its turn may come.
bool is_known(const Server& load) { return !load.spec->to_check || load.checked_at.has_value(); }

}  // namespace

// ---- requests

void Core::acquire_for_peer(const Acquire& event, Now now, ActionList& out) {
  const ModelSpec& spec = *event.spec;
  const auto refuse = [&](Error error) { out.push_back(Rejected{event.ticket, std::move(error)}); };
  if (auto error = refused_for_peers(spec, now)) return refuse(std::move(*error));
  const Model* model = state_.find(spec.name);
  Server* current = model == nullptr ? nullptr : model->current;
  Server* pending = model == nullptr ? nullptr : model->pending;
  if (current != nullptr && serves(current->state)) return grant(*current, event.ticket, now, out, Origin::peer);
  Server* load = current != nullptr ? current : pending;
  const bool joins = load != nullptr && (load == state_.lending || load->state == ServerState::loading);
  if (joins && !too_many_peers(*load)) return add_waiter(*load, {event.ticket, true, event.spec});
  if (joins) return refuse(not_here(spec.name, "too many wait for it already"));
  if (current != nullptr) return refuse(not_here(spec.name, "it is on its way out of memory"));
  if (pending != nullptr) return refuse(not_here(spec.name, "its load waits for its turn"));
  if (spec.joins_only) return refuse(not_standing(spec.name));
  if (state_.settings.lend_share <= 0) return refuse(not_here(spec.name, "this machine lends no memory"));
  if (state_.loader != nullptr || !state_.queue.empty() || state_.lending != nullptr)
    return refuse(busy_loading(spec.name));
  if (model != nullptr) {
    for (const auto* failure : {&model->failure, &model->crashes, &model->lent_failure}) {
      if (auto error = cooling(*failure, spec, now.mono)) return refuse(std::move(*error));
    }
  }
  Server& lent = add_queued(event.spec, now);
  lent.lent = true;
  set_eviction(lent, event.spec->eviction);
  state_.lending = &lent;
  add_waiter(lent, {event.ticket, true, event.spec});
  advance(now, out);
}

Error Core::busy_loading(const ModelName& model) const {
  Error error = not_here(model, "another model loads");
  const Server* loader = state_.loader;
  const bool for_peers = loader == nullptr || (loader->lent && is_for_peers_only(*loader));
  if (!state_.queue.empty() || !for_peers) return error;
  error.facts = SoonHere();
  error.retry_after = kSoon;
  return error;
}

// Also by a model that is in memory.
std::optional<Error> Core::refused_for_peers(const ModelSpec& spec, Now now) const {
  if (state_.shutting_down) return not_here(spec.name, "this machine shuts down");
  const Model* model = state_.find(spec.name);
  return model == nullptr ? std::nullopt : cooling(model->lent_crashes, spec, now.mono);
}

// By the short way. A lent model is its owner's from his use on, if there is a slot for it: Acquire does what that
// takes.
bool Core::may_share(const Server& server, Origin origin, Now now) const {
  if (origin == Origin::peer) return !refused_for_peers(*server.spec, now);
  const Place place = place_for(state_, server);
  return !place.is_free && place.victim == nullptr;
}

// A request has ended that was a peer's, or ran beside one, or on a lent model.
void Core::release_shared(Server& server, Origin origin, Now now, ActionList& out) {
  server.peer_leases -= origin == Origin::peer;
  --server.leases;
  if (server.state == ServerState::evicting) return;  // it has run out of time
  if (server.leases == 0) return now_idle(server, now, out);
  // Somebody may wait for just that: peers have only so long.
  const bool matters = server.lent || server.state == ServerState::draining;
  if (origin == Origin::local && matters && works_for_peers_only(server)) advance(now, out);
}

bool Core::too_many_peers(const Server& load) const {
  const auto peers = std::ranges::count_if(load.waiters, [](const Waiter& waiter) { return waiter.is_peer(); });
  return static_cast<std::size_t>(peers) >= state_.settings.max_queued;
}

void Core::refuse_peers(Server& load, const std::string& why, ActionList& out) {
  const auto is_peer = [](const Waiter& waiter) { return waiter.is_peer(); };
  for (const Waiter& waiter : load.waiters) {
    if (!is_peer(waiter)) continue;
    state_.waiting.erase(waiter.ticket);
    out.push_back(Rejected{waiter.ticket, not_here(load.spec->name, why)});
  }
  revision_ += std::erase_if(load.waiters, is_peer) > 0;
}

// The load for a peer that was to begin doesn't.
void Core::drop_lending(const Error& error, Now now, ActionList& out) {
  Server& load = *state_.lending;
  reject_waiters(load, error, out);
  remove(load, ServerState::gone, now, out);
}

// The owner wants just this model: he loads it himself.
void Core::give_way(const ModelName& name, Now now, ActionList& out) {
  if (state_.lending == nullptr || state_.lending->spec->name != name) return;
  drop_lending(not_here(name, "its owner loads it himself"), now, out);
}

// ---- from lent to owned

// The owner uses a lent model: it takes a slot of his, if need be that of an idle model. True when it has one; else it
// stays lent, and serves him all the same.
bool Core::adopt(Server& server, Now now, ActionList& out) {
  if (!server.lent) return true;
  const Place place = place_for(state_, server);
  if (place.victim != nullptr) drain(*place.victim, StopReason::room, true, now, out);
  if (!place.is_free && place.victim == nullptr) return false;
  make_own(server);
  return true;
}

// Pinned models have all the slots of its type.
bool Core::is_pinned_out(const Server& server) const {
  if (!server.lent) return false;
  std::size_t pinned = 0;
  for (const auto& [id, other] : state_.servers) {
    pinned += other->spec->type == server.spec->type && state_.is_protected(*other);
  }
  return !state_.settings.limits.allows(server.spec->type, pinned + 1);
}

void Core::make_own(Server& server) {
  if (!server.lent) return;
  server.lent = false;
  if (takes_slot(server.state) && !runs_elsewhere(*server.spec)) --state_.lent[index_of(server.spec->type)];
  server.eviction = server.own_eviction;
  if (server.leaving == StopReason::recall)
    server.leaving_for_good = false;  // it may stay, if nobody else wants it away
  ++revision_;
}

void Core::set_eviction(Server& server, const EvictionSettings& wish) {
  if (server.lent) server.own_eviction = wish;
  server.eviction = server.lent ? lent_eviction(wish, state_.settings) : wish;
}

// ---- the end of a load

// It evicts nobody and is no failure of the owner's. Who of his has joined it gets a load of his own.
void Core::end_failed_lent(Server& load, LoadFault fault, const Error& error, Now now, ActionList& out) {
  Model& model = state_.models[load.spec->name];
  refuse_peers(load, fmt::format("it didn't load: {}", error.message), out);
  if (worth_a_retry(fault) && !load.spec->once)
    note_failure(model.lent_failure, state_.settings, *load.spec, error.message, now.mono);
  if (!load.waiters.empty()) {
    Server* again = model.pending;
    const auto newest = std::ranges::find(load.waiters.rbegin(), load.waiters.rend(), false, &Waiter::wants_lease);
    const Waiter wish = newest == load.waiters.rend() ? load.waiters.back() : *newest;
    if (again == nullptr) {
      again = &enqueue(wish.spec, now);
      again->explicit_options = !wish.wants_lease;
      again->pin = wish.pin;
    }
    move_waiters(load, *again, again->waiters.begin());
  }
  remove(load, ServerState::failed, now, out);
}

// ---- recalls

// Requests of peers have had their time: the owner waits for nobody else's without a bound.
void Core::end_recalls(Now now, ActionList& out) {
  for (const auto& [id, server] : state_.servers) {
    if (server->state != ServerState::draining || !works_for_peers_only(*server)) continue;
    if (now.mono - server->draining_since >= state_.settings.recall_grace) stop(*server, now, out);
  }
}

// One load at a time: one for peers is given up for one of the owner's.
void Core::yield_to_owner(Now now, ActionList& out) {
  Server* loader = state_.loader;
  if (loader == nullptr || !loader->lent || loader->state != ServerState::loading || !is_for_peers_only(*loader))
    return;
  const bool wanted =
      std::ranges::any_of(state_.queue, [this](const Server* load) { return is_known(*load) && !comes_back(*load); });
  if (!wanted && state_.settings.lend_share > 0) return;
  refuse_peers(*loader, wanted ? "its owner loads another model" : "this machine lends no memory", out);
  abort(*loader, StopReason::yield, now, out);
}

// Less is to be lent than is: those go that were used least recently, idle ones first. What the owner uses stays.
void Core::shed_lent(Now now, ActionList& out) {
  const Settings& settings = state_.settings;
  const auto stays = [](const Server& server) { return server.lent && serves(server.state); };
  while (true) {
    std::vector<Server*> candidates;
    std::array<std::size_t, kModelTypeCount> count{};
    for (const auto& [id, server] : state_.servers) {
      if (!stays(*server)) continue;
      count[index_of(server->spec->type)] += !server->spec->share;
      if (is_peers_only(*server)) candidates.push_back(server.get());
    }
    const bool too_much = !candidates.empty() && is_too_much_lent(state_);
    std::erase_if(candidates, [&](const Server* server) {
      const bool within = server->spec->share || count[index_of(server->spec->type)] <= settings.lend_slots;
      return !too_much && within;
    });
    if (candidates.empty()) return;
    Server& first = **std::ranges::min_element(
        candidates, {}, [](const Server* server) { return std::pair(server->leases > 0, server->used_nth); });
    drain(first, StopReason::recall, true, now, out);
  }
}

// ---- whether a load for a peer begins

void Core::advance_lent(Now now, ActionList& out) {
  if (state_.lending == nullptr) return;
  Server& load = *state_.lending;
  const ModelName& name = load.spec->name;
  if (!state_.queue.empty() || state_.loader != nullptr)
    return drop_lending(not_here(name, "its owner loads another model"), now, out);
  if (now.mono - load.queued_at >= state_.settings.lend_wait)
    return drop_lending(not_here(name, "no memory came free for it in time"), now, out);
  if (!is_known(load)) return ask_check(load, now, out);
  const LentRoom room = find_lent_room(state_, load, now.mono);
  if (room.refused) return drop_lending(Error(*room.refused), now, out);
  if (room.stale) {
    if (state_.memory.asked) return;
    state_.memory.asked = now.mono;
    out.push_back(SampleMemory{});
    return;
  }
  const bool acts = !room.victims.empty() || room.is_there();
  if (acts && !is_fresh(load, now)) return ask_check(load, now, out);
  for (Server* victim : room.victims) drain(*victim, StopReason::lend, true, now, out);
  if (room.is_there()) start(load, now, out);
}

}  // namespace corral::residency
