#include "residency/core.h"

#include <utility>
#include <variant>

#include "residency/core/parts.h"

namespace corral::residency {
namespace {

// Passes an event to its part. True: decisions may change.
class Dispatch {
 public:
  Dispatch(CoreParts& parts, const Step& step) : parts_(parts), step_(step) {}

  bool operator()(const Acquire& event) const {
    return event.spec->origin == RequestOrigin::peer ? parts_.peers.handle(event, step_)
                                                     : parts_.requests.handle(event, step_);
  }
  bool operator()(const ReturnLease& event) const { return parts_.leases.release(event.lease, step_); }
  bool operator()(const Load& event) const { return parts_.loads.handle(event, step_); }
  bool operator()(const Pin& event) const { return parts_.pins.handle(event, step_); }
  bool operator()(const LoadChecked& event) const { return parts_.preflight.handle(event, step_); }
  bool operator()(const CheckFailed& event) const { return parts_.failures.handle(event, step_); }
  bool operator()(const Downsized& event) const { return parts_.downsizer.handle(event, step_); }
  bool operator()(const DownsizeFailed& event) const { return parts_.downsizer.handle(event, step_); }
  bool operator()(const SimulatePressure& event) const { return parts_.reclaimer.handle(event, step_); }
  bool operator()(const MemorySampled& event) const {
    parts_.watch.take(event, step_);
    return true;
  }
  bool operator()(const Tick&) const {
    parts_.timer.fired();
    return true;
  }
  // LoadSucceeded, LoadFailed, InstanceDied, InstanceStopped.
  template <typename Other>
    requires requires(ProcessEvents& processes, const Other& event, const Step& step) { processes.handle(event, step); }
  bool operator()(const Other& event) const {
    return parts_.processes.handle(event, step_);
  }
  // Unload, UnloadAll, EndInstance, CancelTicket, ChangeEviction, ChangeSettings, Shutdown.
  template <typename Other>
    requires requires(Control& control, const Other& event, const Step& step) { control.handle(event, step); }
  bool operator()(const Other& event) const {
    return parts_.control.handle(event, step_);
  }

 private:
  CoreParts& parts_;
  const Step& step_;
};

}  // namespace

Core::Core(Settings settings, const std::set<ModelName>& pins) : parts_(std::make_unique<CoreParts>()) {
  parts_->state.settings = std::move(settings);
  for (const ModelName& name : pins) parts_->state.models[name].pinned = true;
}

Core::Core(Core&&) noexcept = default;
Core::~Core() = default;

const State& Core::state() const { return parts_->state; }

void Core::handle(const Event& event, Now now, ActionList& out) {
  const Step step{now, out};
  if (std::visit(Dispatch(*parts_, step), event)) advance(step);
  // First stop instances for other reasons, then for memory pressure.
  const auto* sampled = std::get_if<MemorySampled>(&event);
  if (sampled != nullptr && parts_->reclaimer.relieve_pressure(sampled->pools, step)) advance(step);
}

std::optional<Core::Lease> Core::try_acquire(const ModelName& name, Now now, RequestOrigin origin) {
  const Model* model = parts_->state.find(name);
  Instance* instance = model == nullptr ? nullptr : model->current;
  if (instance == nullptr || !serves(instance->state)) return std::nullopt;
  const bool shared = origin == RequestOrigin::peer || instance->lent;
  if (shared && !parts_->peers.may_share(*instance, origin, now.mono)) [[unlikely]]
    return std::nullopt;
  return Lease{parts_->leases.take(*instance, origin, now), instance->id};
}

void Core::release(LeaseId lease, Now now, ActionList& out) {
  const Step step{now, out};
  if (parts_->leases.release(lease, step)) advance(step);
}

bool Core::may_evict(const SpecPtr& spec, Now now) const { return parts_->scheduler.may_evict(spec, now.mono); }

Outlook Core::outlook(Now now) const { return residency::outlook(parts_->state, now.mono); }

// Consequences of the state: first all that may change a decision, then the decision, then its effects.
void Core::advance(const Step& step) {
  CoreParts& parts = *parts_;
  State& state = parts.state;
  parts.processes.abort_overdue(step);
  parts.watch.give_up_overdue(step.time());
  parts.downsizer.give_up_overdue(step);
  parts.recalls.end_overdue(step);
  Decision decision;
  do {
    parts.scheduler.settle(step);
    parts.reclaimer.enforce_limits(step);
    parts.recalls.enforce_limits(step);
    parts.reclaimer.evict_idle(state.settings.idle_floor, step);
    decision = parts.scheduler.decide(step.time());
  } while (parts.scheduler.undrain_others(decision));
  parts.recalls.yield(step);
  for (const Victim& victim : decision.victims)
    parts.lifecycle.drain_for_load(*victim.instance, victim.instance->lent ? StopReason::recall : victim.reason, step);
  for (Instance* instance : decision.downsizes) {
    // It may be a victim of another load.
    if (instance->state == InstanceState::ready) parts.downsizer.downsize(*instance, step);
  }
  parts.reclaimer.downsize_idle(state.settings.idle_floor, step);
  if (decision.start != nullptr) parts.lifecycle.start(*decision.start, step);
  for (Instance* load : decision.checks) parts.preflight.ask(*load, step);
  if (decision.sample) parts.watch.ask(step);
  parts.peers.advance(step);
  parts.watch.plan(step);
  parts.timer.plan(step);
  ++state.decisions;
}

}  // namespace corral::residency
