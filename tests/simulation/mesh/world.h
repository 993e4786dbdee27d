// A simulated mesh: nodes with the real gossip, book, catalog and choice, on a ground that has faults. What must hold
// is looked at after each step; when the faults stop, all must come to agree.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mesh/catalog/choice.h"
#include "mesh/gossip/gossip.h"
#include "simulation/mesh/ground.h"
#include "simulation/mesh/later.h"
#include "simulation/mesh/op.h"
#include "simulation/mesh/requests.h"

namespace corral::mesh::simulation {

struct Violation {
  std::string rule;
  std::string detail;
};

struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t events = 0;  // that nodes were told: frames, links, members, steps of time with work, requests
  std::uint64_t downs = 0;   // of links, that nodes saw
  std::uint64_t choices = 0;
  std::uint64_t accepted = 0;                                          // announcements
  std::uint64_t refused = 0;                                           // lies
  std::uint64_t conflicts = 0;                                         // names that meant several contents
  std::uint64_t answered = 0, failed = 0, replayed = 0, not_here = 0;  // requests
  std::vector<std::string> trace;
};

struct Setting {
  unsigned nodes = 3;
  bool links = false;      // the real link protocol
  bool real_keys = false;  // true signatures
  std::uint64_t seed = 0;
  // For tests of the checks: a world in which something is broken.
  bool forgets_names = false;  // what nodes said that can't be reached counts for nothing
  bool strict_pages = false;   // pages with something in them that isn't known aren't taken
  BrokenLinks broken_links = {};
  BrokenRequests broken_requests = {};
};

// Lives the life, then ends all faults and looks whether the nodes come to agree.
Outcome live(const std::vector<Op>& scenario, const Setting& setting, bool with_trace = false);

class World {
 public:
  World(const Setting& setting, bool with_trace);
  ~World();
  void apply(const Op& op);
  void end_faults();
  void stop();
  void count_requests();
  Outcome& outcome() { return outcome_; }

 private:
  // Counts what gossip is told.
  struct Ear final : PeerEvents {
    explicit Ear(Outcome& counted) : outcome(counted) {}
    void link_up(const NodeId& peer, const Hello& hello) override {
      forward([&] { gossip->link_up(peer, hello); });
    }
    void link_down(const NodeId& peer, const Closing& why) override {
      ++outcome.downs;
      forward([&] { gossip->link_down(peer, why); });
    }
    void frame(const NodeId& peer, const Frame& frame) override {
      if (mute && frame.kind == FrameKind::ask_pages) return;
      if (strict && frame.kind == FrameKind::pages && speaks_later(frame.payload)) return;
      forward([&] { gossip->frame(peer, frame); });
    }
    void reach_changed() override {
      forward([&] { gossip->reach_changed(); });
    }
    void members_changed() override {
      forward([&] { gossip->members_changed(); });
    }
    void epoch_changed(const Boot& boot) override {
      forward([&] { gossip->epoch_changed(boot); });
    }
    void forward(const auto& call) {
      ++outcome.events;
      call();
    }
    Outcome& outcome;
    Gossip* gossip = nullptr;
    bool mute = false;
    bool strict = false;
  };
  struct Process {
    std::unique_ptr<Ear> ear;
    std::unique_ptr<Gossip> gossip;
    Peers* peers;
    std::unique_ptr<RequestPeer> request_peer;  // on real links
  };
  struct Node {
    std::optional<SigningKey> key;
    std::optional<Process> process;
    std::uint64_t epoch = 0;  // on its disk
    std::uint64_t starts = 0;
    std::uint64_t changes = 0;  // of its state, in this life
    NodeState truth;
    std::string tag;   // of what it said last
    MonoTime since{};  // of running, or of not running
    MonoTime resumed{};
    bool paused = false;
    bool liar = false;  // has lied: of what it says of itself nothing is expected
    bool revoked = false;
    MonoTime revoked_at{};
    NodeId revoked_by;
    bool full = false;
    bool later = false;                   // of a later version, from its next start
    bool speaks_later = false;            // its process
    std::optional<MonoTime> looks_until;  // it was just started, and knows its models then
    std::map<NodeId, std::map<std::string, std::optional<Sha256>>> names;  // what they said, in this life of the node
    std::map<NodeId, HeadStamp> newest;                                    // seen in its book, in this life
    std::map<NodeId, std::shared_ptr<const NodeState>> compared;           // with what was said
  };
  struct OldAnnouncement {
    Head head;
    std::vector<Page> pages;
  };

  // world.cpp
  void start(unsigned node, std::uint8_t loss);
  void kill(unsigned node);
  void change_state(unsigned node, std::uint8_t choice);
  void announce(unsigned node);
  void look(unsigned node);
  void lose(unsigned node, std::uint8_t choice);
  void ask(unsigned node, const Op& op);
  void set_cut(unsigned from, unsigned to, bool cut);
  void pass(Millis time);
  void note(std::string line);
  NodeId id_of(unsigned node) const { return nodes_[node].key->id(); }
  std::optional<unsigned> number_of(const NodeId& id) const;
  std::optional<MonoTime> broken_since(unsigned a, unsigned b) const;
  // lies.cpp
  void lie(unsigned node, unsigned about, std::uint8_t choice);
  void send_from(unsigned node, const Frame& frame);
  // checks.cpp
  void check();
  void check_node(unsigned at);
  void check_word(unsigned at, const KnownNode& known);
  void check_catalog(unsigned at);
  void check_thrown_out(unsigned at, const std::vector<KnownNode>& all);
  void remember_names(unsigned at, const std::vector<KnownNode>& all);
  void check_names(unsigned at, const Catalog& catalog, const std::vector<KnownNode>& all);
  void check_hashed_names(unsigned at, const Catalog& catalog, const Catalog::Found& found);
  void check_unknown(unsigned at, const Catalog& catalog, const std::vector<KnownNode>& all);
  void check_choice(unsigned at, const Op& op);
  void end_requests();
  void stay_quiet();
  std::shared_ptr<const Catalog> catalog_of(unsigned at);
  bool agree(std::string& why) const;
  void fail(std::string rule, std::string detail);

  Setting setting_;
  bool with_trace_;
  Outcome outcome_;
  Dice dice_;
  MeshId mesh_;
  std::unique_ptr<Ground> ground_;
  Ledger ledger_;
  std::uint64_t asked_ = 0;
  std::vector<Node> nodes_;
  std::map<std::pair<unsigned, unsigned>, MonoTime> cuts_;
  std::map<std::string, NodeState> log_;  // all that honest nodes said, by tag
  std::vector<OldAnnouncement> old_;      // announcements, for liars
  std::uint64_t steps_ = 0;
  unsigned keys_ = 0;
  bool slow_ = false;
};

// A signature that costs nothing: a hash that liars in the simulation don't make for others.
void sign_cheaply(Head& head);
bool is_cheaply_signed(const Head& head);

}  // namespace corral::mesh::simulation
