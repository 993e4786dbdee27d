// The decision core: which models are in memory, who has to go, who waits. A pure state machine: it has no I/O, no
// threads, no clock and no log of its own; every event comes with the time, every consequence is an action in a list.
//
// The shell calls it from one thread at a time (one strand or loop) and runs the actions. No call waits for anything.
//
// The rules in short (each has its place: room.h who must go, npu_rule.h, cooldown.h):
//   - One load at a time, first come first served; loads of one model are one load with several waiters.
//   - Who has to go is decided when the load's turn comes. Idle before busy, least recently used first, pinned never.
//   - Busy victims take newcomers for `swap_patience`, then they drain; who can't be granted meanwhile waits for a new
//   load.
//   - A load that waits for a draining victim lets later loads pass that can be decided without it.
//   - The waiters' leases are granted in the step in which the load completes.
//   - Nobody goes for a load whose files and needs haven't been looked at just now (core_check.cpp).
//   - A load starts when its predicted memory is free. Who goes for memory, for idleness or under pressure is the most
//   disposable by its eviction score (disposal.h, room_memory.cpp, core_memory.cpp).
//   - A failed load drives out everybody else and is tried once more; faults of the model itself drive out nobody.
//   - A model that fails to load, or ends under requests, again and again is left alone for a while (cooldown.h).
//   - Other machines of a mesh get what nobody here needs, and give it back when somebody does (lending.h,
//   core_lend.cpp). Without them nothing of that is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "residency/action.h"
#include "residency/event.h"
#include "residency/room.h"
#include "residency/snapshot.h"
#include "residency/state.h"

namespace corral::residency {

class Core {
 public:
  struct Lease {
    LeaseId id;
    ServerId server;
  };

  // `pins`: the models that configuration says are pinned.
  explicit Core(Settings settings, const std::set<ModelName>& pins = {});

  // One event: changes the state and appends what is to be done to `out`.
  void handle(const Event& event, Now now, ActionList& out);

  // The short way for a request to a model that is ready: the same as Acquire, without building an event. Nothing: the
  // model isn't ready, send Acquire.
  std::optional<Lease> try_acquire(const ModelName& model, Now now, Origin origin = Origin::local);
  // The same as ReturnLease.
  void release(LeaseId lease, Now now, ActionList& out);

  // Whether a load that began now might evict or downsize another model. Also true if the last sample of the memory is
  // too old to tell, and while other loads wait or run. Changes nothing.
  bool may_evict(const SpecPtr& spec, Now now);

  const State& state() const { return state_; }
  Snapshot snapshot(Now now) const;
  // Grows with every change that is worth telling (not with requests that come and go on a ready server).
  std::uint64_t revision() const { return revision_; }

 private:
  void on(const Acquire& event, Now now, ActionList& out);
  void on(const ReturnLease& event, Now now, ActionList& out);
  void on(const Load& event, Now now, ActionList& out);
  void on(const Unload& event, Now now, ActionList& out);
  void on(const UnloadAll& event, Now now, ActionList& out);
  void on(const EndServer& event, Now now, ActionList& out);
  void on(const Pin& event, Now now, ActionList& out);
  void on(const CancelTicket& event, Now now, ActionList& out);
  void on(const LoadChecked& event, Now now, ActionList& out);
  void on(const CheckFailed& event, Now now, ActionList& out);
  void on(const LoadSucceeded& event, Now now, ActionList& out);
  void on(const LoadFailed& event, Now now, ActionList& out);
  void on(const ServerDied& event, Now now, ActionList& out);
  void on(const ServerStopped& event, Now now, ActionList& out);
  void on(const Downsized& event, Now now, ActionList& out);
  void on(const DownsizeFailed& event, Now now, ActionList& out);
  void on(const MemorySampled& event, Now now, ActionList& out);
  void on(const ChangeEviction& event, Now now, ActionList& out);
  void on(const SimulatePressure& event, Now now, ActionList& out);
  void on(const ChangeSettings& event, Now now, ActionList& out);
  void on(const Tick& event, Now now, ActionList& out);
  void on(const Shutdown& event, Now now, ActionList& out);

  // core.cpp: the small moves.
  Server* find(ServerId id);
  void move(Server& server, ServerState to);
  void touch(Server& server, Now now);
  void begin_use(Server& server, Now now);
  LeaseId lease_of(Server& server, Origin origin);
  void now_idle(Server& server, Now now, ActionList& out);
  void grant(Server& server, TicketId ticket, Now now, ActionList& out, Origin origin = Origin::local);
  void drain(Server& server, StopReason reason, bool for_good, Now now, ActionList& out);
  void stop(Server& server, Now now, ActionList& out);
  void undrain(Server& server);
  void abort(Server& load, StopReason reason, Now now, ActionList& out);
  void remove(Server& server, ServerState last, Now now, ActionList& out);
  void forget_if_empty(const ModelName& name);
  void set_pin(const ModelName& name, bool pinned, std::optional<TicketId> ticket, ActionList& out);

  // core_load.cpp: waiting for a load and its end.
  bool refuse(const ModelSpec& spec, TicketId ticket, Now now, ActionList& out);
  bool refuse_newcomer(TicketId ticket, ActionList& out);
  void refuse_pin(const Server& server, TicketId ticket, ActionList& out);
  Server& enqueue(const SpecPtr& spec, Now now);
  Server& add_queued(const SpecPtr& spec, Now now);
  void add_waiter(Server& load, Waiter waiter);
  void absorb(Server& queued, Server& running, Now now, ActionList& out);
  void move_waiters(Server& from, Server& to, std::vector<Waiter>::iterator where);
  void serve_waiters(Server& from, Server& with, bool only_leases, Now now, ActionList& out);
  void reject_waiters(Server& load, const Error& error, ActionList& out);
  bool reject_askers(Server& load, std::uint64_t options, const Error& error, ActionList& out);
  void end_failed_load(Server& load, LoadFault fault, const Error& error, Now now, ActionList& out);
  void retry(Server& failed, Now now);
  void end(Server& server, Now now, ActionList& out, const ServerDied& death = {});

  // core_check.cpp: looks at files and needs before anybody goes.
  void ask_check(Server& load, Now now, ActionList& out);
  void drop_check(Server& load, ActionList& out);
  bool is_fresh(const Server& load, Now now) const;
  void reject_cooling(Server& load, Now now, ActionList& out);
  void fall_back(Server& load, Now now, ActionList& out);
  void note_end(const Server& server, const ServerDied& death, Now now, ActionList& out);

  // core_lend.cpp: what peers get, and give back.
  void acquire_for_peer(const Acquire& event, Now now, ActionList& out);
  std::optional<Error> refused_for_peers(const ModelSpec& spec, Now now) const;
  bool may_share(const Server& server, Origin origin, Now now) const;
  void release_shared(Server& server, Origin origin, Now now, ActionList& out);
  bool too_many_peers(const Server& load) const;
  void refuse_peers(Server& load, const std::string& why, ActionList& out);
  void drop_lending(const Error& error, Now now, ActionList& out);
  void give_way(const ModelName& name, Now now, ActionList& out);
  bool adopt(Server& server, Now now, ActionList& out);
  bool is_pinned_out(const Server& server) const;
  void make_own(Server& server);
  void set_eviction(Server& server, const EvictionSettings& wish);
  void end_failed_lent(Server& load, LoadFault fault, const Error& error, Now now, ActionList& out);
  void end_recalls(Now now, ActionList& out);
  Error busy_loading(const ModelName& model) const;
  void yield_to_owner(Now now, ActionList& out);
  void shed_lent(Now now, ActionList& out);
  void advance_lent(Now now, ActionList& out);

  // core_memory.cpp: what idleness and pressure do.
  void downsize(Server& server, Now now, ActionList& out);
  void give_up_downsizes(Now now, ActionList& out);
  void downsize_ended(ServerId id, bool done, Now now, ActionList& out);
  bool relieve(const std::vector<PoolSample>& seen, Now now, ActionList& out);
  void leave_idle(Millis floor, Now now, ActionList& out);
  void shrink_idle(Millis floor, Now now, ActionList& out);
  void plan_idle(const Server& server, Now now, ActionList& out);
  void note_relief(const Server& server, bool downsized, bool evicted, ActionList& out);
  void plan_watch(ActionList& out);

  // core_advance.cpp: whose turn it is.
  void advance(Now now, ActionList& out);
  struct Turn {
    Server* start = nullptr;      // the load whose turn it is
    std::vector<Victim> victims;  // who drains from now on, or goes on draining
    std::vector<Server*> downsizes;
    bool sample = false;          // the memory has to be looked at before more can be decided
    std::vector<Server*> checks;  // loads whose files have to be looked at before more can be decided
  };
  // True when somebody would have to be told whom only a fresh look at the files may send away.
  bool tell(const Server& load, const Room& room, bool may_start, bool idle, Now now, Turn& turn) const;
  Turn decide(Now now);
  bool bring_back(const Turn& turn);
  bool settle_queue(Now now, ActionList& out);
  bool stops_slowly(const Server& server, Now now) const;
  void forget_gone(Server& load);
  bool settle(Server& load, Now now, ActionList& out);
  bool comes_back(const Server& load) const;
  void show_victims(Server& load, const Room& room);
  void shed(Now now, ActionList& out);
  void start(Server& load, Now now, ActionList& out);
  void plan_wake(Now now, ActionList& out);

  State state_;
  std::uint64_t revision_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_check_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t decisions_ = 1;
  std::optional<MonoTime> wake_;
};

}  // namespace corral::residency
