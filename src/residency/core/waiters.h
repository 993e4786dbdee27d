// The requests and explicit loads that wait for a load, and their answers.
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
  // Moves all of them, in front of those at `to`.
  void move_to_front(Instance& from, Instance& to);
  void move_to_back(Instance& from, Instance& to);
  // No caller waits for this ticket any longer. Returns the load that it waited for; nullptr: it waited for none.
  Instance* cancel(TicketId ticket);

  // Completes the waiters of `from` with the instance `with`; `only_leases`: explicit loads keep waiting.
  void serve(Instance& from, Instance& with, bool only_leases, const Step& step);
  void reject(Instance& load, const Error& error, const Step& step);
  // Only those that requested these options. True if there were any.
  bool reject_askers(Instance& load, std::uint64_t options, const Error& error, const Step& step);
  void reject_peers(Instance& load, const std::string& why, const Step& step);
  // True if the maximum number of peer requests waits for it.
  bool has_all_peers(const Instance& load) const;

 private:
  void move(Instance& from, Instance& to, std::vector<Waiter>::iterator where);
  bool reject_if(Instance& load, auto predicate, const Error& error, const Step& step);

  State& state_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Leases& leases_;
};

// The waiter whose options the load takes if its own fail: the newest explicit load, else the newest request.
// Precondition: there is a waiter.
const Waiter& newest_waiter(const Instance& load);

}  // namespace corral::residency
