// What the core of groups wants done, in order.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "mesh/groups/grant_wire.h"

namespace corral::mesh {

// The message goes out over the link to that node; dropped if there is none.
struct SendMessage {
  NodeId to;
  GroupMessage message;
};

// As host. Each is answered by engine_ended(), a drain by engine_drained() before.
struct StartEngine {
  GroupPlan plan;
  PlanTerm of;
};
struct DrainEngine {  // what runs ends by itself, what comes waits and is told
  PlanTerm of;
  std::optional<Millis> within;  // then what still runs ends with an error
};
struct StopEngine {  // at once
  PlanTerm of;
};

// As a node that grants itself. A reap is answered by worker_reaped().
struct OpenWorker {  // for this host only
  NodeId host;
  GrantRequest grant;
};
struct ReapWorker {
  NodeId host;
  PlanTerm of;
};
// To be on the disk before any later effect: the next life of this node has to know.
struct RememberHolder {
  std::optional<NodeId> host;
};

using GroupEffect =
    std::variant<SendMessage, StartEngine, DrainEngine, StopEngine, OpenWorker, ReapWorker, RememberHolder>;
using GroupEffects = std::vector<GroupEffect>;

}  // namespace corral::mesh
