#include "residency/core/peer_requests.h"

#include <fmt/format.h>

#include "residency/cooldown.h"
#include "residency/errors.h"
#include "residency/lending.h"

namespace corral::residency {
namespace {

constexpr std::chrono::seconds kSoon{5};  // about the time until the load for another peer ends

std::optional<Error> cooling_for_peers(const std::optional<Failure>& failure, const ModelSpec& spec, MonoTime now) {
  const Millis left = cooling_left(failure, spec, now);
  if (left == Millis{0}) return std::nullopt;
  Error error = not_here(spec.name, fmt::format("it failed repeatedly: {}", failure->cause));
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(left);
  return error;
}

}  // namespace

PeerRequests::PeerRequests(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Leases& leases,
                           Waiters& waiters, MemoryWatch& watch)
    : state_(state),
      preflight_(preflight),
      lifecycle_(lifecycle),
      adoption_(adoption),
      leases_(leases),
      waiters_(waiters),
      watch_(watch) {}

bool PeerRequests::handle(const Acquire& event, const Step& step) {
  const ModelSpec& spec = *event.spec;
  const auto refuse = [&](Error error) {
    step.reject(event.ticket, std::move(error));
    return false;
  };
  if (auto error = refusal(spec, step.time())) return refuse(std::move(*error));
  const Model* model = state_.find(spec.name);
  Instance* current = model == nullptr ? nullptr : model->current;
  if (current != nullptr && serves(current->state)) {
    leases_.grant(*current, event.ticket, RequestOrigin::peer, step);
    return false;
  }
  Instance* load = current != nullptr || model == nullptr ? current : model->pending;
  const bool joins = load != nullptr && (load == state_.lending || load->state == InstanceState::loading);
  if (joins && waiters_.has_all_peers(*load))
    return refuse(not_here(spec.name, "too many peer requests already wait for it"));
  if (joins) {
    waiters_.add(*load, {event.ticket, true, event.spec});
    return false;
  }
  if (auto error = load_refusal(spec, model, step.time())) return refuse(std::move(*error));
  Instance& lent = lifecycle_.add(event.spec, step.now);
  lent.lent = true;
  adoption_.set_eviction(lent, spec.eviction);
  state_.lending = &lent;
  waiters_.add(lent, {event.ticket, true, event.spec});
  return true;
}

bool PeerRequests::may_share(const Instance& instance, RequestOrigin origin, MonoTime now) const {
  if (origin == RequestOrigin::peer) return !refusal(*instance.spec, now);
  const Place place = place_for(state_, instance);
  return !place.is_free && place.victim == nullptr;
}

// Applies also if the model is in memory.
std::optional<Error> PeerRequests::refusal(const ModelSpec& spec, MonoTime now) const {
  if (state_.shutting_down) return not_here(spec.name, "this machine is shutting down");
  const Model* model = state_.find(spec.name);
  return model == nullptr ? std::nullopt : cooling_for_peers(model->lent_crashes, spec, now);
}

// Why no load may start for it.
std::optional<Error> PeerRequests::load_refusal(const ModelSpec& spec, const Model* model, MonoTime now) const {
  if (model != nullptr && model->current != nullptr) return not_here(spec.name, "its instance is stopping");
  if (model != nullptr && model->pending != nullptr) return not_here(spec.name, "its local load waits in the queue");
  if (spec.joins_only) return not_standing(spec.name);
  if (state_.settings.lend_share <= 0) return not_here(spec.name, "this machine lends no memory");
  if (state_.loader != nullptr || !state_.queue.empty() || state_.lending != nullptr) return busy_loading(spec.name);
  if (model == nullptr) return std::nullopt;
  for (const auto* failure : {&model->failure, &model->crashes, &model->lent_failure}) {
    if (auto error = cooling_for_peers(*failure, spec, now)) return error;
  }
  return std::nullopt;
}

Error PeerRequests::busy_loading(const ModelName& model) const {
  Error error = not_here(model, "another model loads");
  const Instance* loader = state_.loader;
  const bool for_peers = loader == nullptr || (loader->lent && is_for_peers_only(*loader));
  if (!state_.queue.empty() || !for_peers) return error;
  error.facts = SoonHere();
  error.retry_after = kSoon;
  return error;
}

void PeerRequests::drop_load(const Error& error, const Step& step) {
  Instance& load = *state_.lending;
  waiters_.reject(load, error, step);
  lifecycle_.remove(load, InstanceState::gone, step);
}

void PeerRequests::give_way(const ModelName& name, const Step& step) {
  if (state_.lending == nullptr || state_.lending->spec->name != name) return;
  drop_load(not_here(name, "a local request loads it"), step);
}

void PeerRequests::advance(const Step& step) {
  if (state_.lending == nullptr) return;
  Instance& load = *state_.lending;
  const ModelName& name = load.spec->name;
  if (!state_.queue.empty() || state_.loader != nullptr)
    return drop_load(not_here(name, "a local request loads another model"), step);
  if (step.time() - load.queued_at >= state_.settings.lend_wait)
    return drop_load(not_here(name, "no memory became free for it in time"), step);
  if (!Preflight::is_known(load)) return preflight_.ask(load, step);
  const LentEvictionPlan plan = find_lent_room(state_, load, step.time());
  if (plan.refused) return drop_load(*plan.refused, step);
  if (plan.stale) return watch_.ask(step);
  const bool acts = !plan.victims.empty() || plan.is_there();
  if (acts && !preflight_.is_fresh(load, step.time())) return preflight_.ask(load, step);
  for (Instance* victim : plan.victims) lifecycle_.drain(*victim, StopReason::lend, step);
  if (plan.is_there()) lifecycle_.start(load, step);
}

}  // namespace corral::residency
