// Simulated groups: nodes with the real core, on links, engines and workers that have faults. What must hold is looked
// at after each event; when the faults stop, every plan must stand that nobody stands in the way of.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mesh/groups/groups.h"
#include "simulation/dice.h"
#include "simulation/groups/op.h"

namespace corral::mesh::groups_simulation {

using corral::simulation::Dice;

struct Violation {
  std::string rule;
  std::string detail;
};

struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t events = 0;  // that cores were told
  std::uint64_t starts = 0;  // of engines
  std::uint64_t grants = 0;
  std::uint64_t refusals = 0;
  std::vector<std::string> trace;
};

struct Setting {
  unsigned nodes = 3;
  std::uint64_t seed = 0;
  GrantRules rules = {};  // of hosts and nodes
  // For tests of the checks: a world in which something else is broken.
  std::optional<Millis> patience_of_hosts = std::nullopt;
  std::optional<Millis> answer_of_hosts = std::nullopt;
  bool forgetful = false;      // nobody remembers who had it in the life before
  bool reaps_at_once = false;  // workers are said to be gone before they are
  bool slow_to_stop = false;   // engines take their time
};

// Lives the life, then ends all faults and looks whether the groups come to stand.
Outcome live(const std::vector<Op>& scenario, const Setting& setting, bool with_trace = false);

// Worlds with more in them are made on top of it (simulation/allotment).
class World {
 public:
  World(const Setting& setting, bool with_trace);
  virtual ~World() = default;
  void apply(const Op& op);
  void end_faults();
  Outcome& outcome() { return outcome_; }

 protected:
  static constexpr Millis kStep{50};
  static constexpr Millis kNever = Millis::max();

  struct Engine {
    GroupPlan plan;
    PlanTerm of;
    Millis drained = kNever;  // when it will be
    Millis ends = kNever;
  };
  struct Worker {
    NodeId host;
    ContentKey model;
    PlanTerm of;
    Millis gone = kNever;
    std::uint64_t bytes = 0;
    bool works = true;  // it got its memory
  };
  // What a node knows of its link to another.
  struct End {
    bool up = false;
    std::uint64_t epoch = 0;        // of the other
    std::optional<Millis> trouble;  // since when nothing comes, or nothing comes back
    Millis patience{0};             // until it is noticed
  };
  struct Node {
    NodeId id;
    Millis clock{0};  // what its clock is ahead by
    std::optional<Groups> groups;
    std::uint64_t epoch = 0;       // on its disk
    std::optional<NodeId> former;  // on its disk
    bool paused = false;
    bool lends = true;
    Millis resumed{-1'000'000};
    std::vector<End> ends;
    std::optional<Engine> engine;
    std::optional<Worker> worker;
    Millis troubled{-1'000'000};  // was killed, stopped, recalled, or told another plan
    bool runs() const { return groups && !paused; }
  };
  struct Letter {
    Millis due;
    unsigned from, to;
    std::uint64_t epoch_from, epoch_to;
    GroupMessage message;
  };

  // What more there is.
  virtual void moved() {}  // a step of time is over
  virtual std::uint64_t memory_of(unsigned) const { return 100; }
  virtual bool has_room(unsigned, const Worker&) { return true; }
  virtual void started(unsigned) {}
  virtual void killed(unsigned) {}
  virtual void lost_letter() {}

  // world.cpp: steps, and what they do to nodes.
  void pass(Millis time);
  void start(unsigned at);
  void kill(unsigned at);
  void heal_all();
  void want(const Op& op);
  void set_path(unsigned from, unsigned to, bool whole);
  GroupPlan plan_of(const Op& op) const;
  // Calls the core of a node, if it runs, and does what that says, one after the other.
  void call_core(unsigned at, const auto& call) {
    if (!nodes_[at].runs()) return;
    ++outcome_.events;
    call(*nodes_[at].groups);
    for (const auto& effect : nodes_[at].groups->take()) carry_out(at, effect);
    check();
  }
  void carry_out(unsigned at, const GroupEffect& effect);
  void send(unsigned from, unsigned to, const GroupMessage& message);
  void note(std::string line);

  // physics.cpp: what happens by itself in time.
  void move_links();
  void bring_up(unsigned a, unsigned b);
  void take_down(unsigned a, unsigned b, LinkEnd how, Millis received);
  bool is_troubled(unsigned a, unsigned b) const;
  void move_letters();
  void move_processes();

  // checks.cpp
  void check();
  void check_leases(unsigned at);
  void check_engine(unsigned at);
  void check_lost(unsigned at);
  void check_claims(unsigned at);
  void check_given_up(unsigned at);
  void check_claim(unsigned at, unsigned of, const GrantRequest& ask);
  void check_reason(unsigned at, const char* what);
  bool stands(std::string& why) const;
  void fail(std::string rule, std::string detail);

  BootTime clock_of(unsigned at) const { return BootTime(now_ + nodes_[at].clock); }
  unsigned number_of(const NodeId& id) const;

  Setting setting_;
  bool with_trace_;
  Outcome outcome_;
  Dice dice_;
  Millis now_{1'000'000};
  std::deque<Node> nodes_;  // in the order of ids
  std::set<std::pair<unsigned, unsigned>> broken_;
  std::map<std::pair<unsigned, unsigned>, Millis> received_at_;  // when `first` heard `second` last over a link
  std::map<std::pair<unsigned, unsigned>, Millis> troubled_;     // pairs: cut, healed, a letter lost
  std::map<std::pair<unsigned, unsigned>, Millis> may_dial_;
  struct Claim {
    PlanTerm of;
    Millis since;
  };
  std::map<std::pair<unsigned, ContentKey>, Claim> claims_;             // that go on
  std::map<std::pair<unsigned, ContentKey>, Millis> held_for_nothing_;  // since when: see check_given_up()
  std::vector<Letter> letters_;
  std::uint32_t loss_ = 0, doubled_ = 0, longest_ = 50;
  std::uint64_t disturbances_ = 0;  // engines that were drained or stopped
};

}  // namespace corral::mesh::groups_simulation
