// What has to be known of a load before anybody goes for it, and what its failures and its model's ends under requests
// mean for those who wait.
//
// A load enters the queue with nothing but a name and options. The shell looks at its files and finds out what it will
// take; until then it stands in the queue, is seen there, holds up nobody and refuses nobody. When its turn has come
// after a long wait the look is made anew, before anybody is told to go: files may have gone meanwhile.
#include <algorithm>

#include "residency/cooldown.h"
#include "residency/core.h"

namespace corral::residency {

void Core::ask_check(Server& load, Now now, ActionList& out) {
  if (load.check != 0) return;
  load.check = ++last_check_;
  load.check_asked = now.mono;
  ++revision_;
  out.push_back(CheckLoad{load.id, load.check, load.spec});
}

// Also what the last look has said is of no more use.
void Core::drop_check(Server& load, ActionList& out) {
  if (load.check != 0) out.push_back(DropCheck{load.id});
  load.check = 0;
  load.checked_at.reset();
}

bool Core::is_fresh(const Server& load, Now now) const {
  if (!load.spec->to_check) return true;
  if (!load.checked_at) return false;
  const Millis trusted = load.check_took * state_.settings.check_trust;
  return now.mono - *load.checked_at <= std::max(state_.settings.check_age, trusted);
}

void Core::on(const LoadChecked& event, Now now, ActionList& out) {
  Server* load = find(event.server);
  if (load == nullptr || load->check == 0 || load->check != event.check) return;
  load->check = 0;
  load->checked_at = now.mono;
  load->check_took = std::chrono::ceil<Millis>(now.mono - load->check_asked);
  if (load->spec->memory != event.spec->memory) load->promise.reset();  // it was for other needs
  load->spec = event.spec;
  ++revision_;
  advance(now, out);
}

void Core::on(const CheckFailed& event, Now now, ActionList& out) {
  Server* load = find(event.server);
  if (load == nullptr || load->check == 0 || load->check != event.check) return;
  load->check = 0;
  if (load == state_.lending) {
    refuse_peers(*load, event.error.message, out);
    reject_waiters(*load, event.error, out);  // of the owner's those that only joined
    remove(*load, ServerState::gone, now, out);
    return advance(now, out);
  }
  reject_askers(*load, load->spec->options, event.error, out);
  fall_back(*load, now, out);
  advance(now, out);
}

// Requests whose options have failed again and again hear that, unless an explicit load tries these options.
void Core::reject_cooling(Server& load, Now now, ActionList& out) {
  const Model& model = *state_.find(load.spec->name);
  const auto is_tried = [&](std::uint64_t options) {
    return std::ranges::any_of(load.waiters, [options](const Waiter& waiter) {
      return !waiter.wants_lease && waiter.spec->options == options;
    });
  };
  for (std::size_t i = 0; i < load.waiters.size();) {
    const SpecPtr asked = load.waiters[i].spec;
    const auto cooling = is_tried(asked->options) ? std::nullopt : cooling_down(model, *asked, now.mono);
    if (cooling) reject_askers(load, asked->options, *cooling, out);
    i = cooling ? 0 : i + 1;
  }
}

// A queued load whose options won't do goes on with what the newest of those who still wait has asked for, an explicit
// load before requests. It ends when nobody waits.
void Core::fall_back(Server& load, Now now, ActionList& out) {
  drop_check(load, out);
  while (!load.waiters.empty()) {
    const auto newest = std::ranges::find(load.waiters.rbegin(), load.waiters.rend(), false, &Waiter::wants_lease);
    const Waiter wish = newest == load.waiters.rend() ? load.waiters.back() : *newest;
    const auto cooling =
        wish.wants_lease ? cooling_down(state_.models[wish.spec->name], *wish.spec, now.mono) : std::optional<Error>();
    if (!cooling) {
      // What was the second attempt of other options stood at the front; these haven't been tried.
      const bool first = load.attempt == 1;
      Server& next = first ? load : enqueue(wish.spec, now);
      if (!first) move_waiters(load, next, next.waiters.begin());
      next.spec = wish.spec;
      next.eviction = wish.spec->eviction;
      next.explicit_options = !wish.wants_lease;
      next.pin = wish.pin;
      next.promise.reset();
      if (!first) remove(load, ServerState::gone, now, out);
      return;
    }
    reject_askers(load, wish.spec->options, *cooling, out);
  }
  remove(load, ServerState::gone, now, out);
}

// How a server that was loaded has ended: under requests again and again, and its model is left alone for a while.
void Core::note_end(const Server& server, const ServerDied& death, Now now, ActionList& out) {
  const bool up = is_resident(server.state);
  if (!up && (is_given_up(server) || server.leaving == StopReason::shutdown)) return;
  Model& model = state_.models[server.spec->name];
  const auto lived = now.mono - (server.load_started + server.load_duration);
  if (death.answered || lived > state_.settings.crash_calm) {
    model.crashes.reset();
    model.lent_crashes.reset();
  }
  if (!up || !death.worked || server.leases == 0 || server.spec->once) return;
  const std::uint64_t options = server.spec->options;
  // What only peers have asked for is no reason to leave it alone here.
  if (server.leases == server.peer_leases)
    return note_crash(model.lent_crashes, state_.settings, *server.spec, death.cause, now.mono);
  note_crash(model.crashes, state_.settings, *server.spec, death.cause, now.mono);
  ++revision_;
  // Who waits for the next one would only see it end as well.
  Server* next = model.pending;
  const auto cooling = cooling_down(model, *server.spec, now.mono);
  if (next == nullptr || next->spec->options != options || !cooling) return;
  reject_askers(*next, options, *cooling, out);
  fall_back(*next, now, out);
}

}  // namespace corral::residency
