// What the parts get with each event: the time, and the list for the resulting actions.
#pragma once

#include <utility>

#include "residency/action.h"
#include "residency/types.h"

namespace corral::residency {

struct Step {
  Now now;
  ActionList& out;

  MonoTime time() const { return now.mono; }
  void act(Action action) const { out.push_back(std::move(action)); }
  void reject(TicketId ticket, Error error) const { out.push_back(Rejected{ticket, std::move(error)}); }
};

}  // namespace corral::residency
