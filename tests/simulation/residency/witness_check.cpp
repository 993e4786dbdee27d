// Looks at the files of loads, and models that end under requests: the books, and the rules.
#include <algorithm>

#include "residency/errors.h"
#include "simulation/residency/witness.h"

namespace corral::residency::simulation {

void Witness::see(const CheckLoad& action) {
  const auto load = core_.state().instances.find(action.instance);
  require(load != core_.state().instances.end() && load->second->state == InstanceState::queued,
          "looks are for loads that wait", "{}", action.spec->name.value());
  require(action.spec->to_check, "looks are for loads that wait", "{} needs none", action.spec->name.value());
  require(!looks_.contains(action.instance), "one look at a time", "{}", action.spec->name.value());
  const auto before = looked_.find(action.instance);
  if (before != looked_.end() && before->second.options != action.spec->options) looked_.erase(before);
  looks_[action.instance] = {action.check, now_.mono, action.spec->options};
}

void Witness::see(const DropCheck& action) {
  require(looks_.erase(action.instance) > 0, "every look is wanted or dropped", "{} has none", action.instance.value());
}

void Witness::note(const LoadChecked& event) {
  const auto look = looks_.find(event.instance);
  if (look == looks_.end() || look->second.check != event.check) return;
  const Looked looked{now_.mono, std::chrono::ceil<Millis>(now_.mono - look->second.asked), look->second.options};
  looked_[event.instance] = looked;
  last_look_[animal_named(event.spec->name)] = looked;
  looks_.erase(look);
}

void Witness::note(const CheckFailed& event) {
  const auto look = looks_.find(event.instance);
  if (look == looks_.end() || look->second.check != event.check) return;
  looks_.erase(look);
  looked_.erase(event.instance);
}

// Nothing is known of it yet.
bool Witness::is_unknown(const Instance& load) const { return load.spec->to_check && !looked_.contains(load.id); }

// Its files are looked at once more, and that hasn't taken long.
bool Witness::keeps_turn(const Instance& load) const {
  const auto look = looks_.find(load.id);
  return look != looks_.end() && looked_.contains(load.id) &&
         now_.mono < look->second.asked + settings_.slow_stop_after;
}

bool Witness::is_fresh(const Instance& load) const {
  if (!load.spec->to_check) return true;
  auto looked = looked_.find(load.id);
  const auto last = last_look_.find(animal_named(load.spec->name));
  if (looked == looked_.end() && (load.attempt == 1 || last == last_look_.end())) return false;
  const Looked& known =
      looked == looked_.end() ? last->second : looked->second;  // a second attempt goes by the first's
  return now_.mono <= known.time + std::max(settings_.check_age, known.took * settings_.check_trust);
}

void Witness::check_looks(const StartLoad& action) const {
  require(is_fresh(*core_.state().instances.at(action.instance)), "a load starts by a fresh look at its files", "{}",
          action.spec->name.value());
}

// Who goes for a load goes for one whose files were there just now.
void Witness::check_victim_of_known(const Child& child, StopReason reason) const {
  const bool for_load = reason == StopReason::room || reason == StopReason::npu || reason == StopReason::memory ||
                        reason == StopReason::evict_all || reason == StopReason::reload;
  // Or for a lent model of the type that its owner uses now.
  const bool adopts = reason == StopReason::room && std::ranges::any_of(children_, [&](const auto& entry) {
                        return entry.second.was_lent && entry.second.kind().type == child.kind().type;
                      });
  if (adopts) return;
  if (!for_load || child.was_busy) return;
  const bool known = std::ranges::any_of(core_.state().instances, [&](const auto& entry) {
    const Instance& load = *entry.second;
    const bool candidate = load.state == InstanceState::queued &&
                           (reason != StopReason::room || load.spec->type == child.kind().type) &&
                           (reason != StopReason::reload || animal_named(load.spec->name) == child.animal);
    return (candidate && is_fresh(load)) || started_ == load.id;
  });
  require(known, "nobody goes for a load whose files weren't looked at", "{}: {}", child.kind().name, name_of(reason));
}

bool Witness::returns(std::size_t animal) const {
  return std::ranges::any_of(returning_, [&](TicketId id) {
    const auto ticket = tickets_.find(id);
    return ticket != tickets_.end() && ticket->second.animal == animal;
  });
}

// Called before the books forget the child.
void Witness::note_end(const Child& child, bool died) {
  if (child.phase == Child::Phase::loading || child.aborted) return;
  if (now_.mono > child.loaded + settings_.crash_calm) crashes_.erase(child.animal);
  if (!died || child.phase != Child::Phase::up || child.leases == child.peers) return;  // what peers do is their affair
  Failures& crashes = crashes_[child.animal];
  crashes.in_a_row = crashes.options == child.options ? crashes.in_a_row + 1 : 1;
  crashes.options = child.options;
  const int over = crashes.in_a_row - settings_.cooldown_after_crashes;
  const Millis wait =
      over < 0 ? Millis{0} : std::min(settings_.cooldown_first * (1 << std::min(over, 10)), settings_.cooldown_max);
  crashes.cool_until = now_.mono + wait;
}

void Witness::check_cooling(const Ticket& ticket) const {
  const auto cools = [&](const std::map<std::size_t, Failures>& failures) {
    const auto found = failures.find(ticket.animal);
    return found != failures.end() && found->second.options == ticket.options && now_.mono < found->second.cool_until;
  };
  require(cools(failures_) || cools(crashes_), "only what failed again and again cools down", "{}",
          kZoo[ticket.animal].name);
}

}  // namespace corral::residency::simulation
