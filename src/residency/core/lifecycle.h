// The life of an instance, from the queued load to the exit of its process. The only code that changes a state.
#pragma once

#include <cstdint>

#include "residency/core/pending_tickets.h"
#include "residency/core/preflight.h"
#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class Lifecycle {
 public:
  Lifecycle(State& state, Preflight& preflight, PendingTickets& tickets)
      : state_(state), preflight_(preflight), tickets_(tickets) {}

  // Creates a queued load of this model. The caller puts it into the queue, or lends it.
  Instance& add(const SpecPtr& spec, Now now);
  // Throws std::logic_error for a move that the table of instance_state.h doesn't have.
  void move(Instance& instance, InstanceState to);
  // Counts as a use, for the order of eviction.
  void touch(Instance& instance, Now now);

  // Starts the queued load.
  void start(Instance& load, const Step& step);
  // Kills the process of a load.
  void abort(Instance& load, StopReason reason, const Step& step);
  // Accepts no new requests and stops when the last one ends; at once if none runs.
  void drain(Instance& instance, StopReason reason, const Step& step);
  // The same, but it serves again if that load no longer needs its slot or memory.
  void drain_for_load(Instance& instance, StopReason reason, const Step& step);
  void undrain(Instance& instance);
  void stop(Instance& instance, const Step& step);
  // The process is gone, or there was none. Throws std::logic_error if requests still wait for it.
  void remove(Instance& instance, InstanceState last, const Step& step);

 private:
  void drain(Instance& instance, StopReason reason, bool for_good, const Step& step);
  void forget_if_empty(const ModelName& name);

  State& state_;
  Preflight& preflight_;
  PendingTickets& tickets_;
  std::uint64_t last_id_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace corral::residency
