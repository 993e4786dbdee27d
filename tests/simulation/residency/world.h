// A fake world around one core: children that take their time, fail, crash and hang, requests that hold leases, people
// who change their minds. Deterministic: the same life gives the same run.
#pragma once

#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "residency/core.h"
#include "simulation/residency/fake_memory.h"
#include "simulation/residency/op.h"
#include "simulation/residency/witness.h"

namespace corral::residency::simulation {

struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t events = 0;        // what the core was told
  std::vector<std::string> trace;  // everything that was said, when asked for
};

// Lives the life, then brings the house to rest and shuts it down.
Outcome live(const std::vector<Op>& scenario, bool with_trace = false);

class World {
 public:
  explicit World(bool with_trace);
  void apply(const Op& op);
  // All models load again, nobody crashes: everything that waits comes to its end.
  void come_to_rest();
  void shut_down();
  Outcome& outcome() { return outcome_; }

 private:
  struct Timer {
    enum class Kind : std::uint8_t {
      load_ends,
      stop_ends,
      lease_ends,
      wake,
      shrinks,        // a child that was told to downsize does so, if it is idle
      downsize_ends,  // and says so
      sampled,
      watched,
      memory_back,
      looked,  // at the files of a load
      dies,    // a child, if requests run on it
    };
    MonoTime time;
    std::uint64_t nth = 0;  // first set, first fired
    Kind kind = Kind::wake;
    std::uint64_t id = 0;
    bool operator>(const Timer& other) const { return std::tie(time, nth) > std::tie(other.time, other.nth); }
  };

  void acquire(const Op& op, RequestOrigin origin);
  void change_settings();
  void ask(const Ticket& ticket, auto event_for);
  void send(const Event& event);
  void act(const ActionList& actions);
  void pass(Millis time);
  void fire(const Timer& timer);
  void load_ends(InstanceId instance);
  void stop_ends(InstanceId instance);
  void look(const CheckLoad& asked);
  void looked(std::uint64_t check);
  void dies(InstanceId instance);
  SpecPtr spec_of_load(const Op& op, std::uint64_t options, RequestOrigin origin = RequestOrigin::local) const;
  // world_memory.cpp
  void begin(const StartLoad& action);
  void gone(InstanceId instance);
  void used(InstanceId instance);
  void shrinks(InstanceId instance);
  void downsize_ends(InstanceId instance);
  void sampled();
  void watch(bool on);
  void watched();
  bool fits(InstanceId instance) const;
  void set_traits(const Op& op);
  void set(Timer::Kind kind, std::uint64_t id, Millis in);
  Millis load_time(std::size_t animal);
  Millis stop_time(InstanceId instance);
  bool chance(InstanceId instance, std::uint32_t percent);
  void hold(LeaseId lease, Millis time);
  void trace(std::string line);
  std::int64_t since_birth() const { return (now_.mono - MonoTime{} - std::chrono::hours(1)) / Millis{1}; }
  std::string label(InstanceId id) const;

  Outcome outcome_;
  bool with_trace_;
  Core core_;
  FakeMemory memory_;
  Witness witness_;
  Now now_;
  std::array<std::uint64_t, kZoo.size()> loads_{};
  std::array<Fate, kZoo.size()> fates_{};
  std::array<Traits, kZoo.size()> traits_{};
  struct Disk {
    bool known = false;  // else loads need no look
    std::uint8_t choice = 0;
    Millis takes{1};
  };
  std::array<Disk, kZoo.size()> disks_{};
  std::map<std::uint64_t, CheckLoad> looks_;       // under way, by number
  std::map<InstanceId, bool> downsizes_;           // told, and whether it worked
  std::vector<FakeMemory::Late> on_its_way_;       // by the id of the timer
  Op lends_{.kind = Op::Kind::lend, .choice = 2};  // the last one
  Settings usual_;                                 // but for what is lent
  Millis latency_{1};
  Millis lateness_{0};
  bool blind_ = false;
  bool deaf_ = false;
  bool watching_ = false;
  bool watch_set_ = false;
  bool resting_ = false;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::optional<MonoTime> wake_;
  std::uint64_t timers_set_ = 0;
  std::uint64_t last_ticket_ = 0;
  ActionList actions_;
  InstanceId granted_on_{0};
};

}  // namespace corral::residency::simulation
