// Decides which of several orders to split one model is valid. They may come from nodes that were cut off from each
// other, and machines have no common clock. So each order gets a number above all orders for that model that its giver
// and its receiver know. The highest number is valid; of equal ones (given on both sides of a cut) the order at the
// node with the lower id. All nodes with the same information get the same result. Pure.
//
// A number more than kMaxAhead above the next lower one is a mistake or a lie. It counts as the oldest, because
// otherwise no newer order would be possible.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/catalog/catalog.h"
#include "mesh/catalog/hashed_since.h"

namespace corral::mesh {

inline constexpr std::uint64_t kMaxAhead = 1 << 20;

// A split order, as announced by the node that got it.
struct GivenSplit {
  NodeId host;
  SplitOrder order;
};

// The valid order of one model, from orders in any sequence; nullptr: there is none.
const GivenSplit* newest_of(std::vector<GivenSplit>& given);
// The number of a new order for this model, above all in the catalog. `asked`: the giver's number, limited to
// kMaxAhead above the newest.
std::uint64_t next_stamp(const Catalog& catalog, const ContentKey& model, std::uint64_t asked = 0);

}  // namespace corral::mesh
