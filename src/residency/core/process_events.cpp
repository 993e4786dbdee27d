#include "residency/core/process_events.h"

#include <fmt/format.h>

#include "residency/errors.h"

namespace corral::residency {

bool ProcessEvents::handle(const LoadSucceeded& event, const Step& step) {
  Instance* instance = state_.find(event.instance);
  if (instance == nullptr || instance->state != InstanceState::loading) return false;
  state_.loader = nullptr;
  lifecycle_.move(*instance, InstanceState::ready);
  lifecycle_.touch(*instance, step.now);
  state_.memory.changed();
  instance->load_duration = std::chrono::duration_cast<Millis>(step.time() - instance->load_started);
  Model& model = state_.models[instance->spec->name];
  model.failure.reset();
  model.lent_failure.reset();
  pins_.apply(*instance, instance->pin, step);
  // In the same step: the requests that caused the load start before the instance can become a victim.
  waiters_.serve(*instance, *instance, false, step);
  if (instance->unload_when_loaded) lifecycle_.drain(*instance, StopReason::unload, step);
  return true;
}

bool ProcessEvents::handle(const LoadFailed& event, const Step& step) {
  Instance* instance = state_.find(event.instance);
  if (instance == nullptr || instance->state != InstanceState::loading) return end(event.instance, {}, step);
  failures_.end_load(*instance, event.fault, event.error, step);
  return true;
}

bool ProcessEvents::handle(const InstanceDied& event, const Step& step) { return end(event.instance, event, step); }
bool ProcessEvents::handle(const InstanceStopped& event, const Step& step) {
  return end(event.instance, {.instance = event.instance, .answered = event.answered}, step);
}

// The process is gone, expectedly or not.
bool ProcessEvents::end(InstanceId id, const InstanceDied& death, const Step& step) {
  Instance* instance = state_.find(id);
  if (instance == nullptr || instance->state == InstanceState::queued) return false;
  const ModelName& name = instance->spec->name;
  if (instance->state == InstanceState::loading) {
    const Error error(errc::load_crashed, fmt::format("the process of '{}' ended while it was loading", name.value()),
                      "model");
    failures_.end_load(*instance, LoadFault::crashed, error, step);
  } else if (instance->leaving == StopReason::deadline) {
    const Error error(errc::load_deadline,
                      fmt::format("'{}' didn't load within {} ms", name.value(), instance->spec->load_deadline.count()),
                      "model");
    failures_.end_load(*instance, LoadFault::deadline, error, step);
  } else {
    const bool was_stopped = instance->state == InstanceState::evicting;
    failures_.note_end(*instance, death, step);
    lifecycle_.remove(*instance, was_stopped ? InstanceState::gone : InstanceState::failed, step);
  }
  return true;
}

void ProcessEvents::abort_overdue(const Step& step) {
  Instance* loader = state_.loader;
  if (loader == nullptr || loader->state != InstanceState::loading) return;
  const Millis deadline = loader->spec->load_deadline;
  if (deadline <= Millis{0} || step.time() - loader->load_started < deadline) return;
  lifecycle_.abort(*loader, StopReason::deadline, step);
}

}  // namespace corral::residency
