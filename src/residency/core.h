// The decision core: which models are in memory, which are evicted, which loads wait. A pure state machine without I/O,
// threads, clock or log. Every event carries the time; every consequence is an action in a list.
//
// The router calls it from one thread at a time (a strand or loop) and runs the actions. No call blocks.
//
// The rules in short, and the files that implement them:
// - One load at a time, first come first served. Loads of one model are one load with several waiters
//   (core/load_queue.h, core/waiters.h).
// - Victims are chosen when the load's turn comes: idle before busy, least recently used first, pinned never,
//   except with `nuclear_evicts_pinned` (eviction_plan.h, npu_rule.h).
// - Busy victims accept new requests for `swap_patience`, then they drain; further requests wait for a new load. A load
//   that waits for a draining victim lets later loads pass that need none of its slots or memory
//   (core/load_scheduler.h, queue_reservations.h).
// - The waiters' leases are granted in the step in which the load completes (core/process_events.h).
// - No victim stops for a load without a fresh preflight of its files and memory need (core/preflight.h).
// - A load starts when its predicted memory is free. For memory, idleness and pressure, models are evicted by their
//   eviction score (reclaim.h, eviction_plan_memory.cpp, core/reclaimer.h).
// - After a failed load all other models are evicted, and it is tried once more; faults of the model itself evict
//   nothing. A model that repeatedly fails to load, or crashes under requests, cools down (core/failures.h,
//   cooldown.h).
// - Peers of a mesh get what no local request needs, and lose it when a local request needs it (lending.h,
//   core/peer_requests.h, core/recalls.h). Without peers these rules have no effect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "residency/action.h"
#include "residency/event.h"
#include "residency/outlook.h"
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

  // `pins`: the models that the configuration pins.
  explicit Core(Settings settings, const std::set<ModelName>& pins = {});
  Core(Core&&) noexcept;
  ~Core();

  // Handles one event: changes the state and appends actions to `out`.
  void handle(const Event& event, Now now, ActionList& out);

  // Fast path of Acquire for a model that is ready, without an event. Empty: the model isn't ready, send Acquire.
  std::optional<Lease> try_acquire(const ModelName& model, Now now, RequestOrigin origin = RequestOrigin::local);
  // The same as ReturnLease.
  void release(LeaseId lease, Now now, ActionList& out);

  // Whether a load that started now might evict or downsize another model. Also true if the last memory sample is too
  // old, and while other loads wait or run. Changes nothing.
  bool may_evict(const SpecPtr& spec, Now now) const;
  // What further loads would evict or downsize. Changes nothing.
  Outlook outlook(Now now) const;

  const State& state() const;
  Snapshot snapshot(Now now) const { return take_snapshot(state(), now); }
  // Grows with every change that watchers need (not with requests that start and end on a ready instance).
  std::uint64_t revision() const { return state().revision; }

 private:
  void advance(const Step& step);

  std::unique_ptr<CoreParts> parts_;
};

}  // namespace corral::residency
