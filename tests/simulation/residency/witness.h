// An independent witness of everything that passes between the core and the world: it keeps its own books (children,
// leases, tickets, pins) from events and actions alone, and after every step holds the core to the rules of the house.
// A rule that is broken is thrown as a Violation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "residency/core.h"
#include "simulation/residency/fake_memory.h"
#include "simulation/residency/zoo.h"

namespace corral::residency::simulation {

struct Violation {
  std::string rule;  // short and stable: a shrunk run must break the same one
  std::string detail;
};

template <typename... Args>
void require(bool holds, const char* rule, fmt::format_string<Args...> detail, Args&&... args) {
  if (!holds) throw Violation{rule, fmt::format(detail, std::forward<Args>(args)...)};
}

struct Child {
  enum class Phase : std::uint8_t { loading, up, stopping };
  InstanceId id;
  std::size_t animal = 0;
  std::uint64_t options = 0;
  Phase phase = Phase::loading;
  bool aborted = false;
  StopReason reason = StopReason::none;
  int attempt = 1;
  MonoTime load_started;
  std::size_t leases = 0;
  std::size_t peers = 0;  // of them
  bool lent = false;
  bool was_lent = false;               // before this step
  std::optional<MonoTime> draining{};  // since when
  bool recalled = false;               // a share whose holder was told
  bool ended = false;                  // by EndInstance
  MonoTime free_of_owner{};            // since when only peers have used it

  const Animal& kind() const { return kZoo[animal]; }
  MonoTime stop_sent{};
  std::uint64_t used_nth = 0;
  bool busy() const { return leases > 0 || phase == Phase::loading; }

  MemoryUse use;        // as the core was told
  Footprint footprint;  // the same in numbers
  MonoTime last_use{};
  MonoTime loaded{};
  Millis load_time{0};
  bool shrinking = false;  // told to downsize, not yet answered
  MonoTime shrink_sent{};
  bool interrupted = false;  // by a request, since it was told
  bool shrunk = false;
  bool was_busy = false;  // when it was told to go: it drained
  double score_at_stop = 0;
  bool could_shrink = false;     // instead
  std::uint64_t refused_at = 0;  // the use after which it couldn't be downsized

  bool known() const { return !use.empty(); }
  Bytes2 holds() const { return shrunk ? footprint.whole - footprint.dynamic : footprint.whole; }
};

struct Ticket {
  enum class Kind : std::uint8_t { request, load, unload, unload_all, pin, simulate };
  Kind kind = Kind::request;
  std::size_t animal = 0;
  std::uint64_t options = 0;
  Millis hold{0};
  bool peer = false;
  bool after_unload = false;  // the child that loads is to be unloaded: this asks for another one
};

class Witness {
 public:
  Witness(const Core& core, const FakeMemory& memory, Settings settings, std::set<ModelName> pins)
      : core_(core), memory_(memory), settings_(std::move(settings)), pins_(std::move(pins)) {}

  // The world tells what it does, in this order around every call of the core.
  void open(TicketId id, const Ticket& ticket) { tickets_.emplace(id, ticket); }
  void before(const Event& event, Now now);
  void after(const Event& event, const ActionList& actions, Now now);
  // A lease by the short way.
  void short_way(std::size_t animal, const std::optional<Core::Lease>& lease, Now now,
                 RequestOrigin origin = RequestOrigin::local);
  // Nothing is left to happen.
  void at_rest() const;

  const std::map<InstanceId, Child>& children() const { return children_; }
  const std::map<LeaseId, InstanceId>& leases() const { return leases_; }
  const std::map<TicketId, Ticket>& tickets() const { return tickets_; }

 private:
  // witness.cpp: the books, from events.
  void note(const CancelTicket& event);
  void note(const ReturnLease& event);
  void note(const LoadChecked& event);
  void note(const CheckFailed& event);
  void note(const LoadSucceeded& event);
  void note(const LoadFailed& event);
  void note(const InstanceDied& event);
  void note(const InstanceStopped& event);
  void note(const ChangeSettings& event);
  void note(const Acquire& event);
  void note(const Load& event);
  void note(const Downsized& event);
  void note(const DownsizeFailed& event);
  void note(const MemorySampled& event);
  void note(const Unload& event);
  void note(const UnloadAll& event);
  void note(const EndInstance& event);
  void note(const auto&) {}
  void use(Child& child);
  void begin(Child& child);
  void gone(InstanceId id, std::optional<LoadFault> fault);
  // witness_check.cpp: looks at files, and ends under requests.
  void see(const CheckLoad& action);
  void see(const DropCheck& action);
  void note_end(const Child& child, bool died);
  bool is_unknown(const Instance& load) const;
  bool is_looked_at(const Instance& load) const;
  bool keeps_turn(const Instance& load) const;
  bool is_fresh(const Instance& load) const;
  void check_looks(const StartLoad& action) const;
  void check_victim_of_known(const Child& child, StopReason reason) const;
  void check_cooling(const Ticket& ticket) const;
  bool is_explicit(const StartLoad& action) const;
  // witness_actions.cpp: the books, from actions, and what each action must heed.
  void see(const StartLoad& action);
  void see(const AbortLoad& action);
  void see(const StopInstance& action);
  void see(const Granted& action);
  void see(const Loaded& action);
  void see(const Unloaded& action);
  void see(const PinChanged& action);
  void see(const Rejected& action);
  void see(const WakeAt&) {}
  void see(const Recall& action);
  void see(const Downsize& action);
  void see(const SampleMemory& action);
  void see(const WatchMemory& action) { watching_ = action.on; }
  void see(const Relieved& action);
  Ticket answered(TicketId id, std::initializer_list<Ticket::Kind> kinds);

  // witness_rules.cpp: what must hold after every step.
  void check_state() const;
  void check_requests() const;
  void check_limits() const;
  void check_least_recently_used() const;
  void check_snapshot() const;

  // witness_peers.cpp: what others get, and give back.
  bool is_pinned(const Child& child) const { return pins_.contains(ModelName(child.kind().name)) && !child.lent; }
  bool peers_only(const Child& child) const { return child.lent && child.leases == child.peers; }
  bool owner_waits(std::optional<std::size_t> animal = std::nullopt) const;
  std::size_t owners_waiting() const;
  bool waits_known(const Instance& load) const;
  Bytes2 lent() const;
  Bytes2 may_lend() const;
  bool too_much_is_lent() const;
  void check_lent_start(const StartLoad& action) const;
  void check_lent_stop(const Child& child, StopReason reason) const;
  void check_lent_first(const Child& child) const;
  void check_peer_answer(const Ticket& ticket, const Error& error) const;
  void follow_lent();
  void check_lent_time();
  void check_stays_lent(const Child& child) const;
  void check_lent() const;

  // witness_queue.cpp: who waits, how long, for whom.
  void check_queue_order();
  void check_passing() const;
  void check_slot_is_left(const Instance& ahead) const;
  void check_progress() const;
  void check_patience();
  void check_deadline() const;
  void check_pinned_out() const;

  // witness_memory.cpp: memory, idleness, pressure, the cap of the queue.
  void changed(const Bytes2& given);
  Bytes2 gives(const Child& child) const;
  bool is_shrinking(const Child& child) const;
  bool could_shrink(const Child& child) const;
  bool may_shrink(const Child& child) const;
  Bytes2 claimed(const Child* but = nullptr) const;
  Bytes2 needed(const ModelSpec& spec) const { return footprint_of(spec.memory).whole; }
  bool opted_in(const Child& child) const;
  double score(const Child& child) const;
  bool is_idle(const Child& child) const;
  bool is_wanted(const Child& child, const Bytes2& holds) const;
  bool is_under_pressure(const Child& child, const Bytes2& holds) const;
  bool fits_now(const ModelSpec& spec) const;
  bool is_promised(std::size_t animal, const Bytes2& need) const;
  void forget_promise(std::size_t animal);
  void check_admission(const StartLoad& action) const;
  void check_stop(const Child& child, StopReason reason) const;
  void check_shrink(const Child& child) const;
  void check_refusal(const Ticket& ticket, const Error& error) const;
  void check_memory();
  void check_idleness() const;
  void check_relief() const;
  void check_relieved(const Child& child) const;
  void check_downsizing_first(const Child& gone, const Bytes2& others) const;
  void check_passed_memory(const Instance& ahead) const;

  struct Blockers {
    bool requests = false;    // must wait for somebody who can't be stopped now
    bool slow = false;        // or for somebody who takes long to stop
    bool all_leaving = true;  // as many as must go are on their way
    bool memory = false;      // or for memory, or to hear how much there is
    bool look = false;        // or for a look at its files
    bool any() const { return requests || slow || memory || look; }
  };
  Blockers blockers(const Instance& load) const;
  bool is_front(std::size_t position) const;
  bool automatic_may_stop(const Child& child) const;
  bool is_leaving(InstanceId id) const;
  bool stops_slowly(const Child& child) const;
  bool may_come_back(const Instance& load) const;
  std::size_t live(ModelType type) const;
  bool waits(std::size_t animal) const;
  bool returns(std::size_t animal) const;
  std::string name(InstanceId id) const;

  const Core& core_;
  const FakeMemory& memory_;
  Settings settings_;
  std::set<ModelName> pins_;
  Now now_{};
  std::map<InstanceId, Child> children_;
  std::map<LeaseId, InstanceId> leases_;
  std::map<std::pair<InstanceId, InstanceId>, MonoTime> wanted_;  // by load and lent child: since when that is recalled
  std::set<LeaseId> peers_;                                       // leases of peers
  std::set<std::size_t> given_to_owner_;                          // in this step: models whose lease he got
  std::set<std::size_t> used_by_owner_;                   // in this step: models that he was given, or has pinned
  std::map<TicketId, Ticket> tickets_;                    // those that wait
  std::map<std::size_t, std::set<InstanceId>> retrying_;  // by model: who was there when its first attempt failed
  std::set<InstanceId> unloading_;
  std::optional<std::pair<TicketId, std::size_t>> must_be_granted_;
  std::optional<std::pair<TicketId, InstanceId>> must_wait_;
  std::vector<InstanceId> order_;         // of the queue
  std::vector<InstanceId> order_before_;  // the step
  std::optional<InstanceId> started_;     // in this step
  std::vector<InstanceId> stopped_;       // in this step, because they were used least recently
  std::map<InstanceId, MonoTime> blocked_since_;
  struct Failures {
    int in_a_row = 0;
    std::uint64_t options = 0;
    MonoTime cool_until;
  };
  std::map<std::size_t, Failures> failures_;
  std::map<std::size_t, Failures> crashes_;  // under requests
  struct Look {
    std::uint64_t check = 0;
    MonoTime asked;
    std::uint64_t options = 0;
  };
  std::map<InstanceId, Look> looks_;  // under way
  struct Looked {
    MonoTime time;
    Millis took{0};
    std::uint64_t options = 0;
  };
  std::map<InstanceId, Looked> looked_;      // the last one that found all there
  std::map<std::size_t, Looked> last_look_;  // of any load of the model
  std::set<TicketId> returning_;             // requests that came while their model was on its way out
  struct LastFault {
    std::size_t animal;
    std::uint64_t options;
    LoadFault fault;
    bool rejected;
  };
  std::optional<LastFault> last_fault_;  // in this step
  bool lent_failed_ = false;             // in this step: who joined that load has one of his own now
  struct Sample {
    MonoTime time;
    bool blind = false;
    bool mid_load = false;  // then the core takes the worse of what it knew and what it hears
    bool blurred =
        false;  // memory was on its way back for too long, or while others took or gave up some: who can tell
    Bytes2 available{};
    Bytes2 unexplained{};  // used, but not by what the core was told of our children
  };
  std::optional<Sample> sample_;   // the last one
  bool ledger_is_empty_ = true;    // the core can't note what is given up
  bool changed_since_ = true;      // something that a new one would show
  const Event* event_ = nullptr;   // of this step
  std::optional<MonoTime> asked_;  // for a sample
  bool watching_ = false;
  std::array<MonoTime, kPoolCount> given_{};                      // when children gave up memory last
  std::array<bool, kPoolCount> doubtful_{};                       // whether all of it has come back: until it has
  Bytes2 unexplained_then_{};                                     // and what was unexplained by the sample before
  std::map<std::size_t, SpecPtr> queued_;                         // loads that waited before this step
  std::vector<InstanceId> shrunk_now_;                            // told to downsize in this step
  std::vector<InstanceId> stopped_now_;                           // to stop
  std::vector<InstanceId> relieved_now_;                          // told to stop in this step, for memory or pressure
  std::map<std::size_t, std::array<bool, kPoolCount>> promised_;  // loads that waited for memory to come back
  // Loads for which the wait for memory was over when a child gave up more: they don't wait for that too.
  std::map<std::size_t, std::array<bool, kPoolCount>> waited_;
  std::optional<MonoTime> stuck_since_;
  std::set<InstanceId> fitting_;  // loads for which memory was free when another started
  std::size_t waiting_before_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t uses_ = 0;
};

// The NPU rule once more, written independently: may these two be in memory at a time?
bool npu_agrees(const Animal& a, const Animal& b);

}  // namespace corral::residency::simulation
