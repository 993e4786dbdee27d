// The effects of the core of groups, in order.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "mesh/groups/grant_wire.h"

namespace corral::mesh {

// Over the link to that node; dropped without a link.
struct SendMessage {
  NodeId to;
  GroupMessage message;
};

// As host. engine_ended() reports the end of each, engine_drained() before that the end of a drain.
struct StartEngine {
  GroupPlan plan;
  PlanTerm of;
};
struct DrainEngine {  // running requests finish, new ones wait
  PlanTerm of;
  std::optional<Millis> within;  // requests that run longer end with an error
};
struct StopEngine {  // at once
  PlanTerm of;
};

// As a node that grants its memory. worker_reaped() reports the end of a reap.
struct OpenWorker {  // for this host only
  NodeId host;
  GrantRequest grant;
};
struct ReapWorker {
  NodeId host;
  PlanTerm of;
};
// Must be on the disk before any later effect: this node needs it after a restart.
struct RememberHolder {
  std::optional<NodeId> host;
};

using GroupEffect =
    std::variant<SendMessage, StartEngine, DrainEngine, StopEngine, OpenWorker, ReapWorker, RememberHolder>;
using GroupEffects = std::vector<GroupEffect>;

}  // namespace corral::mesh
