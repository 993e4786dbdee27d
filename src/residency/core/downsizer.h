// Downsizes idle instances: the engine frees KV and compute buffers, the weights stay.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/pending_tickets.h"
#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Downsizer {
 public:
  Downsizer(State& state, Lifecycle& lifecycle, PendingTickets& tickets)
      : state_(state), lifecycle_(lifecycle), tickets_(tickets) {}

  void downsize(Instance& instance, const Step& step);
  // A downsize without an answer within `memory_wait` counts as failed.
  void give_up_overdue(const Step& step);
  // True: decisions may change.
  bool handle(const Downsized& event, const Step& step) { return end(event.instance, true, step); }
  bool handle(const DownsizeFailed& event, const Step& step) { return end(event.instance, false, step); }

 private:
  bool end(InstanceId id, bool done, const Step& step);
  void refused(Instance& instance);

  State& state_;
  Lifecycle& lifecycle_;
  PendingTickets& tickets_;
};

}  // namespace corral::residency
