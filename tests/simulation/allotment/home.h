// One node of a town: what it has on its disk and in memory, and what it believes of the others.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>

#include "simulation/allotment/town.h"

namespace corral::fleet::allotment_simulation {

class Home final : public AllotActions, public GroupControl {
 public:
  struct Lent {
    Millis used{0};
    bool ready = false;
  };
  struct Load {
    unsigned model = 0;
    Millis ends{0};
    std::function<void(Result<>)> done;
  };
  struct Copy {
    unsigned model = 0;
    Millis ends{0};
  };
  // Another node, as its words and its link show it.
  struct Known {
    std::shared_ptr<const mesh::NodeState> node_state;
    std::uint64_t epoch = 0;
    bool linked = false;
    MonoTime since{};
  };

  // A group that it has heard of, as long as that stands.
  struct KnownGroup {
    unsigned host = 0;
    std::set<unsigned> nodes;
    Millis since{0};
  };
  // One of them whose node was killed.
  struct Loss {
    unsigned gone = 0;
    Millis since{0};
    std::optional<Millis> could;  // be planned anew here, since then
  };

  Home(Town& in, unsigned number) : town(in), at(number) {}

  void start();
  void stop();
  void step();
  mesh::NodeState current_state() const;
  // Of its own accord, as a request has it: what is there is used.
  bool take(unsigned model, std::function<void(Result<>)> done);
  std::uint64_t held() const;             // bytes of models that are lent
  std::uint64_t reported_memory() const;  // as others and its own core hear of it

  void load(ModelName model, std::function<void(Result<>)> done) override;
  void unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) override;
  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) override;
  void end(const mesh::ContentKey& model) override;
  std::vector<HostedGroup> hosted() const override;
  std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const override;
  std::vector<mesh::NodeId> lost() const override;
  std::optional<SharedMemory> shared() const override;
  void take_back() override;
  bool recalled() const override;

  Millis now() const;
  const mesh::Groups* groups() const;
  Result<> copy(const mesh::MeshModel& model);
  void fidget();

  Town& town;
  const unsigned at;
  std::uint64_t memory = 0;
  mesh::Role role = mesh::Role::worker;
  std::set<unsigned> disk;
  std::string marks;  // what people have ordered, on the disk
  std::map<unsigned, double> asked;
  std::map<unsigned, Lent> lent;
  std::list<Load> loads;
  std::list<Copy> copies;
  std::map<mesh::ContentKey, Millis> used;  // groups here: their last requests
  std::set<mesh::ContentKey> by_hand;
  std::set<unsigned> orders;  // splits that people have ordered here
  std::map<mesh::ContentKey, KnownGroup> known_groups;
  std::map<mesh::ContentKey, Loss> losses;
  bool taken_back = false;  // lends again when it is
  std::map<unsigned, Known> known;
  mesh::NodeState node_state;
  bool announced = false;  // `said` is of this life
  std::unique_ptr<Allotter> allotter;
};

}  // namespace corral::fleet::allotment_simulation
