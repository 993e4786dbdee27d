// What `health`, `models`, metrics and the event stream show: a copy, consistent in itself, of the moment it was taken.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "residency/instance_state.h"
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
  std::size_t peer_leases = 0;  // of them, those of other machines of the mesh
  bool lent = false;            // loaded for others; takes none of the slots
  Millis load_duration{0};
  Millis idle{0};                         // since the end of the last request; 0 while one runs
  double score = 0;                       // how disposable it is, see reclaim.h; 0 while it is in use
  StopReason leaving = StopReason::none;  // why it drains or stops
  EvictionSettings eviction;
};

// The one load that runs.
struct LoadingView {
  InstanceId id;
  SpecPtr spec;
  Millis since{0};
  std::size_t waiters = 0;
  int attempt = 1;
  bool lent = false;                      // for a peer
  bool aborting = false;                  // nobody wants it any more, or it took too long: the child is being killed
  StopReason leaving = StopReason::none;  // why it is being killed
};

struct QueuedView {
  ModelName model;
  ModelType type = ModelType::llm;
  std::size_t position = 1;  // 1: the next one
  Millis waiting{0};
  std::size_t waiters = 0;
  std::vector<ModelName> waiting_for;  // models that must go, or be downsized, first
  bool checking = false;               // its files and needs are being looked at
  bool for_memory = false;             // at least one of them for its memory, or memory has still to come back
};

struct FailureView {
  ModelName model;
  bool under_requests = false;  // ended while it worked; else failed to load
  int in_a_row = 0;
  Millis cooling{0};  // how long it still can't be tried; 0: it can
  std::string cause;
};

struct Snapshot {
  std::vector<InstanceView> instances;  // resident ones, and those that stop; oldest first
  std::optional<LoadingView> loading;
  std::vector<QueuedView> queue;
  std::vector<FailureView> failures;
  std::optional<ModelName> most_recent;  // of those in memory, the one loaded last
  Limits limits;
  std::array<std::size_t, kModelTypeCount> taken{};   // slots taken, by type; without lent models
  std::array<std::size_t, kModelTypeCount> lent{};    // lent models, without shares: loading, in memory, leaving
  MemoryUse lent_memory;                              // what they were predicted to take of each memory
  double lend_share = 0;                              // of each memory that they may take
  std::array<std::size_t, kModelTypeCount> pinned{};  // pinned models in memory, by type
  std::array<std::size_t, kModelTypeCount> downsized{};
  std::array<std::uint64_t, kStopReasonCount> stops{};  // instances told to stop since the beginning, by reason
  std::uint64_t downsizes = 0;                          // done since the beginning
  std::uint64_t revision = 0;                           // see Core::revision
};

Snapshot take_snapshot(const State& state, Now now);

}  // namespace corral::residency
