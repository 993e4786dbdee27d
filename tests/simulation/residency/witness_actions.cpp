// The actions of the core, one by one: what each of them must heed when it is given.
#include <algorithm>
#include <utility>

#include "residency/errors.h"
#include "simulation/residency/witness.h"

namespace corral::residency::simulation {

Ticket Witness::answered(TicketId id, std::initializer_list<Ticket::Kind> kinds) {
  const auto at = tickets_.find(id);
  require(at != tickets_.end(), "every ticket gets exactly one answer", "{} was answered before or never asked",
          id.value());
  const Ticket ticket = at->second;
  require(std::ranges::find(kinds, ticket.kind) != kinds.end(), "an answer fits its question", "ticket {}", id.value());
  tickets_.erase(at);
  return ticket;
}

// An explicit load with these options is tried however often it failed.
bool Witness::is_explicit(const StartLoad& action) const {
  if (core_.state().instances.at(action.instance)->explicit_options) return true;
  return std::ranges::any_of(tickets_, [&](const auto& entry) {
    const Ticket& ticket = entry.second;
    return ticket.kind == Ticket::Kind::load && ticket.options == action.spec->options &&
           ticket.animal == animal_named(action.spec->name);
  });
}

void Witness::see(const StartLoad& action) {
  const std::size_t animal = animal_named(action.spec->name);
  const Animal& kind = kZoo[animal];
  for (const auto& [id, child] : children_) {
    require(child.phase != Child::Phase::loading && !child.aborted, "one load at a time", "{} starts while {} loads",
            kind.name, child.kind().name);
    require(npu_agrees(kind, child.kind()), "the NPU rule", "{} starts beside {}", kind.name, child.kind().name);
    require(child.animal != animal, "one instance per model", "{}", kind.name);
  }
  const bool is_lent = core_.state().instances.at(action.instance)->lent;
  if (is_lent) check_lent_start(action);
  require(is_lent || settings_.limits.allows(kind.type, live(kind.type) + 1), "the limit of a type",
          "{} starts beside {} others", kind.name, live(kind.type));
  require(waits(animal), "loads are for somebody who waits", "{}", kind.name);
  if (action.attempt > 1) {
    require(retrying_.contains(animal), "a second attempt follows a first", "{}", kind.name);
    for (const auto& [id, child] : children_) {
      require(is_pinned(child) && !settings_.nuclear_evicts_pinned, "a second attempt is alone", "{} starts beside {}",
              kind.name, child.kind().name);
    }
  } else if (const auto at = failures_.find(animal); at != failures_.end() && !is_explicit(action)) {
    require(at->second.options != action.spec->options || now_.mono >= at->second.cool_until,
            "a model that failed cools down", "{}", kind.name);
  }
  if (const auto at = crashes_.find(animal); at != crashes_.end() && !is_explicit(action)) {
    require(at->second.options != action.spec->options || now_.mono >= at->second.cool_until,
            "a model that ends under requests is left alone", "{}", kind.name);
  }
  check_looks(action);
  if (!is_lent) check_admission(action);
  retrying_.erase(animal);
  promised_.clear();
  waited_.clear();
  fitting_.clear();
  for (const Instance* load : core_.state().queue) {
    if (fits_now(*load->spec)) fitting_.insert(load->id);
  }
  changed({});
  started_ = action.instance;
  children_[action.instance] = Child{.id = action.instance,
                                     .animal = animal,
                                     .options = action.spec->options,
                                     .attempt = action.attempt,
                                     .load_started = now_.mono,
                                     .lent = is_lent,
                                     .was_lent = is_lent,
                                     .use = action.spec->memory,
                                     .footprint = footprint_of(action.spec->memory)};
  use(children_[action.instance]);
}

void Witness::see(const AbortLoad& action) {
  Child& child = children_.at(action.instance);
  require(child.phase == Child::Phase::loading, "only running loads are aborted", "{}", child.kind().name);
  if (action.reason == StopReason::cancelled) {
    for (const auto& [id, ticket] : tickets_) {
      require(ticket.animal != child.animal || ticket.options != child.options || ticket.kind != Ticket::Kind::load ||
                  ticket.after_unload,
              "a load that is wanted isn't aborted", "{}", child.kind().name);
    }
  }
  if (action.reason == StopReason::yield) check_lent_stop(child, action.reason);
  child.phase = Child::Phase::stopping;
  child.aborted = true;
  child.reason = action.reason;
}

void Witness::see(const StopInstance& action) {
  Child& child = children_.at(action.instance);
  require(child.phase == Child::Phase::up, "only running instances are stopped, once", "{}", child.kind().name);
  const bool time_is_over = child.draining && now_.mono >= *child.draining + settings_.recall_grace;
  require(child.leases == 0 || child.ended || (child.leases == child.peers && time_is_over),
          "no busy instance is stopped", "{} has {} requests", child.kind().name, child.leases);
  child.was_busy |= child.leases > 0;
  const bool pinned = is_pinned(child);
  const bool asked_for = action.reason == StopReason::unload || action.reason == StopReason::reload ||
                         action.reason == StopReason::shutdown;
  const bool nuclear = action.reason == StopReason::evict_all && settings_.nuclear_evicts_pinned;
  require(!pinned || asked_for || nuclear, "no pinned instance is evicted", "{}: {}", child.kind().name,
          name_of(action.reason));
  switch (action.reason) {
    case StopReason::evict_all:
      require(!retrying_.empty(), "only a failed load that may be retried drives others out", "{}", child.kind().name);
      break;
    case StopReason::lend:
    case StopReason::recall:
    case StopReason::yield:
      check_lent_stop(child, action.reason);
      break;
    case StopReason::limit: {
      // One that was lent until this step may be the one too many.
      const auto taken = static_cast<std::size_t>(std::ranges::count_if(children_, [&](const auto& c) {
        return c.second.kind().type == child.kind().type && !core_.state().instances.at(c.first)->lent;
      }));
      require(!settings_.limits.allows(child.kind().type, taken), "a free slot evicts nobody", "{}", child.kind().name);
      break;
    }
    case StopReason::room:
      require(!child.lent, "a lent instance takes no slot", "{}", child.kind().name);
      require(!settings_.limits.allows(child.kind().type, live(child.kind().type) + 1), "a free slot evicts nobody",
              "{}", child.kind().name);
      require(std::ranges::any_of(tickets_,
                                  [&](const auto& t) {
                                    return t.second.kind <= Ticket::Kind::load &&
                                           kZoo[t.second.animal].type == child.kind().type;
                                  }),
              "room is made for somebody of the type", "{}", child.kind().name);
      break;
    case StopReason::unload:
      require(unloading_.contains(child.id), "unloads are asked for", "{}", child.kind().name);
      break;
    case StopReason::reload:
      require(waits(child.animal), "reloads are asked for", "{}", child.kind().name);
      break;
    case StopReason::npu:
      require(std::ranges::any_of(tickets_,
                                  [&](const auto& t) {
                                    return t.second.kind <= Ticket::Kind::load &&
                                           !npu_agrees(kZoo[t.second.animal], child.kind());
                                  }),
              "the NPU is freed for somebody who needs it", "{}", child.kind().name);
      break;
    default:
      check_stop(child, action.reason);
      break;
  }
  check_victim_of_known(child, action.reason);
  stopped_now_.push_back(action.instance);
  const bool for_memory = action.reason == StopReason::memory || action.reason == StopReason::pressure;
  if (for_memory && !std::holds_alternative<SimulatePressure>(*event_)) relieved_now_.push_back(action.instance);
  child.score_at_stop = score(child);
  child.could_shrink = !child.was_busy && could_shrink(child);
  child.phase = Child::Phase::stopping;
  child.stop_sent = now_.mono;
  if (action.reason == StopReason::room || action.reason == StopReason::limit) stopped_.push_back(action.instance);
  child.reason = action.reason;
}

void Witness::see(const Recall& action) {
  Child& child = children_.at(action.instance);
  require(child.kind().share && child.leases > 0, "only who holds a share is told to let go", "{}", child.kind().name);
  require(!std::exchange(child.recalled, true), "who holds a share is told once", "{}", child.kind().name);
}

void Witness::see(const Granted& action) {
  const Ticket ticket = answered(action.ticket, {Ticket::Kind::request});
  Child& child = children_.at(action.instance);
  if (!ticket.peer) {
    used_by_owner_.insert(ticket.animal);
    given_to_owner_.insert(ticket.animal);
  }
  if (ticket.peer) {
    ++child.peers;
    peers_.insert(action.lease);
  }
  require(child.phase == Child::Phase::up && child.animal == ticket.animal,
          "a lease is on a running instance of the model", "{}", kZoo[ticket.animal].name);
  require(leases_.emplace(action.lease, action.instance).second, "leases are unique", "{}", action.lease.value());
  ++child.leases;
  use(child);
  begin(child);
}

void Witness::see(const Loaded& action) {
  const Ticket ticket = answered(action.ticket, {Ticket::Kind::load});
  Child& child = children_.at(action.instance);
  used_by_owner_.insert(ticket.animal);
  require(child.phase == Child::Phase::up && child.animal == ticket.animal, "a load ends with a running instance", "{}",
          kZoo[ticket.animal].name);
  if (action.was_resident) use(child);
}

void Witness::see(const Unloaded& action) { answered(action.ticket, {Ticket::Kind::unload, Ticket::Kind::unload_all}); }

void Witness::see(const PinChanged& action) {
  if (action.ticket) answered(*action.ticket, {Ticket::Kind::pin});
  used_by_owner_.insert(animal_named(action.model));
  for (auto& [id, child] : children_) {
    if (child.kind().name == action.model.value()) child.lent = core_.state().instances.at(id)->lent;
  }
  if (action.pinned) {
    pins_.insert(action.model);
  } else {
    pins_.erase(action.model);
  }
}

void Witness::see(const Rejected& action) {
  using enum Ticket::Kind;
  const Ticket ticket = answered(action.ticket, {request, load, unload, pin});
  check_peer_answer(ticket, action.error);
  if (ticket.peer) return;
  check_refusal(ticket, action.error);
  const bool for_memory = !action.error.memory.empty() && action.error.code != errc::insufficient_memory;
  require(!for_memory || !returning_.contains(action.ticket), "a request that comes mid-eviction is served", "{}",
          kZoo[ticket.animal].name);
  if (action.error.code == errc::cooling_down) check_cooling(ticket);
  const bool own = action.error.code.category() == error_category();
  if (last_fault_ && last_fault_->animal == ticket.animal &&
      (!own || action.error.code == errc::load_crashed || action.error.code == errc::load_deadline)) {
    last_fault_->rejected = true;
  }
}

}  // namespace corral::residency::simulation
