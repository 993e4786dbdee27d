#include "residency/core/control.h"

#include <utility>
#include <vector>

#include "residency/errors.h"
#include "residency/lending.h"

namespace corral::residency {

bool Control::handle(const Unload& event, const Step& step) {
  const Model* model = state_.find(event.model);
  Instance* instance = model == nullptr ? nullptr : model->current;
  if (instance == nullptr || is_given_up(*instance)) {
    step.reject(event.ticket, not_loaded(event.model));
    return false;
  }
  state_.unloads.push_back({event.ticket, {instance->id}, {}, {}});
  unload(*instance, step);
  return true;
}

bool Control::handle(const UnloadAll& event, const Step& step) {
  PendingUnload pending{event.ticket, {}, {}, {}};
  for (const auto& [id, instance] : state_.instances) {
    if (!takes_slot(instance->state) || is_given_up(*instance)) continue;
    unload(*instance, step);
    if (instance->state == InstanceState::evicting) {
      pending.waits_for.push_back(id);
    } else {
      pending.draining.push_back(instance->spec->name);
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
void Control::unload(Instance& instance, const Step& step) {
  if (instance.state == InstanceState::loading) {
    instance.unload_when_loaded = true;
  } else {
    lifecycle_.drain(instance, StopReason::unload, step);
  }
}

bool Control::handle(const EndInstance& event, const Step& step) {
  Instance* instance = state_.find(event.instance);
  if (instance == nullptr) {
    step.reject(event.ticket, Error(errc::not_loaded, "the instance is already gone"));
    return false;
  }
  state_.unloads.push_back({event.ticket, {instance->id}, {}, {}});
  if (instance->state == InstanceState::queued || instance->state == InstanceState::loading) {
    waiters_.reject(*instance, not_standing(instance->spec->name), step);
    end_unwanted(*instance, step);
  } else {
    lifecycle_.drain(*instance, StopReason::unload, step);
    if (instance->state == InstanceState::draining) lifecycle_.stop(*instance, step);
  }
  return true;
}

bool Control::handle(const CancelTicket& event, const Step& step) {
  Instance* load = waiters_.cancel(event.ticket);
  if (load == nullptr) {
    tickets_.cancel(event.ticket);
    return false;
  }
  // A local load doesn't continue for peers only; a load for peers may be aborted once no local request has joined it.
  if (!load->lent && is_for_peers_only(*load))
    waiters_.reject_peers(*load, "the local requests for its load were cancelled", step);
  if (!load->waiters.empty()) return load->lent;
  end_unwanted(*load, step);
  return true;
}

// A load without waiters.
void Control::end_unwanted(Instance& load, const Step& step) {
  if (load.state == InstanceState::queued) {
    lifecycle_.remove(load, InstanceState::gone, step);
  } else if (load.state == InstanceState::loading) {
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
  for (const auto& [id, instance] : state_.instances) {
    if (instance->lent) adoption_.set_eviction(*instance, instance->own_eviction);
  }
  ++state_.revision;
  return true;
}

bool Control::handle(const Shutdown&, const Step& step) {
  state_.shutting_down = true;
  ++state_.revision;
  std::vector<Instance*> queue = state_.queue;
  if (state_.lending != nullptr) queue.push_back(state_.lending);
  for (Instance* load : queue) {
    waiters_.reject(*load, shutting_down(), step);
    lifecycle_.remove(*load, InstanceState::gone, step);
  }
  for (const auto& [id, instance] : state_.instances) {
    waiters_.reject(*instance, shutting_down(), step);
    if (instance->state == InstanceState::loading) {
      lifecycle_.abort(*instance, StopReason::shutdown, step);
    } else {
      lifecycle_.drain(*instance, StopReason::shutdown, step);
    }
  }
  return true;
}

}  // namespace corral::residency
