#include "residency/core/control.h"

#include <utility>
#include <vector>

#include "residency/errors.h"
#include "residency/lending.h"

namespace corral::residency {

bool Control::handle(const Unload& event, const Step& step) {
  const Model* model = state_.find(event.model);
  Server* server = model == nullptr ? nullptr : model->current;
  if (server == nullptr || is_given_up(*server)) {
    step.reject(event.ticket, not_loaded(event.model));
    return false;
  }
  state_.unloads.push_back({event.ticket, {server->id}, {}, {}});
  unload(*server, step);
  return true;
}

bool Control::handle(const UnloadAll& event, const Step& step) {
  PendingUnload pending{event.ticket, {}, {}, {}};
  for (const auto& [id, server] : state_.servers) {
    if (!takes_slot(server->state) || is_given_up(*server)) continue;
    unload(*server, step);
    if (server->state == ServerState::evicting) {
      pending.waits_for.push_back(id);
    } else {
      pending.draining.push_back(server->spec->name);
    }
  }
  if (pending.waits_for.empty()) {
    step.act(Unloaded{event.ticket, {}, std::move(pending.draining)});
  } else {
    state_.unloads.push_back(std::move(pending));
  }
  return true;
}

// The waiters of a load are served first.
void Control::unload(Server& server, const Step& step) {
  if (server.state == ServerState::loading) {
    server.unload_when_loaded = true;
  } else {
    lifecycle_.drain(server, StopReason::unload, step);
  }
}

bool Control::handle(const EndServer& event, const Step& step) {
  Server* server = state_.find(event.server);
  if (server == nullptr) {
    step.reject(event.ticket, Error(errc::not_loaded, "it isn't there any more"));
    return false;
  }
  state_.unloads.push_back({event.ticket, {server->id}, {}, {}});
  if (server->state == ServerState::queued || server->state == ServerState::loading) {
    waiters_.reject(*server, not_standing(server->spec->name), step);
    end_unwanted(*server, step);
  } else {
    lifecycle_.drain(*server, StopReason::unload, step);
    if (server->state == ServerState::draining) lifecycle_.stop(*server, step);
  }
  return true;
}

bool Control::handle(const CancelTicket& event, const Step& step) {
  Server* load = waiters_.cancel(event.ticket);
  if (load == nullptr) {
    tickets_.cancel(event.ticket);
    return false;
  }
  // A local load doesn't go on for peers alone; a load for peers may be aborted once no local request has joined it.
  if (!load->lent && is_for_peers_only(*load)) waiters_.reject_peers(*load, "its owner has given its load up", step);
  if (!load->waiters.empty()) return load->lent;
  end_unwanted(*load, step);
  return true;
}

// A load that nobody waits for.
void Control::end_unwanted(Server& load, const Step& step) {
  if (load.state == ServerState::queued) {
    lifecycle_.remove(load, ServerState::gone, step);
  } else if (load.state == ServerState::loading) {
    lifecycle_.abort(load, StopReason::cancelled, step);
  }
}

bool Control::handle(const ChangeEviction& event, const Step&) {
  const Model* model = state_.find(event.model);
  if (model == nullptr || model->current == nullptr) return false;
  adoption_.set_eviction(*model->current, event.eviction);
  ++state_.revision;
  return true;
}

bool Control::handle(const ChangeSettings& event, const Step&) {
  if (event.settings == state_.settings) return false;
  state_.settings = event.settings;
  for (const auto& [id, server] : state_.servers) {
    if (server->lent) adoption_.set_eviction(*server, server->own_eviction);
  }
  ++state_.revision;
  return true;
}

bool Control::handle(const Shutdown&, const Step& step) {
  state_.shutting_down = true;
  ++state_.revision;
  std::vector<Server*> queue = state_.queue;
  if (state_.lending != nullptr) queue.push_back(state_.lending);
  for (Server* load : queue) {
    waiters_.reject(*load, shutting_down(), step);
    lifecycle_.remove(*load, ServerState::gone, step);
  }
  for (const auto& [id, server] : state_.servers) {
    waiters_.reject(*server, shutting_down(), step);
    if (server->state == ServerState::loading) {
      lifecycle_.abort(*server, StopReason::shutdown, step);
    } else {
      lifecycle_.drain(*server, StopReason::shutdown, step);
    }
  }
  return true;
}

}  // namespace corral::residency
