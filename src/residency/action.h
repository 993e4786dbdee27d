// The core's output: actions. The router runs them in order; none of them may block inside the call.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "residency/types.h"

namespace corral::residency {

// Check the files of this load and predict its memory need. Sent when a load enters the queue, and again before it
// evicts a model if the last check is old. Answer: LoadChecked or CheckFailed with this number. At most one runs for
// each instance.
struct CheckLoad {
  InstanceId instance;
  std::uint64_t check = 0;
  SpecPtr spec;
};
// The result is no longer needed.
struct DropCheck {
  InstanceId instance;
};
// Start a process for this model. Answer: LoadSucceeded, LoadFailed or InstanceDied.
struct StartLoad {
  InstanceId instance;
  SpecPtr spec;
  int attempt = 1;  // 2: the second and last one, after the eviction of all others
};
// Kill the loading process. Answer: InstanceStopped.
struct AbortLoad {
  InstanceId instance;
  StopReason reason = StopReason::cancelled;
};
// Stop an idle process, by force after the router's own time limit. Answer: InstanceStopped.
struct StopInstance {
  InstanceId instance;
  StopReason reason = StopReason::none;
};
// The holder of this share (ModelSpec::share) must release it. The share stops after its release, and after
// `recall_grace` at the latest. Sent once.
struct Recall {
  InstanceId instance;
};

// Free the memory that an idle process needs only for requests. Answer: Downsized or DownsizeFailed. Requests and
// StopInstance may come before the answer.
struct Downsize {
  InstanceId instance;
};
// Measure the free memory within milliseconds. Answer: MemorySampled; a regular sample that arrives first counts too.
struct SampleMemory {};
// Start or stop sending MemorySampled every few seconds. Off at the beginning.
struct WatchMemory {
  bool on = false;
};

// Answers to tickets: exactly one for each, none after CancelTicket.
struct Granted {
  TicketId ticket;
  LeaseId lease;  // ends with ReturnLease
  InstanceId instance;
};
struct Loaded {
  TicketId ticket;
  InstanceId instance;
  bool was_resident = false;  // the model was already loaded
};
struct Unloaded {
  TicketId ticket;
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;  // still finishing requests or their load; they stop after that
};
// Also sent without a ticket when a load changes the pin: the router saves it.
struct PinChanged {
  std::optional<TicketId> ticket;
  ModelName model;
  bool pinned = false;
};
struct Relieved {
  TicketId ticket;
  std::vector<ModelName> downsized;
  std::vector<ModelName> evicted;
};
struct Rejected {
  TicketId ticket;
  Error error;
};

// Send Tick at this time; replaces the previous WakeAt. Empty: no Tick is needed.
struct WakeAt {
  std::optional<MonoTime> time;
};

using Action = std::variant<CheckLoad, DropCheck, StartLoad, AbortLoad, StopInstance, Recall, Downsize, SampleMemory,
                            WatchMemory, Granted, Loaded, Unloaded, PinChanged, Relieved, Rejected, WakeAt>;
// The core appends, the caller empties. Reuse one list, so that a grant allocates nothing.
using ActionList = std::vector<Action>;

}  // namespace corral::residency
