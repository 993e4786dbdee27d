#include "residency/core/waiters.h"

#include <algorithm>
#include <utility>

#include "residency/lending.h"

namespace corral::residency {

const Waiter& newest_waiter(const Instance& load) {
  const auto& waiters = load.waiters;
  const auto newest = std::ranges::find(waiters.rbegin(), waiters.rend(), false, &Waiter::wants_lease);
  return newest == waiters.rend() ? waiters.back() : *newest;
}

void Waiters::add(Instance& load, Waiter waiter) {
  state_.waiting.emplace(waiter.ticket, &load);
  load.waiters.push_back(std::move(waiter));
  ++state_.revision;
}

void Waiters::move_to_front(Instance& from, Instance& to) { move(from, to, to.waiters.begin()); }
void Waiters::move_to_back(Instance& from, Instance& to) { move(from, to, to.waiters.end()); }

void Waiters::move(Instance& from, Instance& to, std::vector<Waiter>::iterator where) {
  for (const Waiter& waiter : from.waiters) state_.waiting[waiter.ticket] = &to;
  to.waiters.insert(where, from.waiters.begin(), from.waiters.end());
  from.waiters.clear();
}

Instance* Waiters::cancel(TicketId ticket) {
  const auto at = state_.waiting.find(ticket);
  if (at == state_.waiting.end()) return nullptr;
  Instance& load = *at->second;
  state_.waiting.erase(at);
  std::erase_if(load.waiters, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  ++state_.revision;
  return &load;
}

void Waiters::serve(Instance& from, Instance& with, bool only_leases, const Step& step) {
  const auto is_served = [&](const Waiter& waiter) { return waiter.wants_lease || !only_leases; };
  const auto is_local = [&](const Waiter& waiter) { return !waiter.is_peer() && is_served(waiter); };
  if (with.lent && std::ranges::any_of(from.waiters, is_local)) adoption_.adopt(with, step);
  std::vector<Waiter> rest;
  for (const Waiter& waiter : from.waiters) {
    if (!is_served(waiter)) {
      rest.push_back(waiter);
      continue;
    }
    state_.waiting.erase(waiter.ticket);
    if (waiter.wants_lease) {
      leases_.grant(with, waiter.ticket, waiter.is_peer() ? RequestOrigin::peer : RequestOrigin::local, step);
    } else {
      lifecycle_.touch(with, step.now);
      step.act(Loaded{waiter.ticket, with.id, &from != &with});
    }
  }
  from.waiters = std::move(rest);
}

bool Waiters::reject_if(Instance& load, auto predicate, const Error& error, const Step& step) {
  for (const Waiter& waiter : load.waiters) {
    if (!predicate(waiter)) continue;
    state_.waiting.erase(waiter.ticket);
    step.reject(waiter.ticket, error);
  }
  const bool any = std::erase_if(load.waiters, predicate) > 0;
  state_.revision += any;
  return any;
}

void Waiters::reject(Instance& load, const Error& error, const Step& step) {
  reject_if(load, [](const Waiter&) { return true; }, error, step);
}

bool Waiters::reject_askers(Instance& load, std::uint64_t options, const Error& error, const Step& step) {
  const bool all = load.spec->once;  // no options of other waiters are tried instead
  return reject_if(load, [&](const Waiter& waiter) { return all || waiter.spec->options == options; }, error, step);
}

void Waiters::reject_peers(Instance& load, const std::string& why, const Step& step) {
  reject_if(load, [](const Waiter& waiter) { return waiter.is_peer(); }, not_here(load.spec->name, why), step);
}

bool Waiters::has_all_peers(const Instance& load) const {
  const auto peers = std::ranges::count_if(load.waiters, &Waiter::is_peer);
  return static_cast<std::size_t>(peers) >= state_.settings.max_queued;
}

}  // namespace corral::residency
