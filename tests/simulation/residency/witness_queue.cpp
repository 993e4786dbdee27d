// The rules of the queue: who waits, how long and for whom.
#include <algorithm>

#include "simulation/residency/witness.h"

namespace corral::residency::simulation {

// Told to stop long ago: it no longer keeps loads from passing.
bool Witness::stops_slowly(const Child& child) const {
  return child.phase == Child::Phase::stopping && !child.aborted &&
         now_.mono >= child.stop_sent + settings_.slow_stop_after;
}

// The model of this load drains for another load: it stays if that one is given up.
bool Witness::may_come_back(const Instance& load) const {
  const Instance* current = core_.state().find(load.spec->name)->current;
  return current != nullptr && current->state == InstanceState::draining && !current->leaving_for_good;
}

// First come first served: new loads at the end, second attempts at the front, nobody moves in between.
void Witness::check_queue_order() {
  const auto& queue = core_.state().queue;
  std::erase_if(order_, [&](InstanceId id) {
    return std::ranges::none_of(queue, [&](const Instance* load) { return load->id == id; });
  });
  for (const auto& [id, instance] : core_.state().instances) {
    if (instance.get() == core_.state().lending) continue;
    if (instance->state != InstanceState::queued || std::ranges::find(order_, id) != order_.end()) continue;
    order_.insert(instance->attempt > 1 ? order_.begin() : order_.end(), id);
  }
  std::vector<InstanceId> actual;
  for (const Instance* load : queue) actual.push_back(load->id);
  require(actual == order_, "first come first served", "the queue was reordered");
}

Witness::Blockers Witness::blockers(const Instance& load) const {
  const Animal& kind = kZoo[animal_named(load.spec->name)];
  Blockers result;
  std::size_t staying = 0;
  std::size_t stoppable = 0;
  std::size_t leaving = 0;
  bool slow = false;
  for (const auto& [id, child] : children_) {
    const bool driven = load.attempt > 1 && (automatic_may_stop(child) || settings_.nuclear_evicts_pinned);
    if (kZoo[child.animal].name == kind.name || !npu_agrees(kind, child.kind()) || driven) {
      result.requests |= child.busy();
      result.slow |= stops_slowly(child);
      result.all_leaving &= is_leaving(id) || child.phase == Child::Phase::loading;
    } else if (child.kind().type == kind.type && !child.lent) {
      ++staying;
      slow |= stops_slowly(child);  // its slot will be free, so nobody else is evicted for it
      stoppable += !child.busy() && automatic_may_stop(child);
      leaving += is_leaving(id) || child.phase == Child::Phase::loading;
    }
  }
  std::size_t must_go = 0;
  while (must_go < staying && !settings_.limits.allows(kind.type, staying + 1 - must_go)) ++must_go;
  result.requests |= must_go > stoppable;
  result.slow |= must_go > 0 && slow;
  result.all_leaving &= leaving >= must_go;
  result.memory = !fits_now(*load.spec);
  result.look = looks_.contains(load.id);
  return result;
}

// True for a load that no load ahead of it has to go before: they want other slots and not both the NPU.
bool Witness::is_front(std::size_t position) const {
  const auto& instances = core_.state().instances;
  const ModelSpec& spec = *instances.at(order_[position])->spec;
  for (std::size_t i = 0; i < position; ++i) {
    const Instance& ahead = *instances.at(order_[i]);
    const bool both_npu = has(spec.device, Device::npu) && has(ahead.spec->device, Device::npu);
    const bool both_memory = !ahead.spec->memory.empty() && (!spec.memory.empty() || ahead.held_by_memory);
    if (ahead.spec->type == spec.type || both_npu || both_memory || ahead.attempt > 1) return false;
  }
  return true;
}

// A load may pass another only while that one waits for somebody busy.
void Witness::check_passing() const {
  if (!started_) return;
  const bool queued_before = std::ranges::find(order_before_, *started_) != order_before_.end();
  if (!queued_before && core_.state().instances.at(*started_)->attempt > 1) return;  // went to the front
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const bool was_ahead = std::ranges::find(order_before_, order_[i]) < std::ranges::find(order_before_, *started_);
    if (!was_ahead || order_[i] == *started_ || !is_front(i)) continue;
    const Instance& ahead = *core_.state().instances.at(order_[i]);
    if (ahead.state != InstanceState::queued || is_unknown(ahead)) continue;
    // Whose disk is slow has what is left when it is there.
    const bool looks = looks_.contains(ahead.id) && !keeps_turn(ahead);
    if (looks) continue;
    check_slot_is_left(ahead);
    check_passed_memory(ahead);
    const Blockers now = blockers(ahead);
    require(now.requests || now.slow || !fitting_.contains(order_[i]), "nobody passes a load that could start",
            "{} passes {}", name(*started_), name(order_[i]));
    if (ahead.attempt == 1) continue;
    const auto first = retrying_.find(animal_named(ahead.spec->name));
    const bool first_remain =
        first != retrying_.end() && std::ranges::any_of(first->second, [&](InstanceId id) {
          return children_.contains(id) && (automatic_may_stop(children_.at(id)) || settings_.nuclear_evicts_pinned);
        });
    require(first_remain, "a second attempt is passed only while it waits for the first ones", "{} passes {}",
            name(*started_), name(order_[i]));
  }
}

// Who passes a load of its own type leaves it its slot.
void Witness::check_slot_is_left(const Instance& ahead) const {
  const ModelType type = ahead.spec->type;
  if (core_.state().instances.at(*started_)->spec->type != type) return;
  if (ahead.held_by_memory) return;  // who goes for its memory leaves slots too
  const Animal& kind = kZoo[animal_named(ahead.spec->name)];
  const auto goes_anyway = std::ranges::count_if(children_, [&](const auto& c) {
    const Animal& other = c.second.kind();
    return !c.second.lent && other.type == type &&
           (other.name == kind.name || !npu_agrees(kind, other) || ahead.attempt > 1);
  });
  const std::size_t taken = live(type) - static_cast<std::size_t>(goes_anyway);
  require(settings_.limits.allows(type, taken + 1), "who passes leaves a slot", "{} passes {}", name(*started_),
          ahead.spec->name.value());
}

// With nothing loading and nothing about to end, whoever waits waits for somebody busy: else it waits for ever.
void Witness::check_progress() const {
  if (asked_) return;
  for (const auto& [id, child] : children_) {
    // At the very moment when a stop becomes slow, the tick that tells may still be to come.
    const bool slow = stops_slowly(child) && now_.mono > child.stop_sent + settings_.slow_stop_after;
    if (child.phase != Child::Phase::up && !slow) return;
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Instance& load = *core_.state().instances.at(order_[i]);
    if (keeps_turn(load)) return;
    if (!is_front(i)) continue;
    const Blockers now = blockers(load);
    if (now.memory) return;  // nobody passes while it looks at the memory; see check_memory()
    require(now.any(), "no load waits once its victims are idle", "{}", name(order_[i]));
  }
}

// Busy victims take newcomers for `swap_patience`, no longer.
void Witness::check_patience() {
  std::erase_if(blocked_since_,
                [&](const auto& entry) { return std::ranges::find(order_, entry.first) == order_.end(); });
  bool free = std::ranges::all_of(
      children_, [this](const auto& c) { return c.second.phase == Child::Phase::up || stops_slowly(c.second); });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Instance& load = *core_.state().instances.at(order_[i]);
    const bool looks_first = !fits_now(*load.spec) && !load.waits_since;
    const bool its_turn = free && !looks_first;
    if (is_unknown(load)) continue;
    free &= fits_now(*load.spec) && !keeps_turn(load);  // nobody passes while it looks at the memory or its files
    if (!is_front(i) || load.attempt > 1 || may_come_back(load) || looks_.contains(load.id)) continue;
    const Blockers now = blockers(load);
    if (its_turn && now.requests) blocked_since_.emplace(order_[i], now_.mono);
    const auto since = blocked_since_.find(order_[i]);
    if (since == blocked_since_.end() || now_.mono <= since->second + settings_.swap_patience) continue;
    require(now.all_leaving, "after the patience as many drain as must go", "{}", name(order_[i]));
  }
}

void Witness::check_deadline() const {
  for (const auto& [id, child] : children_) {
    if (child.phase != Child::Phase::loading) continue;
    require(now_.mono <= child.load_started + kDeadline, "a hung load is killed", "{}", child.kind().name);
  }
}

// Who can't be helped by waiting is told at once.
void Witness::check_pinned_out() const {
  for (InstanceId id : order_) {
    const Instance& load = *core_.state().instances.at(id);
    if (load.attempt > 1 || is_unknown(load)) continue;
    if (may_come_back(load)) continue;
    std::size_t pinned = 0;
    for (const auto& [other, child] : children_) {
      if (child.animal == animal_named(load.spec->name) || automatic_may_stop(child)) continue;
      pinned += child.kind().type == load.spec->type;
      require(npu_agrees(child.kind(), kZoo[animal_named(load.spec->name)]), "who is pinned out is told at once",
              "{}: NPU", name(id));
    }
    require(settings_.limits.allows(load.spec->type, pinned + 1), "who is pinned out is told at once", "{}", name(id));
  }
}

}  // namespace corral::residency::simulation
