// What changes in the house: a picture of one moment, and what moved between two pictures. Pure functions over plain
// values.
//
// The core says when something changed (Core::revision), not what: comparing pictures needs nothing from it but its
// state, and what happens twice between two looks is told once.
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

// A server that takes a slot.
struct InstanceSnapshot {
  residency::InstanceId id;
  residency::SpecPtr spec;
  residency::InstanceState state = residency::InstanceState::loading;
  residency::StopReason leaving = residency::StopReason::none;  // why it drains or stops
  bool loads = false;                                           // hasn't been ready yet
  bool pinned = false;
  std::size_t leases = 0;
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

// `progress`: of the load that runs, 0..1.
RouterSnapshot take_picture(const residency::Core& core, residency::Now now, double progress);

// A server went from one state to another, or its requests became more or fewer.
struct InstanceChanged {
  residency::SpecPtr spec;
  residency::InstanceState from = residency::InstanceState::queued;
  residency::InstanceState to = residency::InstanceState::queued;
  residency::StopReason reason = residency::StopReason::none;  // where it is on its way out
  std::string cause;                                           // of `failed`: how the process ended
  bool pinned = false;
  std::size_t requests = 0;
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
  std::vector<residency::QueuedView> queue;  // all of it
};
struct PinUpdated {
  ModelName model;
  bool pinned = false;
};
struct SettingsChanged {
  residency::Settings settings;
};
// The last thing that is told.
struct RouterClosed {};

// What the house says, and what others do (never null).
using Change =
    std::variant<InstanceChanged, LoadChanged, QueueChanged, PinUpdated, SettingsChanged, RouterClosed, NoticePtr>;

const char* name_of(LoadStage stage);

struct Changes {
  std::vector<Change> list;
  // False: only numbers moved (requests, progress, waiters), which can wait for the next look.
  bool urgent = false;
};

// How processes ended by themselves and why loads failed, as far as it is known.
using Causes = std::map<residency::InstanceId, Error>;

Changes diff(const RouterSnapshot& before, const RouterSnapshot& after, const Causes& causes);

}  // namespace corral::router
