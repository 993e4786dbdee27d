// What the core is told: by clients through the shell, by supervised children, by the clock.
#pragma once

#include <string>
#include <variant>
#include <vector>

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
// The request is over, however it ended. Unknown leases (of an instance that died) are ignored.
struct ReturnLease {
  LeaseId lease;
};
// An explicit load. No-op when the model is in memory with equal options; a reload when with others.
// Ends in Loaded or Rejected.
struct Load {
  TicketId ticket;
  SpecPtr spec;
  std::optional<bool> pin;  // applied when the load succeeds, unless a Pin came since; nothing: no change
};
// An explicit unload: waits for the requests that run. Ends in Unloaded or, when the model isn't loaded, Rejected.
struct Unload {
  TicketId ticket;
  ModelName model;
};
// Ends in Unloaded as soon as all idle instances are gone; it names those that still finish requests.
struct UnloadAll {
  TicketId ticket;
};
// Just this instance goes, at once, whatever runs on it or waits for it. Ends in Unloaded when its child is gone, also
// where it was on its way out already, or in Rejected, when there is none.
struct EndInstance {
  TicketId ticket;
  InstanceId instance;
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

// Answers to CheckLoad: at most one of these two, none after DropCheck.
struct LoadChecked {
  InstanceId instance;
  std::uint64_t check = 0;
  SpecPtr spec;  // as asked, with all that is known of it now
};
// It can't be loaded. Those who asked for it with these options hear the cause; nobody goes, and no failure is noted.
struct CheckFailed {
  InstanceId instance;
  std::uint64_t check = 0;
  Error error;
};

// Answers to StartLoad: exactly one of these three, unless AbortLoad came first (then InstanceStopped or InstanceDied).
struct LoadSucceeded {
  InstanceId instance;
};
// The child is gone, the cause is known.
struct LoadFailed {
  InstanceId instance;
  LoadFault fault = LoadFault::other;
  Error error;
};
// The child ended by itself, whatever it was doing. `cause` is for people.
struct InstanceDied {
  InstanceId instance;
  std::string cause = {};
  bool worked = true;     // on requests that it had read; also where that isn't known
  bool answered = false;  // a request, since it was loaded
};
// Answer to StopInstance and AbortLoad: the child is gone and its memory free.
struct InstanceStopped {
  InstanceId instance;
};

// Answers to Downsize: exactly one of these, also when a request has come between and the answer no longer matters. A
// child that takes longer than `memory_wait` counts as one that can't, until it says otherwise.
struct Downsized {
  InstanceId instance;
};
// The child can't, or something runs on it. It isn't asked again before its next use.
struct DownsizeFailed {
  InstanceId instance;
};

// What is free now: the answer to SampleMemory, or by a monitor as told by WatchMemory. Bytes.
struct PoolSample {
  PoolId pool;
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};
struct MemorySampled {
  std::vector<PoolSample> pools;  // those that could be measured; none: nothing is known, no rule of memory applies
};
// The eviction settings of a model in memory have changed. A model that isn't loaded is ignored.
struct ChangeEviction {
  ModelName model;
  EvictionSettings eviction;
};
// One pass of what idleness and pressure do by themselves, for tests of a house. `pct` from the threshold on: as if
// that share of the memory were in use, the most disposable model goes. -1: idle models go or shrink by their
// timeouts. A person asked, so neither the first seconds of a model nor `idle_floor` count. Ends in Relieved, when all
// that is done.
struct SimulatePressure {
  TicketId ticket;
  double pct = 0;
};

struct ChangeSettings {
  Settings settings;
};
// The moment that WakeAt named has come. Early or superfluous ticks do no harm.
struct Tick {};
// Refuses what waits and what comes, lets running requests finish, stops everything.
struct Shutdown {};

using Event =
    std::variant<Acquire, ReturnLease, Load, Unload, UnloadAll, EndInstance, Pin, CancelTicket, LoadChecked,
                 CheckFailed, LoadSucceeded, LoadFailed, InstanceDied, InstanceStopped, Downsized, DownsizeFailed,
                 MemorySampled, ChangeEviction, SimulatePressure, ChangeSettings, Tick, Shutdown>;

}  // namespace corral::residency
