// Everything the core knows: shared by its parts (core/parts.h), written by them alone, read by tests and by snapshots.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "residency/instance_state.h"
#include "residency/lease_table.h"
#include "residency/memory_ledger.h"
#include "residency/settings.h"
#include "residency/types.h"

namespace corral::residency {

// Somebody who waits for a model: an inference request (gets a lease) or an explicit load (gets Loaded).
struct Waiter {
  TicketId ticket;
  bool wants_lease = true;
  SpecPtr spec = {};  // as it was asked for; the load may be another one's wish
  std::optional<bool> pin = {};
  bool returns = false;  // came while the same model was on its way out

  bool is_peer() const { return spec && spec->origin == RequestOrigin::peer; }
};

// Enough of these memories has been given up for a load and is on its way back. After `until` it loads in trust, even
// if not all of it shows up as free.
struct PendingRelease {
  std::vector<PoolId> pools;
  MonoTime until;
};

// One instance, from the queued load to the end of the child.
struct Instance {
  InstanceId id;
  SpecPtr spec;
  InstanceState state = InstanceState::queued;
  bool lent = false;  // loaded for a peer, and its owner hasn't made it his

  // Use.
  std::uint32_t leases = 0;
  std::uint32_t peer_leases = 0;  // of them
  std::uint64_t used_nth = 0;     // order of use, for decisions: load start and end, request start and end count
  MonoTime last_use;
  WallTime last_use_wall;  // for display
  std::vector<Waiter> waiters;

  // Memory.
  EvictionSettings eviction;
  bool shrunk = false;                 // its dynamic part isn't in memory
  bool downsize_asked = false;         // Downsize is still to be answered
  MonoTime downsize_told;              // since when
  bool downsize_crossed = false;       // a request has come since: nobody knows what the child did first
  std::uint64_t downsize_refused = 0;  // the use after which it couldn't be downsized

  // While it is lent.
  EvictionSettings own_eviction = {};  // what its owner has said of it

  // The load.
  MonoTime queued_at;
  MonoTime load_started;
  Millis load_duration{0};
  int attempt = 1;
  bool explicit_options = false;  // a `load` asked for these options: an instance with others won't do
  std::optional<bool> pin;        // wish of a `load`, applied when it succeeds
  // The look at its files and needs, where its spec wants one.
  std::uint64_t check = 0;  // the number of the one that is to be answered; 0: none
  MonoTime check_asked;
  std::optional<MonoTime> checked_at;  // when the last one said yes to this spec
  Millis check_took{0};
  // While it waits for busy instances: since when (patience runs from here) and for whom.
  std::optional<MonoTime> waits_since;
  std::vector<InstanceId> waits_for;
  bool held_by_memory = false;  // or for memory
  std::optional<PendingRelease> promise;
  // Second attempt: those that were there when the first one failed. They go first, then those that came meanwhile.
  std::vector<InstanceId> first_to_go;

  // The end.
  StopReason leaving = StopReason::none;  // why it drains or stops
  MonoTime draining_since;                // while it is draining
  std::uint64_t brought_back = 0;         // by the how-many-th decision
  MonoTime stopping_since;                // while it is evicting
  bool leaving_for_good = false;          // it doesn't come back, whoever cancels what
  bool unload_when_loaded = false;
};

// A load that is being killed: it never was loaded.
inline bool is_given_up(const Instance& instance) {
  return instance.leaving == StopReason::cancelled || instance.leaving == StopReason::deadline ||
         instance.leaving == StopReason::yield;
}

// The last failed loads of a model, until one succeeds; or its last ends under requests, until one lives longer.
struct Failure {
  int in_a_row = 0;
  MonoTime cool_until;
  std::uint64_t options = 0;  // with other options it may be tried at once
  std::uint64_t files = 0;    // so may other files (ModelSpec::files)
  std::string cause;
};

struct Model {
  Instance* current = nullptr;  // loading, resident or leaving
  Instance* pending = nullptr;  // queued
  bool pinned = false;
  std::optional<Failure> failure;  // to load
  std::optional<Failure> crashes;  // under requests
  // The same of loads for peers and under requests of peers alone: no concern of the owner's.
  std::optional<Failure> lent_failure;
  std::optional<Failure> lent_crashes;
};

// An unload that waits for children to be gone.
struct PendingUnload {
  TicketId ticket;
  std::vector<InstanceId> waits_for;
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;
};

// A simulated pass that waits for its deeds to be done.
struct PendingRelief {
  TicketId ticket;
  std::vector<InstanceId> waits_for;
  std::vector<ModelName> downsized;
  std::vector<ModelName> evicted;
};

struct State {
  Settings settings;
  std::map<InstanceId, std::unique_ptr<Instance>> instances;
  std::unordered_map<ModelName, Model> models;
  std::vector<Instance*> queue;  // loads that wait, in order
  Instance* loader = nullptr;    // the one that loads, or is being killed while loading
  Instance* lending = nullptr;   // the load for a peer that is to begin; never in the queue
  LeaseTable leases;
  std::unordered_map<TicketId, Instance*> waiting;  // ticket of a waiter -> its load
  std::vector<PendingUnload> unloads;
  std::vector<PendingRelief> reliefs;
  MemoryLedger memory;
  bool watching = false;                                // WatchMemory was told last
  std::array<std::uint64_t, kStopReasonCount> stops{};  // instances told to stop, by reason
  std::uint64_t downsizes = 0;
  std::array<std::size_t, kModelTypeCount> taken{};  // with lent ones
  std::array<std::size_t, kModelTypeCount> lent{};   // of them
  bool shutting_down = false;
  std::uint64_t revision = 0;   // see Core::revision
  std::uint64_t decisions = 1;  // made since the beginning

  Instance* find(InstanceId id) const {
    const auto at = instances.find(id);
    return at == instances.end() ? nullptr : at->second.get();
  }
  const Model* find(const ModelName& name) const {
    const auto at = models.find(name);
    return at == models.end() ? nullptr : &at->second;
  }
  // A lent one isn't, whatever its owner has said of the model: a pin set on it makes it his.
  bool pinned(const Instance& instance) const {
    const Model* model = find(instance.spec->name);
    return model != nullptr && model->pinned && !instance.lent;
  }
  // Pinned, loaded, and not on its way out by somebody's wish: no automatic decision may stop it.
  bool is_protected(const Instance& instance) const {
    return is_resident(instance.state) && !instance.leaving_for_good && pinned(instance);
  }
  // Servers of a type that take a slot: loading, resident or leaving, but not lent. Counted along, because every
  // request that ends asks.
  std::size_t slots_taken(ModelType type) const { return taken[index_of(type)] - lent[index_of(type)]; }
};

}  // namespace corral::residency
