// What people and configuration ask for: unload, pins, cancellation, settings, shutdown, and the clock.
#include <algorithm>

#include <fmt/format.h>

#include "residency/core.h"
#include "residency/errc.h"
#include "residency/lending.h"

namespace corral::residency {
namespace {

Error not_loaded(const ModelName& model) {
  return {errc::not_loaded, fmt::format("'{}' is not loaded", model.value()), "model"};
}

}  // namespace

void Core::on(const Unload& event, Now now, ActionList& out) {
  const Model* model = state_.find(event.model);
  Server* server = model == nullptr ? nullptr : model->current;
  if (server == nullptr || is_given_up(*server)) {
    out.push_back(Rejected{event.ticket, not_loaded(event.model)});
    return;
  }
  state_.unloads.push_back({event.ticket, {server->id}, {}, {}});
  if (server->state == ServerState::loading) {
    server->unload_when_loaded = true;  // those who wait for it are served first
  } else {
    drain(*server, StopReason::unload, true, now, out);
  }
  advance(now, out);
}

void Core::on(const UnloadAll& event, Now now, ActionList& out) {
  PendingUnload unload{event.ticket, {}, {}, {}};
  for (const auto& [id, server] : state_.servers) {
    if (!takes_slot(server->state) || is_given_up(*server)) continue;
    if (server->state == ServerState::loading) {
      server->unload_when_loaded = true;
    } else {
      drain(*server, StopReason::unload, true, now, out);
    }
    if (server->state == ServerState::evicting) {
      unload.waits_for.push_back(id);
    } else {
      unload.draining.push_back(server->spec->name);
    }
  }
  if (unload.waits_for.empty()) {
    out.push_back(Unloaded{unload.ticket, {}, std::move(unload.draining)});
  } else {
    state_.unloads.push_back(std::move(unload));
  }
  advance(now, out);
}

void Core::on(const EndServer& event, Now now, ActionList& out) {
  Server* server = find(event.server);
  if (server == nullptr) {
    out.push_back(Rejected{event.ticket, Error(errc::not_loaded, "it isn't there any more")});
    return;
  }
  const ModelName name = server->spec->name;
  state_.unloads.push_back({event.ticket, {server->id}, {}, {}});
  const bool loads = server->state == ServerState::queued || server->state == ServerState::loading;
  if (loads) reject_waiters(*server, not_standing(name), out);
  if (server->state == ServerState::queued) {
    remove(*server, ServerState::gone, now, out);
  } else if (server->state == ServerState::loading) {
    abort(*server, StopReason::cancelled, now, out);
  } else {
    drain(*server, StopReason::unload, true, now, out);
    if (server->state == ServerState::draining) stop(*server, now, out);
  }
  advance(now, out);
}

void Core::on(const Pin& event, Now now, ActionList& out) {
  const Model* model = state_.find(event.model);
  const bool loaded = model != nullptr && model->current != nullptr && !model->current->spec->share;
  const bool taken_off = model != nullptr && model->pinned && !event.pinned;
  if (!loaded && !taken_off) {
    out.push_back(Rejected{event.ticket, not_loaded(event.model)});
    return;
  }
  if (loaded && event.pinned && is_pinned_out(*model->current)) return refuse_pin(*model->current, event.ticket, out);
  if (loaded && event.pinned && is_resident(model->current->state)) make_own(*model->current);
  // The newest wish wins, also over that of a load which hasn't ended yet.
  if (loaded) model->current->pin.reset();
  // One that loads for a peer may still be given up: it becomes his when it is there.
  if (loaded && event.pinned && model->current->lent) model->current->pin = true;
  if (model->pending != nullptr) model->pending->pin.reset();
  set_pin(event.model, event.pinned, event.ticket, out);
  advance(now, out);
}

// A pin makes a lent model its owner's, and there is no slot for it.
void Core::refuse_pin(const Server& server, TicketId ticket, ActionList& out) {
  Error error(errc::slots_pinned,
              fmt::format("'{}' is lent, and all loaded models of type {} are pinned: unpin or unload one first",
                          server.spec->name.value(), name_of(server.spec->type)),
              "model");
  out.push_back(Rejected{ticket, std::move(error)});
}

void Core::on(const CancelTicket& event, Now now, ActionList& out) {
  const auto at = state_.waiting.find(event.ticket);
  if (at == state_.waiting.end()) {
    std::erase_if(state_.unloads, [&](const PendingUnload& unload) { return unload.ticket == event.ticket; });
    std::erase_if(state_.reliefs, [&](const PendingRelief& relief) { return relief.ticket == event.ticket; });
    return;
  }
  Server& load = *at->second;
  state_.waiting.erase(at);
  std::erase_if(load.waiters, [&](const Waiter& waiter) { return waiter.ticket == event.ticket; });
  ++revision_;
  // A load of the owner's isn't gone on with for others alone; one for others may be given up once he has left it.
  if (!load.lent && is_for_peers_only(load)) refuse_peers(load, "its owner has given its load up", out);
  if (load.lent && !load.waiters.empty()) return advance(now, out);
  if (!load.waiters.empty()) return;
  if (load.state == ServerState::queued) {
    remove(load, ServerState::gone, now, out);
  } else if (load.state == ServerState::loading) {
    abort(load, StopReason::cancelled, now, out);
  }
  advance(now, out);
}

void Core::on(const ChangeSettings& event, Now now, ActionList& out) {
  if (event.settings == state_.settings) return;
  state_.settings = event.settings;
  for (const auto& [id, server] : state_.servers) {
    if (server->lent) set_eviction(*server, server->own_eviction);
  }
  ++revision_;
  advance(now, out);
}

void Core::on(const Tick&, Now now, ActionList& out) {
  wake_.reset();  // the shell's timer is spent: say again what is still needed
  advance(now, out);
}

void Core::on(const Shutdown&, Now now, ActionList& out) {
  state_.shutting_down = true;
  ++revision_;
  const Error error(errc::shutting_down, "the server is shutting down");
  std::vector<Server*> queue = state_.queue;
  if (state_.lending != nullptr) queue.push_back(state_.lending);
  for (Server* load : queue) {
    reject_waiters(*load, error, out);
    remove(*load, ServerState::gone, now, out);
  }
  for (const auto& [id, server] : state_.servers) {
    reject_waiters(*server, error, out);
    if (server->state == ServerState::loading) {
      abort(*server, StopReason::shutdown, now, out);
    } else {
      drain(*server, StopReason::shutdown, true, now, out);
    }
  }
  advance(now, out);
}

}  // namespace corral::residency
