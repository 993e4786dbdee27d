// The whole state of the core. The parts (core/parts.h) share it, and only they write it; tests and snapshots read it.
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

// A pending ticket of a load: an inference request (gets a lease) or an explicit load (gets Loaded).
struct Waiter {
  TicketId ticket;
  bool wants_lease = true;
  SpecPtr spec = {};  // as requested; the load may have the options of another waiter
  std::optional<bool> pin = {};
  bool returns = false;  // arrived while an instance of the same model was draining or stopping

  bool is_peer() const { return spec && spec->origin == RequestOrigin::peer; }
};

// Instances have released enough memory of these pools for a load, but samples do not show all of it yet. After `until`
// the load starts anyway.
struct PendingRelease {
  std::vector<PoolId> pools;
  MonoTime until;
};

// One instance, from the queued load to the end of the process.
struct Instance {
  InstanceId id;
  SpecPtr spec;
  InstanceState state = InstanceState::queued;
  bool lent = false;  // loaded for a peer, and no local request has made it local

  // Use.
  std::uint32_t leases = 0;
  std::uint32_t peer_leases = 0;  // of them
  std::uint64_t used_nth = 0;     // order of use, for decisions: start and end of loads and of requests count
  MonoTime last_use;
  WallTime last_use_wall;  // for display
  std::vector<Waiter> waiters;

  // Memory.
  EvictionSettings eviction;
  bool shrunk = false;                 // its dynamic memory is freed
  bool downsize_asked = false;         // the answer to Downsize is pending
  MonoTime downsize_sent;              // when Downsize was sent
  bool downsize_crossed = false;       // a request started since then: the process may have handled either first
  std::uint64_t downsize_refused = 0;  // value of used_nth at which a downsize failed

  // While it is lent.
  EvictionSettings own_eviction = {};  // the model's own settings; apply when it is local

  // The load.
  MonoTime queued_at;
  MonoTime load_started;
  Millis load_duration{0};
  int attempt = 1;
  bool explicit_options = false;  // a `load` requested these options: an instance with others doesn't satisfy it
  std::optional<bool> pin;        // requested by a `load`, applied when it succeeds
  // The preflight of its files and memory need, if its spec requires one.
  std::uint64_t check = 0;  // number of the running check; 0: none
  MonoTime check_asked;
  std::optional<MonoTime> checked_at;  // when the last check of this spec succeeded
  Millis check_took{0};
  // While it waits for busy instances: since when (swap_patience starts here), and for which ones.
  std::optional<MonoTime> waits_since;
  std::vector<InstanceId> waits_for;
  bool held_by_memory = false;  // it waits for memory too, or only for memory
  std::optional<PendingRelease> promise;
  // Second attempt: the instances that existed when the first one failed. They stop first, later ones after them.
  std::vector<InstanceId> first_to_go;

  // The end.
  StopReason leaving = StopReason::none;  // why it drains or stops
  MonoTime draining_since;                // while it is draining
  std::uint64_t brought_back = 0;         // number of the decision in which it last returned from draining
  MonoTime stopping_since;                // while it is evicting
  bool leaving_for_good = false;          // it never returns from draining, whatever is cancelled
  bool unload_when_loaded = false;
};

// A load whose process is being killed before it has loaded.
inline bool is_given_up(const Instance& instance) {
  return instance.leaving == StopReason::cancelled || instance.leaving == StopReason::deadline ||
         instance.leaving == StopReason::yield;
}

// Consecutive failed loads of a model; reset by a success. Or consecutive crashes under requests; reset by an
// answer or a longer life.
struct Failure {
  int in_a_row = 0;
  MonoTime cool_until;
  std::uint64_t options = 0;  // other options may be tried at once
  std::uint64_t files = 0;    // other files may be tried at once (ModelSpec::files)
  std::string cause;
};

struct Model {
  Instance* current = nullptr;  // loading, resident or leaving
  Instance* pending = nullptr;  // queued
  bool pinned = false;
  std::optional<Failure> failure;  // to load
  std::optional<Failure> crashes;  // under requests
  // The same for loads for peers, and for requests of peers only: they do not affect local requests.
  std::optional<Failure> lent_failure;
  std::optional<Failure> lent_crashes;
};

// An unload that waits for processes to exit.
struct PendingUnload {
  TicketId ticket;
  std::vector<InstanceId> waits_for;
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;
};

// A simulated memory pressure that waits for its downsizes and evictions.
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
  Instance* loader = nullptr;    // the load that runs, or whose process is being killed
  Instance* lending = nullptr;   // the load for a peer that hasn't started; never in the queue
  LeaseTable leases;
  std::unordered_map<TicketId, Instance*> waiting;  // ticket of a waiter -> its load
  std::vector<PendingUnload> unloads;
  std::vector<PendingRelief> reliefs;
  MemoryLedger memory;
  bool watching = false;                                // the value of the last WatchMemory
  std::array<std::uint64_t, kStopReasonCount> stops{};  // instances that were stopped, by reason
  std::uint64_t downsizes = 0;
  std::array<std::size_t, kModelTypeCount> taken{};  // slots by type, those of lent instances included
  std::array<std::size_t, kModelTypeCount> lent{};   // the lent ones of them
  bool shutting_down = false;
  std::uint64_t revision = 0;   // see Core::revision
  std::uint64_t decisions = 1;  // number of decisions so far

  Instance* find(InstanceId id) const {
    const auto at = instances.find(id);
    return at == instances.end() ? nullptr : at->second.get();
  }
  const Model* find(const ModelName& name) const {
    const auto at = models.find(name);
    return at == models.end() ? nullptr : &at->second;
  }
  // A lent instance isn't pinned, even if its model is. A pin that is set while it runs makes it a local instance.
  bool pinned(const Instance& instance) const {
    const Model* model = find(instance.spec->name);
    return model != nullptr && model->pinned && !instance.lent;
  }
  // Pinned, loaded, and not being unloaded on an order: no automatic decision may stop it, except an evict-all with
  // `nuclear_evicts_pinned`.
  bool is_protected(const Instance& instance) const {
    return is_resident(instance.state) && !instance.leaving_for_good && pinned(instance);
  }
  // Slots of a type that instances take: loading, resident or leaving, but not lent. Counters, because the end of every
  // request reads them.
  std::size_t slots_taken(ModelType type) const { return taken[index_of(type)] - lent[index_of(type)]; }
};

}  // namespace corral::residency
