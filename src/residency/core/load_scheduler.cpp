#include "residency/core/load_scheduler.h"

#include <algorithm>
#include <utility>

#include "residency/lending.h"
#include "residency/queue_reservations.h"

namespace corral::residency {
namespace {

bool is_victim(const Instance& instance, const std::vector<Victim>& victims) {
  return std::ranges::any_of(victims, [&](const Victim& victim) { return victim.instance == &instance; });
}

}  // namespace

LoadScheduler::LoadScheduler(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Pins& pins,
                             Waiters& waiters, LoadQueue& queue, Failures& failures)
    : state_(state),
      preflight_(preflight),
      lifecycle_(lifecycle),
      adoption_(adoption),
      pins_(pins),
      waiters_(waiters),
      queue_(queue),
      failures_(failures) {}

bool LoadScheduler::may_evict(const SpecPtr& spec, MonoTime now) const {
  if (state_.instances.empty()) return false;
  if (state_.loader != nullptr || !state_.queue.empty()) return true;
  Instance load;
  load.spec = spec;
  load.queued_at = now;
  const EvictionPlan plan = plan_eviction(state_, load, now);
  return !plan.refused && (plan.stale || !plan.victims.empty() || !plan.downsizes.empty());
}

Decision LoadScheduler::decide(MonoTime now) {
  Decision decision;
  bool may_start = state_.loader == nullptr;
  QueueReservations ahead(state_);
  for (Instance* load : state_.queue) {
    if (queue_.comes_back(*load)) continue;
    if (!Preflight::is_known(*load)) {  // it delays no other load
      decision.checks.push_back(load);
      continue;
    }
    if (load->attempt > 1) forget_gone(*load);
    const EvictionPlan plan = plan_eviction(state_, *load, now);
    note_victims(*load, plan);
    if (ahead.blocks(*load, plan)) {
      ahead.add(*load, plan);
      continue;
    }
    const bool startable = plan.is_there() && !plan.stale && may_start;
    if (startable && preflight_.is_fresh(*load, now)) {
      decision.start = load;
      may_start = false;
      ahead.started(*load);
      continue;
    }
    const bool idle = std::ranges::none_of(plan.victims, [](const Victim& v) { return is_busy(*v.instance); });
    if (may_start && !plan.stale && !idle && !load->waits_since) load->waits_since = now;
    // The promise holds as long as no further victim is needed.
    const bool others_go = !plan.victims.empty() || !plan.downsizes.empty();
    if (may_start && (plan.settles || (others_go && !plan.stale))) load->promise = plan.settles;
    const bool check = add_victims(*load, plan, may_start, idle, now, decision) || startable;
    if (check) decision.checks.push_back(load);
    // Its turn has come, but the memory sample is old.
    decision.sample |= may_start && plan.stale;
    ahead.add(*load, plan);
    const bool slow_check = check && load->check != 0 && now - load->check_asked >= state_.settings.slow_stop_after;
    if (slow_check) continue;
    // Later loads may not pass a load whose victims are idle and stop in time, nor a second attempt that waits for
    // loads that already passed it.
    const bool slow =
        std::ranges::any_of(plan.victims, [&](const Victim& v) { return stops_slowly(*v.instance, now); });
    if ((idle && !slow) || check || plan.stale || (load->attempt > 1 && load->first_to_go.empty())) may_start = false;
  }
  return decision;
}

// Adds the victims of this load that stop now or already do. True if a victim may stop only after a fresh preflight.
bool LoadScheduler::add_victims(const Instance& load, const EvictionPlan& plan, bool may_start, bool idle, MonoTime now,
                                Decision& decision) const {
  const bool overdue = load.waits_since && now - *load.waits_since >= state_.settings.swap_patience;
  const bool judged = may_start && idle && !plan.stale;
  const bool recalls = may_start && !plan.stale;  // instances that only peers use get no swap_patience
  const bool fresh = preflight_.is_fresh(load, now);
  // The victims of a load ahead may free enough for this one: the next decision shows it.
  const bool others_go = std::ranges::any_of(decision.victims, [](const Victim& v) {
    return v.instance->leases == 0 && v.instance->state != InstanceState::evicting;
  });
  bool check = false;
  for (const Victim& victim : plan.victims) {
    const Instance& instance = *victim.instance;
    const bool goes_on = instance.lent && instance.state == InstanceState::draining;
    if (!overdue && !judged && !goes_on && !(recalls && is_peers_only(instance))) continue;
    // No new eviction for memory by an old sample, or while a load runs.
    const bool begins = instance.state != InstanceState::draining && instance.state != InstanceState::evicting;
    const bool uncertain = plan.stale || state_.loader != nullptr || others_go;
    if (begins && uncertain && victim.reason == StopReason::memory) continue;
    if (begins && !fresh) {
      check = true;
      continue;
    }
    if (instance.state != InstanceState::loading && !is_victim(instance, decision.victims))
      decision.victims.push_back(victim);
  }
  if (!judged || others_go) return check;
  for (Instance* instance : plan.downsizes) {
    if (instance->state != InstanceState::ready) continue;
    check |= !fresh;
    if (fresh) decision.downsizes.push_back(instance);
  }
  return check;
}

bool LoadScheduler::stops_slowly(const Instance& instance, MonoTime now) const {
  return instance.state == InstanceState::evicting && now - instance.stopping_since >= state_.settings.slow_stop_after;
}

bool LoadScheduler::undrain_others(const Decision& decision) {
  bool any = false;
  for (const auto& [id, instance] : state_.instances) {
    if (instance->state != InstanceState::draining || instance->leaving_for_good) continue;
    if (is_victim(*instance, decision.victims)) continue;
    lifecycle_.undrain(*instance);
    any = true;
  }
  return any;
}

void LoadScheduler::settle(const Step& step) {
  while (settle_one(step)) {  // each may affect the others
  }
}

bool LoadScheduler::settle_one(const Step& step) {
  for (Instance* load : state_.queue) {
    if (serve_by_current(*load, step)) return true;
    if (queue_.comes_back(*load) || !Preflight::is_known(*load)) continue;
    const EvictionPlan plan = plan_eviction(state_, *load, step.time());
    if (!plan.refused) continue;
    waiters_.reject_askers(*load, load->spec->options, *plan.refused, step);
    failures_.fall_back(*load, step);
    return true;
  }
  return false;
}

// Completes a queued load whose model is in memory again, because it returned from draining. True if that ends the
// load.
bool LoadScheduler::serve_by_current(Instance& load, const Step& step) {
  Instance* current = state_.models[load.spec->name].current;
  if (current == nullptr || !serves(current->state)) return false;
  const bool same = !load.explicit_options || load.spec->options == current->spec->options;
  waiters_.serve(load, *current, !same, step);
  if (!load.waiters.empty()) return false;
  if (same && load.explicit_options) adoption_.set_eviction(*current, load.eviction);
  if (same) pins_.apply(*current, load.pin, step);
  lifecycle_.remove(load, InstanceState::gone, step);
  return true;
}

// Of the instances that existed when the first attempt failed, keeps those that still must stop.
void LoadScheduler::forget_gone(Instance& load) const {
  const auto done = [&](InstanceId id) {
    const Instance* instance = state_.find(id);
    return instance == nullptr || !drives_out(state_, *instance);
  };
  if (std::erase_if(load.first_to_go, done) == 0 || !load.first_to_go.empty()) return;
  load.waits_since.reset();  // from here on it waits for later instances
}

void LoadScheduler::note_victims(Instance& load, const EvictionPlan& plan) {
  std::vector<InstanceId> ids;
  for (const Victim& victim : plan.victims) ids.push_back(victim.instance->id);
  for (const Instance* instance : plan.downsizes) ids.push_back(instance->id);
  const bool by_memory = plan.held_by_memory();
  if (ids == load.waits_for && by_memory == load.held_by_memory) return;
  load.waits_for = std::move(ids);
  load.held_by_memory = by_memory;
  ++state_.revision;
}

}  // namespace corral::residency
