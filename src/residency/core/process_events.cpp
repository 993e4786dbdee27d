#include "residency/core/process_events.h"

#include <fmt/format.h>

#include "residency/errors.h"

namespace corral::residency {

bool ProcessEvents::handle(const LoadSucceeded& event, const Step& step) {
  Server* server = state_.find(event.server);
  if (server == nullptr || server->state != ServerState::loading) return false;
  state_.loader = nullptr;
  lifecycle_.move(*server, ServerState::ready);
  lifecycle_.touch(*server, step.now);
  state_.memory.changed();
  server->load_duration = std::chrono::duration_cast<Millis>(step.time() - server->load_started);
  Model& model = state_.models[server->spec->name];
  model.failure.reset();
  model.lent_failure.reset();
  pins_.apply(*server, server->pin, step);
  // In the same step: the requests that caused the load run before the instance can become a victim.
  waiters_.serve(*server, *server, false, step);
  if (server->unload_when_loaded) lifecycle_.drain(*server, StopReason::unload, step);
  return true;
}

bool ProcessEvents::handle(const LoadFailed& event, const Step& step) {
  Server* server = state_.find(event.server);
  if (server == nullptr || server->state != ServerState::loading) return end(event.server, {}, step);
  failures_.end_load(*server, event.fault, event.error, step);
  return true;
}

bool ProcessEvents::handle(const ServerDied& event, const Step& step) { return end(event.server, event, step); }
bool ProcessEvents::handle(const ServerStopped& event, const Step& step) { return end(event.server, {}, step); }

// The process is gone, whether it was told to stop or not.
bool ProcessEvents::end(ServerId id, const ServerDied& death, const Step& step) {
  Server* server = state_.find(id);
  if (server == nullptr || server->state == ServerState::queued) return false;
  const ModelName& name = server->spec->name;
  if (server->state == ServerState::loading) {
    const Error error(errc::load_crashed, fmt::format("the server of '{}' ended while it was loading", name.value()),
                      "model");
    failures_.end_load(*server, LoadFault::crashed, error, step);
  } else if (server->leaving == StopReason::deadline) {
    const Error error(errc::load_deadline,
                      fmt::format("'{}' didn't load within {} ms", name.value(), server->spec->load_deadline.count()),
                      "model");
    failures_.end_load(*server, LoadFault::deadline, error, step);
  } else {
    const bool was_told = server->state == ServerState::evicting;
    failures_.note_end(*server, death, step);
    lifecycle_.remove(*server, was_told ? ServerState::gone : ServerState::failed, step);
  }
  return true;
}

void ProcessEvents::abort_overdue(const Step& step) {
  Server* loader = state_.loader;
  if (loader == nullptr || loader->state != ServerState::loading) return;
  const Millis deadline = loader->spec->load_deadline;
  if (deadline <= Millis{0} || step.time() - loader->load_started < deadline) return;
  lifecycle_.abort(*loader, StopReason::deadline, step);
}

}  // namespace corral::residency
