#include "residency/core/lifecycle.h"

#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "residency/elsewhere.h"

namespace corral::residency {

Instance& Lifecycle::add(const SpecPtr& spec, Now now) {
  const InstanceId id(++last_id_);
  auto instance = std::make_unique<Instance>();
  instance->id = id;
  instance->spec = spec;
  instance->eviction = spec->eviction;
  instance->queued_at = now.mono;
  Instance& load = *instance;
  state_.instances.emplace(id, std::move(instance));
  state_.models[spec->name].pending = &load;
  ++state_.revision;
  return load;
}

void Lifecycle::move(Instance& instance, InstanceState to) {
  const InstanceState from = instance.state;
  if (!may_move(from, to)) {
    throw std::logic_error(fmt::format("instance {} of '{}' can't go from {} to {}", instance.id.value(),
                                       instance.spec->name.value(), name_of(from), name_of(to)));
  }
  instance.state = to;
  std::size_t& taken = state_.taken[index_of(instance.spec->type)];
  if (!runs_elsewhere(*instance.spec)) taken = taken + takes_slot(to) - takes_slot(from);
  const auto usual = [](InstanceState state) {
    return state == InstanceState::ready || state == InstanceState::in_use;
  };
  if (!usual(from) || !usual(to)) ++state_.revision;
}

void Lifecycle::touch(Instance& instance, Now now) {
  instance.used_nth = ++uses_;
  instance.last_use = now.mono;
  instance.last_use_wall = now.wall;
}

void Lifecycle::start(Instance& load, const Step& step) {
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
  for (Instance* other : state_.queue) other->promise.reset();  // this load uses memory that was released for them
  load.load_started = step.time();
  touch(load, step.now);
  move(load, InstanceState::loading);
  step.act(StartLoad{load.id, load.spec, load.attempt});
}

void Lifecycle::abort(Instance& load, StopReason reason, const Step& step) {
  load.leaving = reason;
  load.leaving_for_good = true;
  move(load, InstanceState::evicting);
  load.stopping_since = step.time();
  ++state_.stops[static_cast<std::size_t>(reason)];
  step.act(AbortLoad{load.id, reason});
}

void Lifecycle::drain(Instance& instance, StopReason reason, const Step& step) { drain(instance, reason, true, step); }

void Lifecycle::drain_for_load(Instance& instance, StopReason reason, const Step& step) {
  // The other node stops an engine for a recalled share; that can't be undone.
  drain(instance, reason, instance.spec->share, step);
}

void Lifecycle::drain(Instance& instance, StopReason reason, bool for_good, const Step& step) {
  if (instance.state == InstanceState::evicting) return;
  if (!instance.leaving_for_good) {
    instance.leaving = reason;
    instance.leaving_for_good = for_good;
  }
  if (instance.state != InstanceState::draining) {
    move(instance, InstanceState::draining);
    if (instance.spec->share && instance.leases > 0) step.act(Recall{instance.id});
    // A victim of one load that becomes the victim of another has not served in between.
    if (instance.brought_back != state_.decisions) instance.draining_since = step.time();
  }
  if (instance.leases == 0) stop(instance, step);
}

void Lifecycle::undrain(Instance& instance) {
  instance.leaving = StopReason::none;
  instance.brought_back = state_.decisions;
  move(instance, InstanceState::in_use);
}

void Lifecycle::stop(Instance& instance, const Step& step) {
  // Downsized for one reason and stopped for another in the same step: it only stops.
  const auto is_downsize = [&](const Action& action) {
    const auto* downsize = std::get_if<Downsize>(&action);
    return downsize != nullptr && downsize->instance == instance.id;
  };
  if (instance.downsize_asked && std::erase_if(step.out, is_downsize) > 0) instance.downsize_asked = false;
  move(instance, InstanceState::evicting);
  instance.stopping_since = step.time();
  ++state_.stops[static_cast<std::size_t>(instance.leaving)];
  step.act(StopInstance{instance.id, instance.leaving});
}

void Lifecycle::remove(Instance& instance, InstanceState last, const Step& step) {
  if (!instance.waiters.empty()) {
    throw std::logic_error(fmt::format("'{}' is removed while {} requests wait for it", instance.spec->name.value(),
                                       instance.waiters.size()));
  }
  if (takes_slot(instance.state)) {
    state_.lent[index_of(instance.spec->type)] -= instance.lent && !runs_elsewhere(*instance.spec);
    state_.memory.give_up(state_.memory.held(instance), step.time() + state_.settings.memory_wait);
  }
  const bool evicted = instance.state == InstanceState::evicting;
  tickets_.reclaimed(instance, evicted ? Reclaimed::evicted : Reclaimed::nothing, step);
  preflight_.drop(instance, step);
  move(instance, last);
  const ModelName name = instance.spec->name;
  Model& model = state_.models[name];
  if (model.pending == &instance) model.pending = nullptr;
  if (model.current == &instance) model.current = nullptr;
  if (state_.loader == &instance) state_.loader = nullptr;
  if (state_.lending == &instance) state_.lending = nullptr;
  std::erase(state_.queue, &instance);
  state_.leases.drop_all(instance);
  tickets_.gone(instance, step);
  state_.instances.erase(instance.id);
  forget_if_empty(name);
}

void Lifecycle::forget_if_empty(const ModelName& name) {
  const auto at = state_.models.find(name);
  if (at == state_.models.end()) return;
  const Model& model = at->second;
  const bool noted = model.failure || model.crashes || model.lent_failure || model.lent_crashes;
  if (!model.current && !model.pending && !model.pinned && !noted) state_.models.erase(at);
}

}  // namespace corral::residency
