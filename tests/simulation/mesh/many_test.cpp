// Hundreds of nodes, a thousand by CORRAL_SIMULATION_NODES: announcements, and the catalog of a node that has a link to
// each. Of the others each has links to a few: all of them would be half a million.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "mesh/catalog/catalog_fixture_for_tests.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "mesh/gossip/gossip.h"
#include "mesh/support_for_tests.h"
#include "simulation/length.h"
#include "simulation/mesh/world.h"

namespace corral::mesh::simulation {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1} << 34;
constexpr unsigned kLinks = 8;

class ManyNodes : public testing::Test {
 protected:
  struct Node {
    SigningKey key;
    std::unique_ptr<FakePeers> peers;
    std::unique_ptr<Gossip> gossip;
    NodeState truth;
    bool alive = true;
  };

  void make(unsigned count) {
    for (unsigned number = 0; number < count; ++number) {
      keys_.push_back(test_key(number + 1).public_key());
      numbers_.emplace(node_id(keys_.back()), number);
    }
    for (unsigned number = 0; number < count; ++number) {
      nodes_.push_back({test_key(number + 1), nullptr, nullptr, {}, true});
      begin(number, 1);
    }
  }
  void begin(unsigned number, std::uint64_t epoch) {
    auto& node = nodes_[number];
    node.alive = true;
    node.peers = std::make_unique<FakePeers>(air_, keys_[number], Boot{epoch, {static_cast<std::uint8_t>(epoch)}});
    GossipOptions options;
    options.standing = [](const PublicKey&) { return MembershipStatus::member; };
    options.sign = sign_cheaply;
    options.genuine = is_cheaply_signed;
    node.gossip = std::make_unique<Gossip>(*node.peers, timers_, loop_.executor(), node.key, options);
    node.peers->listen(*node.gossip);
    announce(number);
  }
  void announce(unsigned number) {
    auto& node = nodes_[number];
    auto& node_state = node.truth;
    node_state.name = fmt::format("n{}.{}", number, ++changes_);
    node_state.memory = {{"cpu", false, kMemory, kMemory, 0, kMemory}};
    if (node_state.models.empty()) node_state.models.resize(1);
    node_state.models.front().name = fmt::format("m{}", number % 100);
    node_state.models.front().hash = sha256({node_state.models.front().name});
    node_state.models.front().bytes = 10;
    node.gossip->announce(node_state);
  }
  void link(unsigned a, unsigned b) {
    if (a == b || !nodes_[a].alive || !nodes_[b].alive || nodes_[a].peers->is_up(nodes_[b].peers->own())) return;
    air_.up(*nodes_[a].peers, *nodes_[b].peers);
  }
  // To node 0, and to some that chance chose.
  void link_some(unsigned number, Dice& dice) {
    link(0, number);
    for (unsigned i = 0; i < kLinks; ++i) link(number, dice.roll(static_cast<unsigned>(nodes_.size())));
  }
  void kill(unsigned number) {
    auto& node = nodes_[number];
    for (auto& other : nodes_) {
      if (other.alive && &other != &node) air_.down(*node.peers, *other.peers);
    }
    node.alive = false;
  }
  void settle() {
    for (int i = 0; i < 200; ++i) {
      air_.deliver_all();
      timers_.advance(Millis(100));
      bool busy = false;
      for (auto& node : nodes_) {
        if (!node.alive || !node.gossip->busy()) continue;
        busy = true;
        node.gossip->tick();
      }
      if (!busy && air_.under_way.empty()) return;
    }
    ADD_FAILURE() << "no rest within 20 s";
  }
  // Links over which the last word hasn't come, either way.
  std::size_t behind() {
    std::size_t count = 0;
    for (const auto& node : nodes_) {
      if (!node.alive) continue;
      for (const auto& other : nodes_) {
        if (!other.alive || !node.peers->is_up(other.peers->own())) continue;
        const auto* known = node.gossip->store().find(other.key.id());
        count += !known || known->statement->name != other.truth.name;
      }
    }
    return count;
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  FakeAir air_;
  std::vector<Node> nodes_;
  std::vector<PublicKey> keys_;
  std::map<NodeId, unsigned> numbers_;
  std::uint64_t changes_ = 0;
};

TEST_F(ManyNodes, EachHearsItsPeers) {
  const auto count = static_cast<unsigned>(corral::simulation::from_environment("CORRAL_SIMULATION_NODES", 200));
  Dice dice(corral::simulation::from_environment("CORRAL_SIMULATION_SEED", 1));
  make(count);
  for (unsigned number = 1; number < count; ++number) link_some(number, dice);
  settle();
  EXPECT_EQ(behind(), 0u);
  const auto whole = air_.delivered;
  // A few change, die, and come back in another life.
  for (int round = 0; round < 3; ++round) {
    std::set<unsigned> gone;
    while (gone.size() < 10) gone.insert(1 + dice.roll(count - 1));
    for (const auto number : gone) kill(number);
    for (int i = 0; i < 20; ++i) {
      const auto number = dice.roll(count);
      if (nodes_[number].alive) announce(number);
    }
    settle();
    EXPECT_EQ(behind(), 0u);
    for (const auto number : gone) begin(number, static_cast<std::uint64_t>(round) + 2);
    for (const auto number : gone) link_some(number, dice);
    settle();
    EXPECT_EQ(behind(), 0u);
  }
  // What node 0 makes of all: each model once, at all of its nodes, in any order.
  std::vector<KnownNode> known;
  for (const auto& node : nodes_) {
    const auto* announcement = nodes_.front().gossip->store().find(node.key.id());
    known.push_back(
        {node.key.id(), &node == &nodes_.front() ? Reach::own : Reach::linked, {}, announcement->statement});
  }
  const auto catalog = make_catalog(known);
  EXPECT_EQ(catalog->models().size(), std::min(100u, count));
  std::size_t copies = 0;
  for (const auto& model : catalog->models()) copies += model.copies.size();
  EXPECT_EQ(copies, count);
  std::ranges::reverse(known);
  const auto again = make_catalog(known);
  for (std::size_t i = 0; i < catalog->models().size(); ++i) {
    EXPECT_EQ(again->models()[i].name, catalog->models()[i].name);
    EXPECT_EQ(nodes_with(again->models()[i]), nodes_with(catalog->models()[i]));
    ChoiceQuery query;
    EXPECT_EQ(choose(*again, again->models()[i], query).node, choose(*catalog, catalog->models()[i], query).node);
  }
  fmt::print("{} nodes, {} frames until all knew their peers, {} in all\n", count, whole, air_.delivered);
}

}  // namespace
}  // namespace corral::mesh::simulation
