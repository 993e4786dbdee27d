// The plan that a group of nodes agrees on: the layers of a model at each node. Plain value; safe on every thread.
#pragma once

#include <compare>
#include <cstdint>

#include "mesh/allocation/split_plan.h"
#include "mesh/catalog/catalog.h"

namespace corral::mesh {

struct GroupPlan {
  ContentKey model;
  SplitPlan split;

  // In the order of claims: by id, so that two hosts that want the same nodes meet at the first of them.
  std::vector<NodeId> nodes() const;  // sorted
  const SplitShare* share_of(const NodeId& node) const;
};

// Equal for equal plans. Covers nodes, order and sizes, but no predictions.
Sha256 digest_of(const GroupPlan& plan);

// The number of a host's plan: the host's epoch, and the count of its tries in that epoch. Later ones are greater.
struct PlanTerm {
  std::uint64_t epoch = 0;
  std::uint64_t term = 0;
  friend auto operator<=>(const PlanTerm&, const PlanTerm&) = default;
};

// How grants are given, kept and ended.
struct GrantRules {
  Millis lease{10'000};       // of a grant that isn't renewed
  Millis renew{2500};         // time between two renewals by the host
  Millis stop_before{2000};   // the host stops so long before the end of a lease
  Millis answer{3000};        // a claim without an answer fails after this time
  Millis min_back_off{1000};  // after failed claims: random, up to twice, four times ... as much
  Millis max_back_off{60'000};
  Millis patience{5000};   // a node that was silent for less still counts as present
  Millis steady{60'000};   // an engine that ran for less has failed
  unsigned max_fails = 4;  // failed engines in a row until the nodes are released
  Millis recall{30'000};   // how long a recall waits for running requests
};

}  // namespace corral::mesh
