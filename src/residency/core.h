// The decision core: which models are in memory, which are evicted, which loads wait. A pure state machine: it has no
// I/O, no threads, no clock and no log of its own; every event comes with the time, every consequence is an action in a
// list.
//
// The shell calls it from one thread at a time (one strand or loop) and runs the actions. No call waits for anything.
//
// The rules in short, and where each has its place:
//   - One load at a time, first come first served; loads of one model are one load with several waiters
//   (core/load_queue.h, core/waiters.h).
//   - Victims are chosen when the load's turn comes. Idle before busy, least recently used first, pinned never
//   (eviction_plan.h, npu_rule.h).
//   - Busy victims take newcomers for `swap_patience`, then they drain; requests that can't be granted meanwhile wait
//   for a new load. A load that waits for a draining victim lets later loads pass that can be decided without it
//   (core/load_scheduler.h, queue_reservations.h).
//   - The waiters' leases are granted in the step in which the load completes (core/process_events.h).
//   - No victim stops for a load whose files and needs haven't been checked just now (core/preflight.h).
//   - A load starts when its predicted memory is free. For memory, idleness and pressure models are evicted by their
//   eviction score (reclaim.h, eviction_plan_memory.cpp, core/reclaimer.h).
//   - A failed load evicts all other models and is tried once more; faults of the model itself evict nothing. A model
//   that fails to load, or ends under requests, again and again cools down (core/failures.h, cooldown.h).
//   - Peers of a mesh get what no local request needs, and give it back when one does (lending.h,
//   core/peer_requests.h, core/recalls.h). Without peers nothing of that is seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "residency/action.h"
#include "residency/event.h"
#include "residency/snapshot.h"
#include "residency/state.h"

namespace corral::residency {

struct CoreParts;
struct Step;

class Core {
 public:
  struct Lease {
    LeaseId id;
    InstanceId instance;
  };

  // `pins`: the models that configuration says are pinned.
  explicit Core(Settings settings, const std::set<ModelName>& pins = {});
  Core(Core&&) noexcept;
  ~Core();

  // One event: changes the state and appends what is to be done to `out`.
  void handle(const Event& event, Now now, ActionList& out);

  // The short way for a request to a model that is ready: the same as Acquire, without building an event. Nothing: the
  // model isn't ready, send Acquire.
  std::optional<Lease> try_acquire(const ModelName& model, Now now, RequestOrigin origin = RequestOrigin::local);
  // The same as ReturnLease.
  void release(LeaseId lease, Now now, ActionList& out);

  // Whether a load that began now might evict or downsize another model. Also true if the last sample of the memory is
  // too old to tell, and while other loads wait or run. Changes nothing.
  bool may_evict(const SpecPtr& spec, Now now) const;

  const State& state() const;
  Snapshot snapshot(Now now) const { return take_snapshot(state(), now); }
  // Grows with every change that is worth telling (not with requests that come and go on a ready instance).
  std::uint64_t revision() const { return state().revision; }

 private:
  void advance(const Step& step);

  std::unique_ptr<CoreParts> parts_;
};

}  // namespace corral::residency
