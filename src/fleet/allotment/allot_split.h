// Splits for the allotter and for display, besides the allocation. Pure.
#pragma once

#include <optional>
#include <vector>

#include "mesh/allocation/allocation_input.h"

namespace corral::fleet {

// Whether the existing plan can be kept: its nodes and its host are those of `planned`, and each node still lends the
// memory of its share. Predictions of memory change all the time.
bool still_does(const mesh::SplitPlan& plan, const mesh::SplitPlan& planned, const mesh::AllocationInput& situation);

// Whether the available memory of each node is the same, which also matters for plans that fail.
bool have_same_room(const mesh::AllocationInput& before, const mesh::AllocationInput& now);

// The node that already hosts the model over exactly these nodes, or was ordered to; nullopt: no node that can get an
// order.
std::optional<mesh::NodeId> host_over(const mesh::Catalog& catalog, const mesh::ContentKey& model,
                                      std::vector<mesh::NodeId> nodes);

// A plan of a model over these nodes, by a user's order (`--split`); hosted by `host` if given and possible. Errors:
// bad_split, which names the node at fault; model_not_found; nowhere: what is short by how much, or another order that
// keeps a node, and how to end it.
Result<mesh::SplitPlan> plan_by_hand(const mesh::AllocationInput& situation, const mesh::ContentKey& model,
                                     const std::vector<mesh::NodeId>& nodes,
                                     const std::optional<mesh::NodeId>& host = std::nullopt);

// Prediction if the model were served now and all other models ended: for `corral mesh plan MODEL`.
struct PlanPrediction {
  std::optional<mesh::NodeId> alone;  // the node with the most memory that can hold it alone
  std::uint64_t need = 0, have = 0;   // of that node, or of the one with most memory; bytes
  mesh::SplitAnswer split;            // if no node can
};
PlanPrediction predict_plan(const mesh::AllocationInput& situation, const mesh::AllocationModel& model,
                            double max_wait);

}  // namespace corral::fleet
