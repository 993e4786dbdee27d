// A simulated mesh that shares models out among its nodes: each has the real allotter and the real core of groups, over
// links, engines and workers that have faults (simulation/groups), memory that is finite, and words of others that come
// late. What must hold is looked at as time passes; when the faults stop and nobody wants anything else, all must come
// to rest, agree, and serve or explain every model.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>

#include "async/loop.h"
#include "fleet/allotment/allotter.h"
#include "simulation/allotment/op.h"
#include "simulation/groups/world.h"

namespace corral::fleet::allotment_simulation {

namespace groups = mesh::groups_simulation;

// How a life is, and what of it is broken on purpose, for tests of the checks.
struct TownSetting {
  unsigned nodes = 3;
  std::uint64_t seed = 0;
  bool hasty = false;      // groups are planned anew whenever somebody joins
  bool crowded = false;    // nodes give memory that they haven't got
  bool deaf = false;       // one node hears nothing that others say
  bool lame = false;       // what is to be loaded never is
  bool fickle = false;     // hosts give groups up that somebody uses
  bool boastful = false;   // nodes say that they have files that they haven't got
  bool sticky = false;     // what is given back stays
  bool unnoticed = false;  // engines end without faults and nobody hears of it
  bool fidgety = false;    // hosts share layers out anew again and again
};

struct TownOutcome {
  std::optional<groups::Violation> violation;
  std::uint64_t events = 0;  // steps of cores and allotters
  std::uint64_t loads = 0, unloads = 0, copies = 0;
  std::uint64_t plans = 0;   // of groups, that were wanted
  std::uint64_t causes = 0;  // what plans change for
  std::uint64_t starts = 0;  // of their engines
  std::vector<std::string> trace;
};

TownOutcome live(const std::vector<Op>& scenario, const TownSetting& setting, bool with_trace = false);

class Home;

class Town final : public groups::World {
 public:
  Town(const TownSetting& setting, bool with_trace);
  ~Town() override;

  void act(const Op& op);
  void come_to_rest();
  TownOutcome result();

 private:
  friend class Home;
  struct Model {
    std::string name;
    std::uint64_t bytes = 0;
  };
  // What a node was told by another.
  struct Mail {
    Millis due;
    std::shared_ptr<const mesh::NodeState> node_state;
    std::uint64_t epoch = 0;
  };

  void moved() override;
  std::uint64_t memory_of(unsigned at) const override;
  bool has_room(unsigned at, const Worker& worker) override;
  void started(unsigned at) override;
  void killed(unsigned at) override;
  void lost_letter() override { cause(); }

  void want(unsigned at, const Op& op);
  void split(unsigned at, unsigned model, unsigned other);
  void announce_all();
  void deliver();
  void use();
  void poll();
  void look(unsigned at);
  std::shared_ptr<const mesh::Catalog> catalog(unsigned at) const;
  std::uint64_t booked(unsigned at) const;
  bool serves(unsigned at, unsigned model) const;
  bool is_served(unsigned model) const;
  // Somebody has said something for which even a working group may go.
  void stir() { stirred_ = now_; }
  void check_reason_to_go(unsigned at, const mesh::ContentKey& model, const char* what);
  void check_memory();
  void check_orders();
  void learn_groups();
  void check_losses();
  // Something has happened for which plans may change; a plan has.
  void cause();
  void planned(unsigned at, const mesh::ContentKey& model);
  void check_loss(Home& home, const mesh::ContentKey& model);
  std::string unexplained() const;
  std::string disagreement() const;
  std::uint64_t changes() const { return loads_ + unloads_ + plans_ + ends_ + outcome_.starts; }
  static mesh::ContentKey key(unsigned model);
  unsigned model_of(const mesh::ContentKey& content) const;

  const TownSetting town_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  std::vector<Model> models_;
  std::vector<std::unique_ptr<Home>> homes_;
  std::map<std::pair<unsigned, unsigned>, std::deque<Mail>> mail_;  // from, to
  Millis stirred_{0};
  bool rests_ = false;  // all faults are over
  std::uint64_t loads_ = 0, unloads_ = 0, copies_ = 0, plans_ = 0, ends_ = 0, looks_ = 0;
  // Steps of a life but time, moments at which a node sees others come or go, and letters that are lost.
  std::uint64_t causes_ = 0;
  std::map<std::pair<unsigned, mesh::ContentKey>, unsigned> planned_;  // since the last of them
};

}  // namespace corral::fleet::allotment_simulation
