// What other machines of a mesh get here, and that its owner hardly notices.
#include <algorithm>

#include "residency/errors.h"
#include "simulation/residency/witness.h"

namespace corral::residency::simulation {
namespace {

bool fits(const Bytes2& need, const Bytes2& left) {
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    if (need[i] > 0 && need[i] > left[i]) return false;
  }
  return true;
}

bool at_least(const Bytes2& a, const Bytes2& b) {
  return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return x >= y; });
}

}  // namespace

// He waits for a model: this one, or any.
bool Witness::owner_waits(std::optional<std::size_t> animal) const {
  return std::ranges::any_of(tickets_, [&](const auto& entry) {
    const Ticket& ticket = entry.second;
    return ticket.kind <= Ticket::Kind::load && !ticket.peer && (!animal || ticket.animal == *animal);
  });
}

// So many of his; peers have a bound of their own.
std::size_t Witness::owners_waiting() const {
  return core_.state().waiting.size() - static_cast<std::size_t>(std::ranges::count_if(tickets_, [this](const auto& t) {
           return t.second.peer && core_.state().waiting.contains(t.first);
         }));
}

// A load of his that may take its turn, as far as is known of it.
bool Witness::waits_known(const Instance& load) const { return !is_unknown(load) && !may_come_back(load); }

Bytes2 Witness::lent() const {
  Bytes2 bytes{};
  for (const auto& [id, child] : children_) {
    if (child.lent) bytes = bytes + child.footprint.whole;
  }
  return bytes;
}

Bytes2 Witness::may_lend() const {
  Bytes2 bytes;
  bytes.fill(static_cast<std::int64_t>(kPoolSize * settings_.lend_share));
  return bytes;
}

// With those that are told to go in this step, as far as they haven't been told yet.
bool Witness::too_much_is_lent() const {
  if (settings_.lend_share <= 0) return true;
  Bytes2 bytes{};
  std::map<ModelType, std::size_t> count;
  for (const auto& [id, child] : children_) {
    if (!child.lent || child.phase == Child::Phase::stopping || child.draining) continue;
    bytes = bytes + child.footprint.whole;
    count[child.kind().type] += !child.kind().share;
  }
  return !fits(bytes, may_lend()) ||
         std::ranges::any_of(count, [this](const auto& of) { return of.second > settings_.lend_slots; });
}

void Witness::check_lent_start(const StartLoad& action) const {
  const char* name = action.spec->name.value().c_str();
  require(!owner_waits(), "a load for a peer never goes before one of the owner's", "{}", name);
  require(action.attempt == 1, "a load for a peer isn't tried again", "{}", name);
  require(settings_.lend_share > 0, "nothing is lent where that is switched off", "{}", name);
  const auto beside = std::ranges::count_if(children_, [&](const auto& c) {
    return c.second.lent && !c.second.kind().share && c.second.kind().type == action.spec->type;
  });
  require(action.spec->share || static_cast<std::size_t>(beside) < settings_.lend_slots,
          "so many lent models of a type", "{}", name);
  const bool unmeasured = ledger_is_empty_ || (sample_ && sample_->blind);
  if (unmeasured) {
    require(settings_.lend_share >= 1, "a part of the memory is lent only where it is measured", "{}", name);
    return;
  }
  require(!action.spec->memory.empty(), "what nobody knows the needs of isn't lent", "{}", name);
  require(sample_ && !changed_since_ && now_.mono - sample_->time < settings_.memory_poll,
          "a load starts by fresh news of the memory", "{}", name);
  const Bytes2 need = needed(*action.spec);
  Bytes2 kept;
  kept.fill(static_cast<std::int64_t>(kPoolSize * (1 - settings_.auto_evict_threshold_pct) + 0.5));
  require(fits(need, sample_->available - kept), "a load for a peer takes free memory only", "{}", name);
  require(fits(need, may_lend() - lent()), "lent memory is bounded", "{}", name);
}

void Witness::check_lent_stop(const Child& child, StopReason reason) const {
  const char* name = child.kind().name;
  if (reason == StopReason::lend) {
    require(now_.mono >= child.last_use + settings_.lend_quiet, "nobody goes for a peer who was used just now", "{}",
            name);
    require(child.leases == 0, "nobody goes for a peer who is busy", "{}", name);
    require(child.lent || settings_.lend_evicts_local, "none of the owner's goes where that is switched off", "{}",
            name);
    require(!owner_waits(), "nobody goes for a peer while the owner waits", "{}", name);
    const Instance* wanting = core_.state().lending;
    require(wanting == nullptr || is_fresh(*wanting), "nobody goes for a load whose files weren't looked at", "{}",
            name);
    require(std::ranges::any_of(tickets_, [](const auto& t) { return t.second.peer; }),
            "who goes for a peer goes for one who waits", "{}", name);
    if (child.lent || !child.known()) return;
    const Instance* load = core_.state().lending;
    if (load == nullptr || !npu_agrees(kZoo[animal_named(load->spec->name)], child.kind())) return;
    for (const auto& [id, other] : children_) {
      const bool could = other.lent && is_idle(other) && other.known() &&
                         now_.mono >= other.last_use + settings_.lend_quiet &&
                         std::ranges::find(stopped_now_, id) == stopped_now_.end();
      require(!could || !at_least(gives(other), gives(child)), "lent models go for a peer before the owner's",
              "{} rather than {}", name, other.kind().name);
    }
    return;
  }
  require(child.lent, "only what is lent is recalled", "{}: {}", name, name_of(reason));
  const bool settings_changed = std::holds_alternative<ChangeSettings>(*event_);
  if (reason == StopReason::yield) {
    for (const auto& [id, ticket] : tickets_) {
      const bool joined = ticket.kind == Ticket::Kind::request ||
                          (ticket.kind == Ticket::Kind::load && ticket.options == child.options);
      require(!joined || ticket.peer || ticket.animal != child.animal || ticket.after_unload,
              "a load that its owner waits for goes on", "{}", name);
    }
    require(owner_waits() || settings_.lend_share <= 0, "a load for a peer yields to somebody", "{}", name);
    return;
  }
  const bool lowered = settings_changed || child.draining || too_much_is_lent();
  require(owner_waits() || lowered, "a recall is for the owner", "{}", name);
}

// Of the owner's models none goes for memory that is lent.
void Witness::check_lent_first(const Child& child) const {
  if (child.lent || !child.known() || sample_->blurred || child.was_busy) return;
  for (const auto& [id, other] : children_) {
    const bool could = other.lent && is_idle(other) && other.known();
    require(!could || !at_least(gives(other), gives(child)), "what is lent goes before what is the owner's",
            "{} rather than {}", child.kind().name, other.kind().name);
  }
}

void Witness::check_peer_answer(const Ticket& ticket, const Error& error) const {
  const bool refused = error.code == errc::not_here;
  require(ticket.peer || !refused, "the owner is never sent elsewhere", "{}", kZoo[ticket.animal].name);
  if (kZoo[ticket.animal].share) return;  // whoever asks for it decides by the cause itself
  require(!ticket.peer || refused || error.code == errc::shutting_down, "a peer is told that it isn't here", "{}: {}",
          kZoo[ticket.animal].name, error.message);
}

void Witness::follow_lent() {
  for (auto& [id, child] : children_) {
    const Instance& instance = *core_.state().instances.at(id);
    child.lent = instance.lent;
    require(!child.lent || child.was_lent, "what is the owner's is never lent", "{}", child.kind().name);
    if (child.was_lent && !child.lent) {
      require(used_by_owner_.contains(child.animal) || owner_waits(child.animal) || is_pinned(child),
              "only its owner's use makes a lent model his", "{}", child.kind().name);
      const ModelType type = child.kind().type;
      std::size_t staying = 0;
      for (const auto& [other, own] : children_)
        staying += !core_.state().instances.at(other)->lent && own.kind().type == type && !is_leaving(other);
      require(is_pinned(child) || settings_.limits.allows(type, staying), "what its owner uses has a slot of his",
              "{} is one too many", child.kind().name);
    }
    if (given_to_owner_.contains(child.animal) && stopped_.empty()) check_stays_lent(child);
    const bool drains = instance.state == InstanceState::draining;
    if (!drains) child.draining.reset();
    if (drains && !child.draining) child.draining = now_.mono;
  }
}

// Its owner uses it: it has no slot of his only where none is to be had.
void Witness::check_stays_lent(const Child& child) const {
  if (!child.lent) return;
  const ModelType type = child.kind().type;
  std::size_t staying = 0;
  for (const auto& [id, other] : children_) staying += !other.lent && other.kind().type == type && !is_leaving(id);
  const bool waited = started_ && children_.at(*started_).kind().type == type;
  const bool waits = waited || std::ranges::any_of(core_.state().queue, [&](const Instance* load) {
                       return load->spec->type == type && load->spec->name.value() != child.kind().name;
                     });
  require(waits || !settings_.limits.allows(type, staying + 1), "what its owner uses takes a free slot of his", "{}",
          child.kind().name);
}

// From the first recall for it to its end, whatever comes between: the owner's load waits no longer.
void Witness::check_lent_time() {
  const auto is_over = [this](const auto& entry) {
    const auto& [load, child] = entry.first;
    const auto instance = core_.state().instances.find(load);
    if (instance == core_.state().instances.end() || !children_.contains(child) || !children_.at(child).lent)
      return true;
    return instance->second->state != InstanceState::queued ||
           std::ranges::find(instance->second->waits_for, child) == instance->second->waits_for.end();
  };
  std::erase_if(wanted_, is_over);
  if (order_.empty()) return;
  const Instance& first = *core_.state().instances.at(order_.front());
  for (InstanceId id : first.waits_for) {
    const auto child = children_.find(id);
    if (child != children_.end() && child->second.lent && child->second.draining)
      wanted_.emplace(std::pair(first.id, id), now_.mono);
  }
  for (const auto& [pair, since] : wanted_) {
    const Child& child = children_.at(pair.second);
    const MonoTime until = std::max(since + settings_.recall_grace, child.free_of_owner);
    const bool stays = child.phase == Child::Phase::up && peers_only(child);
    require(!stays || now_.mono <= until, "the owner waits for no lent model beyond its recall", "{}",
            child.kind().name);
  }
}

void Witness::check_lent() const {
  const State& state = core_.state();
  // The owner waits for nobody else's requests, whatever has to go for whatever reason: it goes at once, or in time.
  for (const auto& [id, child] : children_) {
    if (!child.draining || child.leases != child.peers || child.phase != Child::Phase::up) continue;
    const MonoTime until = std::max(*child.draining + settings_.recall_grace, child.free_of_owner);
    require(now_.mono <= until, "requests of peers keep nothing that has to go beyond their time", "{}",
            child.kind().name);
  }
  if (!order_.empty() && !state.loader && !asked_ && sample_ && !sample_->blind && !changed_since_) {
    const Instance& first = *state.instances.at(order_.front());
    const bool judged = !is_unknown(first) && is_fresh(first) && !may_come_back(first) &&
                        now_.mono - sample_->time < settings_.memory_poll;
    for (InstanceId id : first.waits_for) {
      const auto victim = children_.find(id);
      if (!judged || victim == children_.end() || !peers_only(victim->second)) continue;
      require(is_leaving(id), "a lent model in the way is recalled at once", "{}", victim->second.kind().name);
    }
  }
  for (const auto& [id, child] : children_) {
    if (!child.lent || child.phase != Child::Phase::loading || owner_waits(child.animal)) continue;
    const bool wanted = std::ranges::any_of(state.queue, [this](const Instance* load) { return waits_known(*load); });
    require(!wanted, "a load for a peer yields to the owner's", "{}", child.kind().name);
  }
  require(state.lending == nullptr || (state.queue.empty() && state.loader == nullptr),
          "no load for a peer waits beside another", "{}", state.queue.size());
  require(state.lending == nullptr || now_.mono <= state.lending->queued_at + settings_.lend_wait,
          "a peer waits only so long", "{}", now_.mono.time_since_epoch().count());
  for (const auto& [id, ticket] : tickets_) {
    if (!ticket.peer) continue;
    const Instance& load = *state.waiting.at(id);
    require(&load == state.lending || &load == state.loader, "a peer waits for nothing but a load that runs", "{}",
            kZoo[ticket.animal].name);
  }
  for (const auto& [id, child] : children_) {
    require(child.lent || child.phase != Child::Phase::loading || owner_waits(child.animal),
            "a load of the owner's doesn't go on for peers alone", "{}", child.kind().name);
    const bool idle = child.lent && is_idle(child);
    require(!idle || now_.mono <= child.last_use + std::max(settings_.lend_idle_unload, settings_.idle_floor),
            "a lent model goes when nobody has used it for long", "{}", child.kind().name);
  }
  // What nobody of the owner's uses is lent within bounds.
  if (settings_.lend_share <= 0) {
    for (const auto& [id, child] : children_) {
      const bool stays = peers_only(child) && child.phase == Child::Phase::up && !is_leaving(id);
      require(!stays, "nothing is lent where that is switched off", "{}", child.kind().name);
    }
  }
}

}  // namespace corral::residency::simulation
