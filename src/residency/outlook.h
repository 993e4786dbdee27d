// What happens next in memory: when the timeouts of idle instances end, and which instance a further load would evict
// or downsize. For display. Asks the rules themselves with an imagined load, and changes nothing. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/model_type.h"
#include "residency/types.h"

namespace corral::residency {

struct Instance;
struct State;

// Why idleness does not evict an instance.
enum class Stay : std::uint8_t {
  none,            // it does, if a timeout is set
  in_use,          // requests run on it
  pinned,          // its model is pinned
  auto_evict_off,  // its model did not opt in
  external,        // it runs on another server and takes no memory here
  leaving,         // it stops already
};
// "none", "in_use", "pinned", "auto_evict_off", "external", "leaving"
const char* name_of(Stay stay);

// If no request comes. 0: due now; empty: never.
struct IdleOutlook {
  Stay stay = Stay::none;
  std::optional<Millis> downsize_in;  // by downsize_idle_timeout
  std::optional<Millis> evict_in;     // by evict_idle_timeout
};
IdleOutlook idle_outlook(const State& state, const Instance& instance, MonoTime now);

// Why a further load would be refused: nothing that may stop frees what it needs.
enum class Obstacle : std::uint8_t {
  none,
  pinned,          // pinned models hold it
  other_programs,  // other programs hold it
};
const char* name_of(Obstacle obstacle);

// The first instance that a further load would stop or downsize.
struct NextReclaim {
  std::optional<InstanceId> instance;  // empty: none has to, or there is an obstacle
  bool downsize = false;               // else an eviction
  StopReason reason = StopReason::none;
  Obstacle obstacle = Obstacle::none;
};

// For a load of another model of this type, of which memory doesn't matter.
struct SlotOutlook {
  ModelType type = ModelType::llm;
  std::size_t taken = 0;
  std::int32_t limit = 0;  // kUnlimited: none
  NextReclaim next;
};

// For a load that needs slightly more of this memory pool than is free.
struct PoolOutlook {
  PoolId pool;
  NextReclaim next;
};

struct Outlook {
  std::vector<SlotOutlook> slots;  // of every type
  std::vector<PoolOutlook> pools;  // of the last memory sample
};
// By the last memory sample, which may be old.
Outlook outlook(State& state, MonoTime now);

}  // namespace corral::residency
