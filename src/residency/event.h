// What the core is told: by clients through the shell, by supervised children, by the clock.
#pragma once

#include <variant>

#include "base/error.h"
#include "residency/settings.h"
#include "residency/types.h"

namespace corral::residency {

// An inference request needs this model. Pre-flight is done: the spec is valid and of a type that fits the request.
// Ends in Granted or Rejected.
struct Acquire {
  TicketId ticket;
  SpecPtr spec;
};
// The request is over, however it ended. Unknown leases (of a server that died) are ignored.
struct ReturnLease {
  LeaseId lease;
};
// An explicit load. No-op when the model is in memory with equal options; a reload when with others.
// Ends in Loaded or Rejected.
struct Load {
  TicketId ticket;
  SpecPtr spec;
  std::optional<bool> pin;  // applied when the load succeeds; nothing: the pin stays as it is
};
// An explicit unload: waits for the requests that run. Ends in Unloaded or, when the model isn't loaded, Rejected.
struct Unload {
  TicketId ticket;
  ModelName model;
};
// Ends in Unloaded as soon as all idle servers are gone; it names those that still finish requests.
struct UnloadAll {
  TicketId ticket;
};
// Ends in PinChanged (also when nothing changes) or, when the model isn't loaded, Rejected.
struct Pin {
  TicketId ticket;
  ModelName model;
  bool pinned = true;
};
// Nobody waits for this ticket any more. A load without anybody waiting is dropped or aborted. No answer follows.
struct CancelTicket {
  TicketId ticket;
};

// Answers to StartLoad: exactly one of these three, unless AbortLoad came first (then ServerStopped or ServerDied).
struct LoadSucceeded {
  ServerId server;
};
// The child is gone, the cause is known.
struct LoadFailed {
  ServerId server;
  LoadFault fault = LoadFault::other;
  Error error;
};
// The child ended by itself, whatever it was doing.
struct ServerDied {
  ServerId server;
};
// Answer to StopServer and AbortLoad: the child is gone and its memory free.
struct ServerStopped {
  ServerId server;
};

struct ChangeSettings {
  Settings settings;
};
// The moment that WakeAt named has come. Early or superfluous ticks do no harm.
struct Tick {};
// Refuses what waits and what comes, lets running requests finish, stops everything.
struct Shutdown {};

using Event = std::variant<Acquire, ReturnLease, Load, Unload, UnloadAll, Pin, CancelTicket, LoadSucceeded, LoadFailed,
                           ServerDied, ServerStopped, ChangeSettings, Tick, Shutdown>;

}  // namespace corral::residency
