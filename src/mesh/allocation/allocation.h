// What each node should have in memory for the mesh: computed by each node from what all say, the same for any order of
// the input. There is no authority: a node acts on its own lines only, and its residency core has the last word. Pure;
// safe on every thread.
//
// A node without a model gets one, by the first of these that gives one (Priority):
//   1. a model that can't run without it: several nodes have to hold it, and this one completes them
//   2. a model that nobody serves, on its disk
//   3. a model that is served and is asked for too much, on its disk
//   4. as 2, then 3, where it has to get the file first
//   5. the biggest model's group
// Within one: on disk > larger > alphabetical. Before that only: what requests ask for in vain, most of all,
// since memory that was taken away for it must not go to another. Each priority is gone through for all nodes before
// the next. Nodes with little memory choose first, so that the roomy ones are left for what only they can hold; each
// sees what those before it got, so several joiners spread.
//
// A worker goes through all five. A member gives what it lends to 1 to 4, and only to what somebody asks for or wishes;
// a client gives nothing. Nobody has two models of the mesh at a time, and nobody who works is moved for a newcomer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mesh/allocation/allocation_input.h"
#include "mesh/allocation/split_plan.h"

namespace corral::mesh {

enum class Priority : std::uint8_t { told, completes, unserved, capacity, fetch, biggest };
std::string_view name_of(Priority priority);

enum class Part : std::uint8_t {
  alone,    // serves it, the first one to do so
  replica,  // serves it too
  share,    // some layers of it
  standby,  // waits for its group: to be complete, or to be planned anew
};
std::string_view name_of(Part part);

enum class Fetch : std::uint8_t { none, copy, download };

// Words are one sentence for people; `mesh why` shows them.
struct Assignment {
  NodeId node;
  ContentKey model;
  Part part = Part::alone;
  Fetch fetch = Fetch::none;
  std::optional<Priority> priority;  // nothing: it has it, and keeps it
  bool waits = false;                // till others have given back what is in the way
  std::string why;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

enum class UnloadCause : std::uint8_t {
  told,
  idle,
  wanted_elsewhere,  // for `for_model`
  recalled,          // by the node's owner
};
std::string_view name_of(UnloadCause cause);

// Once nothing runs on it: nobody is yanked in the middle of a request.
struct Unload {
  NodeId node;
  ContentKey model;
  UnloadCause cause = UnloadCause::idle;
  std::optional<ContentKey> for_model;
  std::string why;
  friend bool operator==(const Unload&, const Unload&) = default;
};

// A model to be split. The nodes stand in the assignments.
struct SplitDecision {
  ContentKey model;
  SplitPlan plan;
  bool waits = false;  // till nodes in it have given back what they have
  friend bool operator==(const SplitDecision&, const SplitDecision&) = default;
};

enum class UnservedReason : std::uint8_t {
  told,       // to be unloaded
  resting,    // nobody has asked for it since it was given back
  not_asked,  // only members could, and they lend to what is asked for
  no_file,    // nobody has it, or gives it to who could hold it
  no_memory,  // no node, nor all together, has so much
  no_links,   // see SplitObstacle
  too_slow,
  taken,     // by what is worth more
  declined,  // by nodes that failed to load it, or lost it, just now
};
std::string_view name_of(UnservedReason lack);

struct Unserved {
  ContentKey model;
  UnservedReason lack = UnservedReason::taken;
  std::uint64_t need = 0, have = 0;  // bytes; 0: not a matter of bytes
  std::string why;
  friend bool operator==(const Unserved&, const Unserved&) = default;
};

// Each list is sorted: by node, or by model.
struct Allocation {
  std::vector<Assignment> assignments;  // what nodes have already, too
  std::vector<Unload> unloads;
  std::vector<SplitDecision> splits;
  std::vector<Unserved> unserved;  // neither served nor assigned
  std::vector<Unserved> unsplit;   // to be held by nodes that somebody has named, and served otherwise meanwhile
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct AllocationRules {
  std::chrono::milliseconds idle_unload = std::chrono::minutes(30);  // `mesh_idle_unload`
  std::chrono::milliseconds quiet = std::chrono::seconds(60);        // idle for so long: may go for another model
  double hot_per_hour = 60;                                          // requests for each that serves it: one more gains
  double worth = 2;       // a model has to be asked for so many times as often as the one that goes for it
  double max_wait = 0.3;  // of a split, see SplitQuery
};

Allocation allocate(const AllocationInput& situation, const AllocationRules& rules = {});

}  // namespace corral::mesh
