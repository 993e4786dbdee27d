#include "residency/core/load_queue.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "residency/errors.h"
#include "residency/eviction_plan.h"

namespace corral::residency {
namespace {

// Retry-After while no load time is known.
constexpr std::chrono::seconds kQueueFullRetry{5};

// The queue gets shorter when the running load ends: after the mean load time.
std::chrono::seconds mean_load_time(const State& state) {
  Millis sum{0};
  std::int64_t known = 0;
  for (const auto& [id, instance] : state.instances) {
    if (instance->load_duration <= Millis(0)) continue;
    sum += instance->load_duration;
    ++known;
  }
  if (known == 0) return kQueueFullRetry;
  return std::max(std::chrono::ceil<std::chrono::seconds>(sum / known), std::chrono::seconds(1));
}

}  // namespace

Instance& LoadQueue::enqueue(const SpecPtr& spec, Now now) {
  Instance& load = lifecycle_.add(spec, now);
  state_.queue.push_back(&load);
  return load;
}

Instance& LoadQueue::enqueue_again(const Instance& failed, Now now) {
  Instance& next = enqueue(failed.spec, now);
  next.queued_at = failed.queued_at;
  next.eviction = failed.eviction;  // may have changed since
  next.explicit_options = failed.explicit_options;
  next.attempt = failed.attempt + 1;
  next.checked_at = failed.checked_at;
  next.check_took = failed.check_took;
  for (const auto& [id, instance] : state_.instances) {
    if (instance.get() != &failed && drives_out(state_, *instance)) next.first_to_go.push_back(id);
  }
  std::ranges::rotate(state_.queue, std::prev(state_.queue.end()));
  return next;
}

void LoadQueue::follow(Instance& load, const Waiter& waiter) {
  load.spec = waiter.spec;
  load.eviction = waiter.spec->eviction;
  load.explicit_options = !waiter.wants_lease;
  load.pin = waiter.pin;
  load.promise.reset();
}

void LoadQueue::absorb(Instance& queued, Instance& running, const Step& step) {
  waiters_.move_to_back(queued, running);
  if (queued.pin) running.pin = queued.pin;
  lifecycle_.remove(queued, InstanceState::gone, step);
}

bool LoadQueue::can_be_joined(const Instance& load) {
  const bool retries =
      load.state == InstanceState::evicting && load.leaving == StopReason::deadline && !load.waiters.empty();
  return load.state == InstanceState::loading || retries;
}

bool LoadQueue::refuse_if_full(TicketId ticket, const Step& step) const {
  std::size_t waiting = state_.waiting.size();
  for (const Instance* load : {state_.loader, state_.lending}) {
    if (waiting < state_.settings.max_queued) return false;
    if (load == nullptr) continue;
    waiting -= static_cast<std::size_t>(std::ranges::count_if(load->waiters, &Waiter::is_peer));
  }
  if (waiting < state_.settings.max_queued) return false;
  Error error(errc::queue_full, fmt::format("the load queue is full ({} requests wait): retry later", waiting));
  error.retry_after = mean_load_time(state_);
  step.reject(ticket, std::move(error));
  return true;
}

bool LoadQueue::comes_back(const Instance& load) const {
  const Instance* current = state_.find(load.spec->name)->current;
  if (current == nullptr || current->state != InstanceState::draining || current->leaving_for_good) return false;
  return !load.explicit_options || load.spec->options == current->spec->options;
}

}  // namespace corral::residency
