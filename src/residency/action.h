// What the core wants done. The shell runs the actions in order; none of them may wait inside the call.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "residency/types.h"

namespace corral::residency {

// Look at the files of this load and find out what it will take, without anybody's going for it. Asked when a load
// enters the queue, and again when somebody is to go for it and the last look is old. Answer: LoadChecked or
// CheckFailed with this number. At most one for each instance.
struct CheckLoad {
  InstanceId instance;
  std::uint64_t check = 0;
  SpecPtr spec;
};
// Nobody wants to know any more.
struct DropCheck {
  InstanceId instance;
};
// Start a child for this model. Answer: LoadSucceeded, LoadFailed or InstanceDied.
struct StartLoad {
  InstanceId instance;
  SpecPtr spec;
  int attempt = 1;  // 2: the second and last one, everybody else has gone
};
// Kill the child that is loading. Answer: InstanceStopped.
struct AbortLoad {
  InstanceId instance;
  StopReason reason = StopReason::cancelled;
};
// Stop an idle child, by force if it doesn't go within the shell's own bound. Answer: InstanceStopped.
struct StopInstance {
  InstanceId instance;
  StopReason reason = StopReason::none;
};
// Whoever holds this share (ModelSpec::share) is to let go of it: it is stopped as soon as that is done, and after
// `recall_grace` in any case. Told once.
struct Recall {
  InstanceId instance;
};

// Free what an idle child needs only to work. Answer: Downsized or DownsizeFailed. Requests may come meanwhile, and
// StopInstance too.
struct Downsize {
  InstanceId instance;
};
// Measure the memory, now or within milliseconds. Answer: MemorySampled, whichever comes first.
struct SampleMemory {};
// From now on send MemorySampled every second or few, or no more. Off at the beginning.
struct WatchMemory {
  bool on = false;
};

// Answers to tickets: exactly one for each, none after CancelTicket.
struct Granted {
  TicketId ticket;
  LeaseId lease;  // to be returned by ReturnLease
  InstanceId instance;
};
struct Loaded {
  TicketId ticket;
  InstanceId instance;
  bool was_resident = false;  // nothing had to be done
};
struct Unloaded {
  TicketId ticket;
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;  // still finishing requests or their load; they go when that is done
};
// Also told without a ticket when a load changed the pin: to be saved as configuration.
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

// Send Tick at this time; replaces the previous WakeAt; nothing: no Tick is needed.
struct WakeAt {
  std::optional<MonoTime> time;
};

using Action = std::variant<CheckLoad, DropCheck, StartLoad, AbortLoad, StopInstance, Recall, Downsize, SampleMemory,
                            WatchMemory, Granted, Loaded, Unloaded, PinChanged, Relieved, Rejected, WakeAt>;
// Filled by the core, emptied by the caller: keep one and reuse it, so that granting allocates nothing.
using ActionList = std::vector<Action>;

}  // namespace corral::residency
