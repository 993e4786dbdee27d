#include "residency/core/failures.h"

#include <algorithm>

#include <fmt/format.h>

#include "residency/cooldown.h"
#include "residency/eviction_plan.h"

namespace corral::residency {

bool Failures::handle(const CheckFailed& event, const Step& step) {
  Instance* load = preflight_.end(event.instance, event.check);
  if (load == nullptr) return false;
  if (load == state_.lending) {
    waiters_.reject_peers(*load, event.error.message, step);
    waiters_.reject(*load, event.error, step);  // local requests that have joined it
    lifecycle_.remove(*load, InstanceState::gone, step);
    return true;
  }
  waiters_.reject_askers(*load, load->spec->options, event.error, step);
  fall_back(*load, step);
  return true;
}

void Failures::end_load(Instance& load, LoadFault fault, const Error& error, const Step& step) {
  if (load.spec->once || evicts_nothing(load)) waiters_.reject(load, error, step);
  if (load.lent) return end_lent_load(load, fault, error, step);
  waiters_.reject_peers(load, fmt::format("it failed to load: {}", error.message), step);
  const bool retries = worth_a_retry(fault) && load.attempt == 1 && !load.unload_when_loaded;
  if (!load.waiters.empty() && retries) {
    retry(load, step.now);
  } else if (!load.waiters.empty()) {
    end_last_attempt(load, fault, error, step);
  }
  lifecycle_.remove(load, InstanceState::failed, step);
}

// Local requests that have joined it get a load of their own.
void Failures::end_lent_load(Instance& load, LoadFault fault, const Error& error, const Step& step) {
  Model& model = state_.models[load.spec->name];
  waiters_.reject_peers(load, fmt::format("it failed to load: {}", error.message), step);
  if (worth_a_retry(fault) && !load.spec->once)
    note_failure(model.lent_failure, state_.settings, *load.spec, error.message, step.time());
  if (!load.waiters.empty()) {
    const Waiter& newest = newest_waiter(load);
    if (model.pending == nullptr) LoadQueue::follow(queue_.enqueue(newest.spec, step.now), newest);
    waiters_.move_to_front(load, *model.pending);
  }
  lifecycle_.remove(load, InstanceState::failed, step);
}

void Failures::end_last_attempt(Instance& load, LoadFault fault, const Error& error, const Step& step) {
  Model& model = state_.models[load.spec->name];
  const std::uint64_t options = load.spec->options;
  Instance* again = model.pending;  // requested after the unload
  const bool any_rejected = waiters_.reject_askers(load, options, error, step);
  reject_cooling(load, step);  // before a failure of these options replaces the record of others
  if (any_rejected && worth_a_retry(fault))
    note_failure(model.failure, state_.settings, *load.spec, error.message, step.time());
  bool undecided = again != nullptr && again->spec->options == options;
  // The options of these waiters haven't failed yet.
  if (!load.waiters.empty()) {
    undecided |= again == nullptr;
    if (again == nullptr) again = &queue_.enqueue(load.waiters.back().spec, step.now);
    waiters_.move_to_front(load, *again);
  }
  if (!undecided) return;
  waiters_.reject_askers(*again, options, error, step);
  fall_back(*again, step);
}

void Failures::retry(Instance& failed, Now now) {
  Model& model = state_.models[failed.spec->name];
  // A newer load has other options: a first attempt of its own.
  Instance& next = model.pending != nullptr ? *model.pending : queue_.enqueue_again(failed, now);
  waiters_.move_to_front(failed, next);
  if (!next.pin) next.pin = failed.pin;
}

// Rejects requests whose options cool down, unless an explicit load tries the same options.
void Failures::reject_cooling(Instance& load, const Step& step) {
  const Model& model = *state_.find(load.spec->name);
  const auto is_tried = [&](std::uint64_t options) {
    return std::ranges::any_of(load.waiters, [options](const Waiter& waiter) {
      return !waiter.wants_lease && waiter.spec->options == options;
    });
  };
  for (std::size_t i = 0; i < load.waiters.size();) {
    const SpecPtr asked = load.waiters[i].spec;
    const auto cooling = is_tried(asked->options) ? std::nullopt : cooling_down(model, *asked, step.time());
    if (cooling) waiters_.reject_askers(load, asked->options, *cooling, step);
    i = cooling ? 0 : i + 1;
  }
}

void Failures::fall_back(Instance& load, const Step& step) {
  preflight_.drop(load, step);
  while (!load.waiters.empty()) {
    const Waiter newest = newest_waiter(load);
    const Model& model = state_.models[newest.spec->name];
    const auto cooling = newest.wants_lease ? cooling_down(model, *newest.spec, step.time()) : std::nullopt;
    if (cooling) {
      waiters_.reject_askers(load, newest.spec->options, *cooling, step);
      continue;
    }
    if (load.attempt == 1) return LoadQueue::follow(load, newest);
    // The second attempt of the old options was at the front; these haven't been tried.
    Instance& next = queue_.enqueue(newest.spec, step.now);
    waiters_.move_to_front(load, next);
    LoadQueue::follow(next, newest);
    break;
  }
  lifecycle_.remove(load, InstanceState::gone, step);
}

void Failures::note_end(const Instance& instance, const InstanceDied& death, const Step& step) {
  const bool up = is_resident(instance.state);
  if (!up && (is_given_up(instance) || instance.leaving == StopReason::shutdown)) return;
  Model& model = state_.models[instance.spec->name];
  const auto lived = step.time() - (instance.load_started + instance.load_duration);
  if (death.answered || lived > state_.settings.crash_calm) {
    model.crashes.reset();
    model.lent_crashes.reset();
  }
  if (!up || !death.worked || instance.leases == 0 || instance.spec->once) return;
  const std::uint64_t options = instance.spec->options;
  // A crash under requests of peers only causes a cooldown for peers only.
  if (instance.leases == instance.peer_leases)
    return note_crash(model.lent_crashes, state_.settings, *instance.spec, death.cause, step.time());
  note_crash(model.crashes, state_.settings, *instance.spec, death.cause, step.time());
  ++state_.revision;
  // Waiters of the next instance would only crash it too.
  Instance* next = model.pending;
  const auto cooling = cooling_down(model, *instance.spec, step.time());
  if (next == nullptr || next->spec->options != options || !cooling) return;
  waiters_.reject_askers(*next, options, *cooling, step);
  fall_back(*next, step);
}

}  // namespace corral::residency
