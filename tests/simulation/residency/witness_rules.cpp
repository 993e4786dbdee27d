// The rules that look at the whole house after a step.
#include <algorithm>

#include <fmt/format.h>

#include "simulation/residency/witness.h"

namespace corral::residency::simulation {
std::size_t Witness::live(ModelType type) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(children_, [&](const auto& c) { return c.second.kind().type == type && !c.second.lent; }));
}

bool Witness::waits(std::size_t animal) const {
  return std::ranges::any_of(
      tickets_, [&](const auto& t) { return t.second.animal == animal && t.second.kind <= Ticket::Kind::load; });
}

std::string Witness::name(InstanceId id) const { return core_.state().instances.at(id)->spec->name.value(); }

bool Witness::is_leaving(InstanceId id) const {
  const InstanceState state = core_.state().instances.at(id)->state;
  return state == InstanceState::draining || state == InstanceState::evicting;
}

// Not pinned, or pinned but on its way out because somebody asked for it.
bool Witness::automatic_may_stop(const Child& child) const {
  return !is_pinned(child) || child.phase != Child::Phase::up || core_.state().instances.at(child.id)->leaving_for_good;
}

void Witness::check_state() const {
  const State& state = core_.state();
  std::size_t leases = 0;
  for (const auto& [id, instance] : state.instances) {
    leases += instance->leases;
    const Model& model = state.models.at(instance->spec->name);
    if (instance->state == InstanceState::queued) {
      require(model.pending == instance.get(), "books agree", "{} is queued but unknown", name(id));
      require(std::ranges::count(state.queue, instance.get()) == (instance.get() == state.lending ? 0 : 1),
              "books agree", "{} isn't in the queue", name(id));
      require(!instance->waiters.empty(), "a load nobody waits for is dropped", "{}", name(id));
      continue;
    }
    require(model.current == instance.get(), "books agree", "{} isn't the instance of its model", name(id));
    const auto child = children_.find(id);
    require(child != children_.end(), "books agree", "{} has no child", name(id));
    require(child->second.leases == instance->leases, "books agree", "{} has {} leases", name(id), instance->leases);
    const bool loading = instance->state == InstanceState::loading;
    const bool evicting = instance->state == InstanceState::evicting;
    require(loading == (child->second.phase == Child::Phase::loading), "books agree", "{} loads", name(id));
    require(evicting == (child->second.phase == Child::Phase::stopping), "books agree", "{} stops", name(id));
    require((loading || child->second.aborted) == (state.loader == instance.get()), "books agree", "{} is the loader",
            name(id));
    require(!loading || !instance->waiters.empty(), "a load nobody waits for is aborted", "{}", name(id));
    require(instance->state != InstanceState::in_use || instance->leases > 0, "books agree", "{} is in use", name(id));
    require(instance->state != InstanceState::ready || instance->leases == 0, "books agree", "{} is idle", name(id));
    require(instance->state != InstanceState::draining || instance->leases > 0,
            "an idle instance that drains is stopped", "{}", name(id));
    require(child->second.peers == instance->peer_leases, "books agree", "{} has {} leases of peers", name(id),
            instance->peer_leases);
    const bool may_drain = !child->second.kind().share || child->second.recalled;
    require(instance->state != InstanceState::draining || may_drain, "who holds a share that has to go is told", "{}",
            name(id));
    require(!child->second.recalled || instance->state >= InstanceState::draining,
            "a share that was recalled doesn't come back", "{}", name(id));
    const bool wanted_away = instance->state == InstanceState::draining && !instance->leaving_for_good;
    require(!wanted_away || !state.queue.empty(), "instances drain only for somebody", "{}", name(id));
  }
  for (const auto& [id, child] : children_)
    require(state.instances.contains(id), "books agree", "a child was forgotten");
  for (ModelType type : kModelTypes) {
    require(state.slots_taken(type) == live(type), "books agree", "{} slots of {}", state.slots_taken(type),
            name_of(type));
  }
  require(leases == state.leases.size() && leases == leases_.size(), "books agree", "{} leases", leases);
}

// Nobody waits for a model that is there; everybody who waits is known.
void Witness::check_requests() const {
  const State& state = core_.state();
  for (const auto& [id, ticket] : tickets_) {
    if (ticket.kind > Ticket::Kind::load) continue;
    require(state.waiting.contains(id), "every ticket gets an answer", "ticket {} for {} was forgotten", id.value(),
            kZoo[ticket.animal].name);
    const Model* model = state.find(ModelName(kZoo[ticket.animal].name));
    if (ticket.kind == Ticket::Kind::load && model->pending != nullptr) continue;  // a reload
    require(model->current == nullptr || !serves(model->current->state), "who waited runs when the model is there",
            "{}", kZoo[ticket.animal].name);
  }
  require(state.unloads.size() + state.reliefs.size() ==
              static_cast<std::size_t>(
                  std::ranges::count_if(tickets_, [](const auto& t) { return t.second.kind >= Ticket::Kind::unload; })),
          "every ticket gets an answer", "an unload or pin was forgotten");
}

// Above a lowered limit only pinned, busy or leaving instances may stay.
void Witness::check_limits() const {
  for (ModelType type : kModelTypes) {
    std::size_t staying = 0;
    bool idle = false;
    for (const auto& [id, child] : children_) {
      if (child.lent || child.kind().type != type || is_leaving(id)) continue;
      ++staying;
      idle |= child.phase == Child::Phase::up && child.leases == 0 && automatic_may_stop(child);
    }
    require(!idle || settings_.limits.allows(type, staying), "a lowered limit evicts idle instances", "{}",
            name_of(type));
  }
}

// Who goes for room or for a lowered limit was used before all those of the type who could have gone instead.
void Witness::check_least_recently_used() const {
  for (InstanceId stopped : stopped_) {
    const Child& gone = children_.at(stopped);
    for (const auto& [id, child] : children_) {
      if (child.lent || child.was_lent) continue;
      const bool could_go =
          child.phase == Child::Phase::up && child.leases == 0 && !is_leaving(id) && automatic_may_stop(child);
      require(!could_go || child.kind().type != gone.kind().type || child.used_nth > gone.used_nth,
              "the least recently used goes", "{} rather than {}", gone.kind().name, child.kind().name);
    }
  }
}

void Witness::check_snapshot() const {
  const Snapshot snapshot = core_.snapshot(now_);
  require(snapshot.queue.size() == order_.size(), "snapshots tell the truth", "queue");
  require(snapshot.instances.size() + snapshot.loading.has_value() == children_.size(), "snapshots tell the truth",
          "instances");
  for (const InstanceView& view : snapshot.instances) {
    require(view.pinned == is_pinned(children_.at(view.id)), "snapshots tell the truth", "pin of {}",
            view.spec->name.value());
    require(view.lent == children_.at(view.id).lent, "snapshots tell the truth", "{} is lent", view.spec->name.value());
    require(view.leases == children_.at(view.id).leases, "snapshots tell the truth", "leases of {}",
            view.spec->name.value());
  }
  for (ModelType type : kModelTypes) {
    require(snapshot.taken[index_of(type)] == live(type), "snapshots tell the truth", "slots of {}", name_of(type));
  }
}

void Witness::at_rest() const {
  require(tickets_.empty(), "every ticket gets an answer", "{} tickets still wait", tickets_.size());
  require(order_.empty() && leases_.empty(), "the house comes to rest", "{} loads, {} leases", order_.size(),
          leases_.size());
  require(looks_.empty(), "every look is wanted or dropped", "{}", looks_.size());
  for (const auto& [id, child] : children_) {
    require(child.phase == Child::Phase::up && !is_leaving(id), "the house comes to rest", "{}", child.kind().name);
  }
  require(core_.state().models.size() <= kZoo.size(), "the house comes to rest", "models pile up");
}

}  // namespace corral::residency::simulation
