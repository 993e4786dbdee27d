// The requests and explicit loads that wait for a load, and how they are answered.
#pragma once

#include <string>
#include <vector>

#include "residency/core/adoption.h"
#include "residency/core/leases.h"
#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class Waiters {
 public:
  Waiters(State& state, Lifecycle& lifecycle, Adoption& adoption, Leases& leases)
      : state_(state), lifecycle_(lifecycle), adoption_(adoption), leases_(leases) {}

  void add(Instance& load, Waiter waiter);
  // All of them, in front of those at `to`.
  void move_to_front(Instance& from, Instance& to);
  void move_to_back(Instance& from, Instance& to);
  // Nobody waits for this ticket any more. The load that it waited for; nullptr: it waits for none.
  Instance* cancel(TicketId ticket);

  // Those who wait for `from` get what they want of the instance `with`; `only_leases`: explicit loads go on waiting.
  void serve(Instance& from, Instance& with, bool only_leases, const Step& step);
  void reject(Instance& load, const Error& error, const Step& step);
  // Only those who asked for these options. True if there were any.
  bool reject_askers(Instance& load, std::uint64_t options, const Error& error, const Step& step);
  void reject_peers(Instance& load, const std::string& why, const Step& step);
  // As many peers wait for it as may.
  bool has_all_peers(const Instance& load) const;

 private:
  void move(Instance& from, Instance& to, std::vector<Waiter>::iterator where);
  bool reject_if(Instance& load, auto whom, const Error& error, const Step& step);

  State& state_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Leases& leases_;
};

// Whose options the load has if its own won't do: those of the newest explicit load, else of the newest request.
// Precondition: somebody waits.
const Waiter& newest_wish(const Instance& load);

}  // namespace corral::residency
