// The core's input: events from clients (through the router), from processes and from the clock.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "residency/settings.h"
#include "residency/types.h"

namespace corral::residency {

// An inference request needs this model. The router has checked name, endpoint type and options: the spec is valid and
// of a type that fits the request. Ends in Granted or Rejected.
struct Acquire {
  TicketId ticket;
  SpecPtr spec;
};
// The request ended, with or without an error. Unknown leases (of an instance that died) are ignored.
struct ReturnLease {
  LeaseId lease;
};
// An explicit load. No-op if the model is in memory with equal options; a reload if with others. Ends in Loaded or
// Rejected.
struct Load {
  TicketId ticket;
  SpecPtr spec;
  std::optional<bool> pin;  // applied when the load succeeds, unless a Pin came later; empty: no change
};
// An explicit unload: waits for running requests. Ends in Unloaded, or in Rejected if the model isn't loaded.
struct Unload {
  TicketId ticket;
  ModelName model;
};
// Ends in Unloaded as soon as all idle instances are gone; the answer names those that still finish requests.
struct UnloadAll {
  TicketId ticket;
};
// Stops this one instance at once, even if requests run on it or wait for it. Ends in Unloaded when its process is
// gone, also if it was already draining or stopping; in Rejected if there is no such instance.
struct EndInstance {
  TicketId ticket;
  InstanceId instance;
};
// Ends in PinChanged (also if nothing changes), or in Rejected if the model isn't loaded.
struct Pin {
  TicketId ticket;
  ModelName model;
  bool pinned = true;
};
// No caller waits for this ticket any longer. A load without waiters is dropped or aborted. No answer follows.
struct CancelTicket {
  TicketId ticket;
};

// Answers to CheckLoad: at most one of these two, none after DropCheck.
struct LoadChecked {
  InstanceId instance;
  std::uint64_t check = 0;
  SpecPtr spec;  // as requested, completed by the check
};
// The load can't work. Waiters that requested these options get the error; nothing is evicted, and no failure is
// recorded.
struct CheckFailed {
  InstanceId instance;
  std::uint64_t check = 0;
  Error error;
};

// Answers to StartLoad: exactly one of these three, unless AbortLoad came first (then InstanceStopped or InstanceDied).
struct LoadSucceeded {
  InstanceId instance;
};
// The process is gone, the cause is known.
struct LoadFailed {
  InstanceId instance;
  LoadFault fault = LoadFault::other;
  Error error;
};
// The process ended unexpectedly, in any state. `cause` is a text for users.
struct InstanceDied {
  InstanceId instance;
  std::string cause = {};
  bool worked = true;     // on requests that it had read; true if unknown
  bool answered = false;  // at least one request since its load
};
// Answer to StopInstance and AbortLoad: the process is gone and its memory free.
struct InstanceStopped {
  InstanceId instance;
  bool answered = false;  // at least one request since its load
};

// Answers to Downsize: exactly one of these, also if a request has made the answer irrelevant. A process that doesn't
// answer within `memory_wait` counts as unable to downsize, until its answer arrives.
struct Downsized {
  InstanceId instance;
};
// The process can't downsize, or a request runs on it. It gets no further Downsize before its next use.
struct DownsizeFailed {
  InstanceId instance;
};

// Free memory now, in bytes: the answer to SampleMemory, or sent regularly while WatchMemory is on.
struct PoolSample {
  PoolId pool;
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};
struct MemorySampled {
  std::vector<PoolSample> pools;  // those that could be measured; empty: unknown, and no rule of memory applies
};
// The eviction settings of a model in memory have changed. Ignored for a model that isn't loaded.
struct ChangeEviction {
  ModelName model;
  EvictionSettings eviction;
};
// Simulates idleness or memory pressure once, for tests of a server. `pct` at or above the threshold: evicts the model
// with the highest eviction score, as if that share of the memory were in use. -1: evicts or downsizes idle models by
// their timeouts. `pressure_grace` and `idle_floor` don't apply, because a user ordered it. Ends in Relieved, when all
// evictions and downsizes are done.
struct SimulatePressure {
  TicketId ticket;
  double pct = 0;
};

struct ChangeSettings {
  Settings settings;
};
// The time of the last WakeAt has come. Early or superfluous ticks do no harm.
struct Tick {};
// Rejects waiting and new requests, lets running ones finish, stops all instances.
struct Shutdown {};

using Event =
    std::variant<Acquire, ReturnLease, Load, Unload, UnloadAll, EndInstance, Pin, CancelTicket, LoadChecked,
                 CheckFailed, LoadSucceeded, LoadFailed, InstanceDied, InstanceStopped, Downsized, DownsizeFailed,
                 MemorySampled, ChangeEviction, SimulatePressure, ChangeSettings, Tick, Shutdown>;

}  // namespace corral::residency
