// Orders of users and configuration, except loads and pins: unload, cancellation, settings, shutdown.
#pragma once

#include "residency/core/adoption.h"
#include "residency/core/lifecycle.h"
#include "residency/core/pending_tickets.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Control {
 public:
  Control(State& state, PendingTickets& tickets, Lifecycle& lifecycle, Adoption& adoption, Waiters& waiters)
      : state_(state), tickets_(tickets), lifecycle_(lifecycle), adoption_(adoption), waiters_(waiters) {}

  // True: decisions may change.
  bool handle(const Unload& event, const Step& step);
  bool handle(const UnloadAll& event, const Step& step);
  bool handle(const EndInstance& event, const Step& step);
  bool handle(const CancelTicket& event, const Step& step);
  bool handle(const ChangeEviction& event, const Step& step);
  bool handle(const ChangeSettings& event, const Step& step);
  bool handle(const Shutdown& event, const Step& step);

 private:
  void unload(Instance& instance, const Step& step);
  void end_unwanted(Instance& load, const Step& step);

  State& state_;
  PendingTickets& tickets_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Waiters& waiters_;
};

}  // namespace corral::residency
