#include "residency/core/wake_timer.h"

#include "residency/lending.h"
#include "residency/reclaim.h"

namespace corral::residency {

void WakeTimer::plan(const Step& step) {
  const std::optional<MonoTime> wake = next(step.time());
  if (wake == wake_) return;
  wake_ = wake;
  step.act(WakeAt{wake});
}

void WakeTimer::plan_idle(const Instance& instance, const Step& step) {
  const auto due = idle_due(state_, instance, step.time());
  if (due && (!wake_ || *due < *wake_)) plan(step);
}

std::optional<MonoTime> WakeTimer::next(MonoTime now) const {
  const Settings& settings = state_.settings;
  const std::optional<MonoTime>& sampled = state_.memory.sampled();
  std::optional<MonoTime> wake;
  const auto consider = [&](MonoTime time) {
    if (time > now && (!wake || time < *wake)) wake = time;
  };
  const Instance* loader = state_.loader;
  if (loader != nullptr && loader->state == InstanceState::loading && loader->spec->load_deadline > Millis{0})
    consider(loader->load_started + loader->spec->load_deadline);
  for (const Instance* load : state_.queue) {
    if (load->check != 0 && load->checked_at) consider(load->check_asked + settings.slow_stop_after);
    if (load->waits_since) consider(*load->waits_since + settings.swap_patience);
    if (load->held_by_memory && sampled && loader == nullptr) consider(*sampled + settings.memory_poll);
  }
  if (state_.memory.asked) consider(*state_.memory.asked + settings.memory_wait);
  if (const Instance* lending = state_.lending) {
    consider(lending->queued_at + settings.lend_wait);
    if (sampled) consider(*sampled + settings.memory_poll);
  }
  for (const auto& [id, instance] : state_.instances) {
    if (instance->state == InstanceState::draining && works_for_peers_only(*instance))
      consider(instance->draining_since + settings.recall_grace);
    if (const auto due = idle_due(state_, *instance, now)) consider(*due);
    const bool holds = instance->state == InstanceState::evicting && !state_.queue.empty();
    if (holds) consider(instance->stopping_since + settings.slow_stop_after);
    const bool shrinks = instance->downsize_asked && !(state_.queue.empty() && state_.reliefs.empty());
    if (shrinks) consider(instance->downsize_sent + settings.memory_wait);
  }
  return wake;
}

}  // namespace corral::residency
