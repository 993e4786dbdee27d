// The allocation: which model each node should have in memory for the mesh. Every node computes it from all node
// states, with the same result for any order of the input. There is no authority: a node acts on its own lines only,
// and its residency core decides. Pure; safe on every thread.
//
// A node without a model gets one, by the first of these priorities that gives one (Priority):
//   1. a model that can't run without it: only several nodes can hold it, and this node completes them
//   2. a model on its disk that no node serves
//   3. a model on its disk that is served and gets too many requests
//   4. as 2, then 3, but the node has to get the file first
//   5. the biggest model's group
// Within one priority: on disk > larger > alphabetical. Before all of them come models with requests that no node
// serves, most requests first, so that memory freed for such a model goes to no other one. Each priority is applied to
// all nodes before the next. Nodes with little memory choose first, so that large nodes remain for models that fit
// nowhere else. Each node sees what the nodes before it got, so several joiners spread.
//
// A worker uses all five. A member lends for 1 to 4, and only for models with requests or in `mesh_models`; a client
// lends nothing. A node has at most one model of the mesh, and a join moves no running model.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mesh/allocation/allocation_input.h"
#include "mesh/allocation/split_plan.h"

namespace corral::mesh {

enum class Priority : std::uint8_t { ordered, completes, unserved, capacity, fetch, biggest };
std::string_view name_of(Priority priority);

enum class Part : std::uint8_t {
  alone,    // serves it, as the first node
  replica,  // serves it too
  share,    // some layers of it
  standby,  // waits for its group: to be complete, or to be planned anew
};
std::string_view name_of(Part part);

enum class Fetch : std::uint8_t { none, copy, download };

// `why` is one sentence for people; `mesh why` shows it.
struct Assignment {
  NodeId node;
  ContentKey model;
  Part part = Part::alone;
  Fetch fetch = Fetch::none;
  std::optional<Priority> priority;  // nothing: the node has the model, and keeps it
  bool waits = false;                // until the memory is free
  std::string why;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

enum class UnloadCause : std::uint8_t {
  ordered,
  idle,
  wanted_elsewhere,  // for `for_model`
  recalled,          // by the node's owner
};
std::string_view name_of(UnloadCause cause);

// Takes effect once no request runs.
struct Unload {
  NodeId node;
  ContentKey model;
  UnloadCause cause = UnloadCause::idle;
  std::optional<ContentKey> for_model;
  std::string why;
  friend bool operator==(const Unload&, const Unload&) = default;
};

// A model to be split. The assignments name its nodes.
struct SplitDecision {
  ContentKey model;
  SplitPlan plan;
  bool waits = false;  // until its nodes have unloaded what they have
  friend bool operator==(const SplitDecision&, const SplitDecision&) = default;
};

enum class UnservedReason : std::uint8_t {
  ordered,    // to be unloaded
  resting,    // no request since it was unloaded for idleness
  not_asked,  // only members could hold it, and they lend for models with requests
  no_file,    // no node that could hold it has the file or can get it
  no_memory,  // neither one node nor all together have enough
  no_links,   // see SplitObstacle
  too_slow,
  taken,     // models with about as many requests, or ordered models, use the memory
  declined,  // nodes that could hold it failed to load it, or lost it, just now
};
std::string_view name_of(UnservedReason reason);

struct Unserved {
  ContentKey model;
  UnservedReason reason = UnservedReason::taken;
  std::uint64_t need = 0, have = 0;  // bytes; 0: not a matter of bytes
  std::string why;
  friend bool operator==(const Unserved&, const Unserved&) = default;
};

// Each list is sorted: by node, or by model.
struct Allocation {
  std::vector<Assignment> assignments;  // including what nodes have already
  std::vector<Unload> unloads;
  std::vector<SplitDecision> splits;
  std::vector<Unserved> unserved;  // neither served nor assigned
  std::vector<Unserved> unsplit;   // ordered splits that aren't over the ordered nodes now
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct AllocationRules {
  std::chrono::milliseconds idle_unload = std::chrono::minutes(30);  // `mesh_idle_unload`
  std::chrono::milliseconds quiet = std::chrono::seconds(60);        // idle for so long: another model may replace it
  double hot_per_hour = 60;                                          // requests for each server: one more server helps
  double worth = 2;       // a model replaces another one if it gets so many times as many requests
  double max_wait = 0.3;  // of a split, see SplitQuery
};

Allocation allocate(const AllocationInput& situation, const AllocationRules& rules = {});

}  // namespace corral::mesh
