// Splits as the allotter and people need them, beside what the allocation says. Pure.
#pragma once

#include <optional>
#include <vector>

#include "mesh/allocation/allocation_input.h"

namespace corral::fleet {

// The plan that there is already can be kept: the same nodes as `planned`, the same host, and each still gives what its
// share takes. Predictions of memory move all the time.
bool still_does(const mesh::SplitPlan& plan, const mesh::SplitPlan& planned, const mesh::AllocationInput& situation);

// What could be had of each node: plans that aren't made show it, too.
bool have_same_room(const mesh::AllocationInput& before, const mesh::AllocationInput& now);

// Who hosts the model over just these nodes already, or was told to; nothing: nobody who can be told.
std::optional<mesh::NodeId> host_over(const mesh::Catalog& catalog, const mesh::ContentKey& model,
                                      std::vector<mesh::NodeId> nodes);

// A model over these nodes, as somebody wants it (`--split`); hosted by `host`, where it has been said and may. Errors:
// bad_split, which names the node at fault; model_not_found; nowhere: what is short by how much.
Result<mesh::SplitPlan> plan_by_hand(const mesh::AllocationInput& situation, const mesh::ContentKey& model,
                                     const std::vector<mesh::NodeId>& nodes,
                                     const std::optional<mesh::NodeId>& host = std::nullopt);

// What would be if the model were to be served now and everything else went: for `corral mesh plan MODEL`.
struct Foretold {
  std::optional<mesh::NodeId> alone;  // the node with most memory that can hold it by itself
  std::uint64_t need = 0, have = 0;   // of that node, or of the one with most memory; bytes
  mesh::SplitAnswer split;            // where none can
};
Foretold foretell(const mesh::AllocationInput& situation, const mesh::AllocationModel& model, double max_wait);

}  // namespace corral::fleet
