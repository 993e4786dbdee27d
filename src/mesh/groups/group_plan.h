// What a group of nodes is asked to agree on: who holds which layers of a model. Plain value; safe on every thread.
#pragma once

#include <compare>
#include <cstdint>

#include "mesh/allocation/split_plan.h"
#include "mesh/catalog/catalog.h"

namespace corral::mesh {

struct GroupPlan {
  ContentKey model;
  SplitPlan split;

  // Claims go by the ids of nodes, so that two hosts that want the same nodes meet at the first of them.
  std::vector<NodeId> nodes() const;  // sorted
  const SplitShare* share_of(const NodeId& node) const;
};

// Two plans with the same digest are the same: predictions don't count, nodes, order and sizes do.
Sha256 digest_of(const GroupPlan& plan);

// Which of a host's plans: its life (the boot epoch), and in it the how many-th try. Later ones are greater.
struct PlanTerm {
  std::uint64_t life = 0;
  std::uint64_t term = 0;
  friend auto operator<=>(const PlanTerm&, const PlanTerm&) = default;
};

// How grants are given, kept and ended.
struct GrantRules {
  Millis lease{10'000};         // of a grant that isn't renewed
  Millis renew{2500};           // a host asks again so often
  Millis stop_before{2000};     // before the end of a lease its host has begun to stop
  Millis answer{3000};          // a claim that isn't answered is given up
  Millis least_back_off{1000};  // after claims that came to nothing: by lot, up to twice, four times ... as much
  Millis most_back_off{60'000};
  Millis patience{5000};    // a node that isn't heard of for less is still there
  Millis steady{60'000};    // an engine that ran for less has failed
  unsigned most_fails = 4;  // of engines, one after the other, until the nodes are given back
  Millis recall{30'000};    // an owner who wants its memory back waits so long for requests that run
};

}  // namespace corral::mesh
