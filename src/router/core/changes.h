// Changes of the router's state: a snapshot, and the difference of two snapshots. Pure functions over plain values.
//
// The core reports that something changed (Core::revision), but not what. Comparing snapshots needs only its state, and
// two changes of the same thing between snapshots become one event.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "residency/core.h"
#include "router/core/event_source.h"

namespace corral::router {

// An instance that takes a slot.
struct InstanceSnapshot {
  residency::InstanceId id;
  residency::SpecPtr spec;
  residency::InstanceState state = residency::InstanceState::loading;
  residency::StopReason leaving = residency::StopReason::none;  // why it drains or stops
  bool loads = false;                                           // hasn't been ready yet
  bool pinned = false;
  std::size_t leases = 0;
  residency::IdleOutlook idle_next = {};
  int attempt = 1;  // of its load
  double progress = 0;
  Millis load_duration{0};
};

struct RouterSnapshot {
  std::vector<InstanceSnapshot> instances;  // by id
  std::vector<residency::QueuedView> queue;
  residency::Settings settings;
  std::uint64_t revision = 0;
};

// `progress`: of the running load, 0..1.
RouterSnapshot take_snapshot(const residency::Core& core, residency::Now now, double progress);

// An instance changed its state or its number of requests.
struct InstanceChanged {
  residency::SpecPtr spec;
  residency::InstanceState from = residency::InstanceState::queued;
  residency::InstanceState to = residency::InstanceState::queued;
  residency::StopReason reason = residency::StopReason::none;  // if it drains or stops
  std::string cause;                                           // of `failed`: how the process ended
  bool pinned = false;
  std::size_t requests = 0;
  residency::IdleOutlook idle_next = {};  // at the time of the event
};
enum class LoadStage : std::uint8_t { started, progress, finished, failed, aborted };
struct LoadChanged {
  residency::SpecPtr spec;
  LoadStage stage = LoadStage::started;
  int attempt = 1;
  double progress = 0;
  Millis took{0};                                              // of `finished`
  residency::StopReason reason = residency::StopReason::none;  // of `aborted`
  std::optional<Error> error;                                  // of `failed`
};
struct QueueChanged {
  std::vector<residency::QueuedView> queue;  // the whole queue
};
struct PinUpdated {
  ModelName model;
  bool pinned = false;
};
struct SettingsChanged {
  residency::Settings settings;
};
// The last event.
struct RouterClosed {};

// Changes of the core's state, and notices of other sources (never null).
using Change =
    std::variant<InstanceChanged, LoadChanged, QueueChanged, PinUpdated, SettingsChanged, RouterClosed, NoticePtr>;

const char* name_of(LoadStage stage);

struct Changes {
  std::vector<Change> list;
  // False: only numbers changed (requests, progress, waiters); they can wait for the next snapshot.
  bool urgent = false;
};

// Why processes ended unexpectedly and loads failed, if known.
using Causes = std::map<residency::InstanceId, Error>;

Changes diff(const RouterSnapshot& before, const RouterSnapshot& after, const Causes& causes);

}  // namespace corral::router
