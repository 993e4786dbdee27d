// The messages between hosts and the nodes that grant memory: one frame each (FrameKind::grant). A lost message is sent
// again, or the lease ends; late and repeated messages change nothing. Pure.
#pragma once

#include <string_view>
#include <variant>

#include "mesh/groups/group_plan.h"
#include "mesh/link/frame.h"

namespace corral::mesh {

// Host → node: grant your memory for this plan, or renew the grant.
struct GrantRequest {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;  // of the host, rising; the answer repeats it
  Sha256 plan{};            // its digest
  std::uint64_t bytes = 0;  // of the node's share
  friend bool operator==(const GrantRequest&, const GrantRequest&) = default;
};

enum class GrantDecision : std::uint8_t {
  granted = 1,
  taken = 2,       // by another host, or for another plan
  reaping = 3,     // the worker of the last plan is still ending
  recalled = 4,    // the owner needs the memory
  settling = 5,    // it just started, and another host may still use a grant from before
  too_little = 6,  // it lends less memory
  too_often = 7,   // this host claimed it too often just now
};
std::string_view name_of(GrantDecision verdict);

// Node → host.
struct GrantResponse {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;
  GrantDecision verdict = GrantDecision::taken;
  std::uint32_t lease_ms = 0;  // from the moment the request was sent, by the host's clock
  friend bool operator==(const GrantResponse&, const GrantResponse&) = default;
};

// Host → node: release the grant; requests before this stamp are void.
struct GrantRelease {
  ContentKey model;
  PlanTerm of;
  std::uint64_t stamp = 0;
  friend bool operator==(const GrantRelease&, const GrantRelease&) = default;
};

// Node → host: the owner needs the memory. Drain, and release the grant.
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
