#include "residency/core/local_requests.h"

#include "residency/cooldown.h"
#include "residency/errors.h"
#include "residency/lending.h"

namespace corral::residency {
namespace {

// The model is in memory, but drains or stops.
bool is_leaving(const Instance* current) {
  if (current == nullptr || is_given_up(*current)) return false;
  return current->state == InstanceState::draining || current->state == InstanceState::evicting;
}

}  // namespace

bool LocalRequests::handle(const Acquire& event, const Step& step) {
  const ModelSpec& spec = *event.spec;
  if (!spec.joins_only) peers_.give_way(spec.name, step);
  const Model* model = state_.find(spec.name);
  Instance* current = model == nullptr ? nullptr : model->current;
  Instance* pending = model == nullptr ? nullptr : model->pending;
  if (current != nullptr && serves(current->state)) {
    const bool adopts = current->lent && adoption_.adopt(*current, step);
    leases_.grant(*current, event.ticket, RequestOrigin::local, step);
    return adopts;
  }
  if (queue_.refuse_if_full(event.ticket, step)) return false;
  if (current != nullptr && LoadQueue::can_be_joined(*current)) {
    const bool adopts = current->lent && adoption_.adopt(*current, step);
    waiters_.add(*current, {event.ticket, true, event.spec});
    return adopts;
  }
  const Waiter waiter{event.ticket, true, event.spec, {}, is_leaving(current)};
  if (pending != nullptr) {
    waiters_.add(*pending, waiter);
    return false;
  }
  if (auto error = load_refusal(spec, step.time())) {
    step.reject(event.ticket, std::move(*error));
    return false;
  }
  waiters_.add(queue_.enqueue(event.spec, step.now), waiter);
  return true;
}

// Why no load may start for it.
std::optional<Error> LocalRequests::load_refusal(const ModelSpec& spec, MonoTime now) const {
  if (state_.shutting_down) return shutting_down();
  const Model* model = state_.find(spec.name);
  auto cooling = model == nullptr ? std::nullopt : cooling_down(*model, spec, now);
  if (!cooling && spec.joins_only) return not_standing(spec.name);
  return cooling;
}

}  // namespace corral::residency
