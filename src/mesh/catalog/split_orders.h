// Which of several orders to split one model counts. They were given to different nodes, some of which may have been
// cut off from the others then, and machines have no clock in common: so each order gets a number above those of all
// orders for that model that who gives it and who gets it have heard of. The highest counts, of equal ones (given on
// both sides of a cut) that of the node with the lower id. Every node that hears the same comes to the same. Pure.
//
// A number that is further above the next lower one than kMaxAhead is a mistake or a lie: it counts as the oldest, or
// nobody could ever give a newer order.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/catalog/catalog.h"
#include "mesh/catalog/hashed_since.h"

namespace corral::mesh {

inline constexpr std::uint64_t kMaxAhead = 1 << 20;

// As a node tells it that was told.
struct GivenSplit {
  NodeId host;
  SplitOrder order;
};

// Of one model, in any order; nullptr: there is none.
const GivenSplit* newest_of(std::vector<GivenSplit>& given);
// For a new one for this model at a node that knows this catalog: above all others. `asked`: what who gives it says;
// more than what others could believe is left out.
std::uint64_t next_stamp(const Catalog& catalog, const ContentKey& model, std::uint64_t asked = 0);

}  // namespace corral::mesh
