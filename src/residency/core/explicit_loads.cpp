#include "residency/core/explicit_loads.h"

#include "residency/errors.h"

namespace corral::residency {

ExplicitLoads::ExplicitLoads(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Pins& pins,
                             Waiters& waiters, LoadQueue& queue, PeerRequests& peers)
    : state_(state),
      preflight_(preflight),
      lifecycle_(lifecycle),
      adoption_(adoption),
      pins_(pins),
      waiters_(waiters),
      queue_(queue),
      peers_(peers) {}

bool ExplicitLoads::handle(const Load& event, const Step& step) {
  const ModelSpec& spec = *event.spec;
  peers_.give_way(spec.name, step);
  const Model* model = state_.find(spec.name);
  Instance* current = model == nullptr ? nullptr : model->current;
  Instance* load = model == nullptr ? nullptr : model->pending;
  const bool same = current != nullptr && current->spec->options == spec.options;
  const bool serves_now = same && serves(current->state);
  const bool joins = same && LoadQueue::can_be_joined(*current);
  if ((serves_now || joins) && event.pin == true && pins_.refuse(*current, event.ticket, step)) return false;
  if (serves_now && load == nullptr) {
    keep(*current, event, step);
    return true;
  }
  if (queue_.refuse_if_full(event.ticket, step)) return false;
  // An instance that will be unloaded after its load doesn't satisfy this one: the model is loaded again.
  if (joins && !current->unload_when_loaded) {
    if (load != nullptr) queue_.absorb(*load, *current, step);
    adoption_.adopt(*current, step);
    load = current;
  }
  const bool new_options = load == nullptr || load->spec->options != spec.options;
  if (new_options && state_.shutting_down) {
    step.reject(event.ticket, shutting_down());
    return false;
  }
  if (load == nullptr) load = &queue_.enqueue(event.spec, step.now);
  change(*load, event, step);
  waiters_.add(*load, {event.ticket, false, event.spec, event.pin});
  return true;
}

// The model is in memory with these options.
void ExplicitLoads::keep(Instance& current, const Load& event, const Step& step) {
  if (event.pin == true) adoption_.make_local(current);
  adoption_.adopt(current, step);
  adoption_.set_eviction(current, event.spec->eviction);
  lifecycle_.touch(current, step.now);
  step.act(Loaded{event.ticket, current.id, true});
  if (event.pin) pins_.set(event.spec->name, *event.pin, std::nullopt, step);
}

// The newest load wins: it changes a queued load, and the preflight of the old options is void.
void ExplicitLoads::change(Instance& load, const Load& event, const Step& step) {
  const ModelSpec& spec = *event.spec;
  const bool same_options = load.spec->options == spec.options;
  if (!same_options) {
    load.attempt = 1;
    load.first_to_go.clear();
  }
  // The result of a check of the same options stays valid.
  if (load.state == InstanceState::queued && !(spec.to_check && same_options)) {
    if (load.spec->memory != spec.memory) load.promise.reset();  // it was for another memory need
    if (load.spec != event.spec) preflight_.drop(load, step);
    load.spec = event.spec;
  }
  adoption_.set_eviction(load, spec.eviction);
  load.explicit_options = true;
  if (event.pin) load.pin = event.pin;
}

}  // namespace corral::residency
