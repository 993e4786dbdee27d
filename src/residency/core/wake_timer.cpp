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

void WakeTimer::plan_idle(const Server& server, const Step& step) {
  const auto due = idle_due(state_, server, step.time());
  if (due && (!wake_ || *due < *wake_)) plan(step);
}

std::optional<MonoTime> WakeTimer::next(MonoTime now) const {
  const Settings& settings = state_.settings;
  const std::optional<MonoTime>& sampled = state_.memory.sampled();
  std::optional<MonoTime> wake;
  const auto consider = [&](MonoTime time) {
    if (time > now && (!wake || time < *wake)) wake = time;
  };
  const Server* loader = state_.loader;
  if (loader != nullptr && loader->state == ServerState::loading && loader->spec->load_deadline > Millis{0})
    consider(loader->load_started + loader->spec->load_deadline);
  for (const Server* load : state_.queue) {
    if (load->check != 0 && load->checked_at) consider(load->check_asked + settings.stop_grace);
    if (load->waits_since) consider(*load->waits_since + settings.swap_patience);
    if (load->held_by_memory && sampled && loader == nullptr) consider(*sampled + settings.memory_poll);
  }
  if (state_.memory.asked) consider(*state_.memory.asked + settings.memory_wait);
  if (const Server* lending = state_.lending) {
    consider(lending->queued_at + settings.lend_wait);
    if (sampled) consider(*sampled + settings.memory_poll);
  }
  for (const auto& [id, server] : state_.servers) {
    if (server->state == ServerState::draining && works_for_peers_only(*server))
      consider(server->draining_since + settings.recall_grace);
    if (const auto due = idle_due(state_, *server, now)) consider(*due);
    const bool holds = server->state == ServerState::evicting && !state_.queue.empty();
    if (holds) consider(server->stopping_since + settings.stop_grace);
    const bool shrinks = server->downsize_asked && !(state_.queue.empty() && state_.reliefs.empty());
    if (shrinks) consider(server->downsize_told + settings.memory_wait);
  }
  return wake;
}

}  // namespace corral::residency
