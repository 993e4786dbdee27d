// What hosts and the nodes that grant themselves say to each other: one frame each (FrameKind::grant). Whatever gets
// lost is said again or runs out; what comes late or twice changes nothing. Pure.
#pragma once

#include <string_view>
#include <variant>

#include "mesh/groups/group_plan.h"
#include "mesh/link/frame.h"

namespace corral::mesh {

// Host → node: be mine for this plan, or stay it.
struct GrantRequest {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;  // of the host, rising; comes back in the answer
  Sha256 plan{};            // its digest
  std::uint64_t bytes = 0;  // of the node's share
  friend bool operator==(const GrantRequest&, const GrantRequest&) = default;
};

enum class GrantDecision : std::uint8_t {
  granted = 1,
  taken = 2,       // by another host, or for another plan
  reaping = 3,     // what ran for the last plan is being ended
  recalled = 4,    // its owner wants the memory
  settling = 5,    // it has just started, and a grant of its last life may still be believed in
  too_little = 6,  // it doesn't lend so much
  too_often = 7,   // this host had it again and again just now
};
std::string_view name_of(GrantDecision verdict);

// Node → host.
struct GrantResponse {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;
  GrantDecision verdict = GrantDecision::taken;
  std::uint32_t lease_ms = 0;  // since the question was sent, by the host's clock
  friend bool operator==(const GrantResponse&, const GrantResponse&) = default;
};

// Host → node: I don't need you any more; nothing that was asked before this stamp counts.
struct GrantRelease {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;
  friend bool operator==(const GrantRelease&, const GrantRelease&) = default;
};

// Node → host: my owner needs the memory. Let what runs end, and return it.
struct GrantRecall {
  ContentKey model;
  PlanTerm of;
  std::uint32_t within_ms = 0;
  friend bool operator==(const GrantRecall&, const GrantRecall&) = default;
};

using GroupMessage = std::variant<GrantRequest, GrantResponse, GrantRelease, GrantRecall>;

Frame to_frame(const GroupMessage& message);
// Errors: malformed. Bytes of later versions behind the fields are passed over.
Result<GroupMessage> read_group_message(std::string_view payload);

}  // namespace corral::mesh
