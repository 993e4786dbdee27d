// A consistent copy of the state for `health`, `models`, metrics and the event stream.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "residency/instance_state.h"
#include "residency/outlook.h"
#include "residency/settings.h"
#include "residency/types.h"

namespace corral::residency {

struct State;

struct InstanceView {
  InstanceId id;
  SpecPtr spec;
  InstanceState state = InstanceState::ready;
  WallTime last_use;
  bool pinned = false;
  std::size_t leases = 0;       // requests that run on it
  std::size_t peer_leases = 0;  // those of them that are from peers
  bool lent = false;            // loaded for a peer; takes no slot
  Millis load_duration{0};
  Millis idle{0};                         // since the end of the last request; 0 while one runs
  double score = 0;                       // eviction score, see reclaim.h; 0 while it is in use
  StopReason leaving = StopReason::none;  // why it drains or stops
  EvictionSettings eviction;
  IdleOutlook idle_next = {};  // what idleness will do to it
};

// The load that runs.
struct LoadingView {
  InstanceId id;
  SpecPtr spec;
  Millis since{0};
  std::size_t waiters = 0;
  int attempt = 1;
  bool lent = false;                      // for a peer
  bool aborting = false;                  // no waiter is left, or it took too long: its process is being killed
  StopReason leaving = StopReason::none;  // why it is being killed
};

struct QueuedView {
  ModelName model;
  ModelType type = ModelType::llm;
  std::size_t position = 1;  // 1: the next one
  Millis waiting{0};
  std::size_t waiters = 0;
  std::vector<ModelName> waiting_for;  // models that must stop or be downsized first
  bool checking = false;               // its preflight runs
  bool for_memory = false;             // at least one of them for its memory, or released memory isn't free yet
};

struct FailureView {
  ModelName model;
  bool under_requests = false;  // crashed under requests; else failed to load
  int in_a_row = 0;
  Millis cooling{0};  // time until it may be tried again; 0: now
  std::string cause;
};

struct Snapshot {
  std::vector<InstanceView> instances;  // resident or stopping; oldest first
  std::optional<LoadingView> loading;
  std::vector<QueuedView> queue;
  std::vector<FailureView> failures;
  std::optional<ModelName> most_recent;  // of those in memory, the one loaded last
  Limits limits;
  std::array<std::size_t, kModelTypeCount> taken{};   // slots taken, by type; without lent models
  std::array<std::size_t, kModelTypeCount> lent{};    // lent models, without shares: loading, in memory, leaving
  MemoryUse lent_memory;                              // their predicted need of each memory pool
  double lend_share = 0;                              // maximum share of each memory pool for them
  std::array<std::size_t, kModelTypeCount> pinned{};  // pinned models in memory, by type
  std::array<std::size_t, kModelTypeCount> downsized{};
  std::array<std::uint64_t, kStopReasonCount> stops{};  // instances stopped since the start, by reason
  std::uint64_t downsizes = 0;                          // number of downsizes since the start
  std::uint64_t revision = 0;                           // see Core::revision
};

Snapshot take_snapshot(const State& state, Now now);

}  // namespace corral::residency
