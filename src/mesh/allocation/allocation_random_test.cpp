// What must hold for every situation, tried with many by lot.
#include <set>

#include "base/split_mix.h"
#include "mesh/allocation/allocation.h"
#include "mesh/allocation/allocation_fixture_for_tests.h"

namespace corral::mesh {
namespace {

class RandomAllocation : public AllocationFixture {
 protected:
  std::uint64_t roll(std::uint64_t sides) { return rng.next() % sides; }
  bool chance(unsigned percent) { return roll(100) < percent; }

  void make(std::uint64_t seed, unsigned nodes, unsigned models) {
    rng = SplitMix(seed);
    situation = {};
    links.clear();
    for (unsigned number = 0; number < models; ++number) {
      auto& one = model("m" + std::to_string(number), 1 + roll(chance(20) ? 60 : 12));
      one.may_copy = chance(70);
      if (chance(30)) one.per_hour = static_cast<double>(roll(200));
      one.wanted = chance(20);
      one.resting = chance(10);
      one.unload_ordered = chance(3);
    }
    for (unsigned number = 1; number <= nodes; ++number) {
      auto& one = node(number, 2 + roll(30), {}, chance(70) ? Role::worker : chance(80) ? Role::member : Role::client);
      one.takes_copies = chance(80);
      for (const auto& known : situation.models) {
        if (chance(25)) one.on_disk.push_back(known.content);
      }
      if (chance(5)) one.order = NodeOrder{situation.models[roll(models)].content};
      if (chance(3)) one.order = NodeOrder{};
      for (const auto& known : situation.models) {
        if (chance(2)) one.declines.push_back(known.content);
        if (known.unload_ordered && chance(50)) one.gives_back.push_back(known.content);
      }
    }
    for (auto& one : situation.models) {
      if (!chance(3)) continue;
      for (const auto& known : situation.nodes) {
        if (one.split_over.size() < 4 && chance(30)) one.split_over.push_back(known.id);
      }
      std::ranges::sort(one.split_over);
    }
    if (nodes <= 64) return;
    // As many as a node keeps.
    links.clear();
    for (const auto& one : situation.nodes) {
      for (int link = 0; link < 31; ++link)
        links.push_back({one.id, situation.nodes[roll(nodes)].id, 200 + roll(5000), 0});
    }
  }
  void shuffle() {
    mix(situation.nodes);
    mix(situation.models);
    mix(links);
    for (auto& link : links) {
      if (chance(50)) std::swap(link.a, link.b);
    }
    for (auto& node : situation.nodes) {
      mix(node.on_disk);
      mix(node.holds);
      mix(node.declines);
      mix(node.gives_back);
    }
    for (auto& model : situation.models) mix(model.copying);
  }
  template <class T>
  void mix(std::vector<T>& list) {
    for (auto i = list.size(); i > 1; --i) std::swap(list[i - 1], list[roll(i)]);
  }
  // Time goes by where much is held: some is idle, some is asked for, nodes go, owners want theirs back.
  void stir() {
    for (auto& one : situation.models) {
      one.per_hour = chance(40) ? static_cast<double>(roll(300)) : 0;
      if (chance(20)) one.resting = !one.resting;
      if (chance(5)) one.unload_ordered = true;
      for (const auto& node : situation.nodes)
        if (chance(3)) one.copying.push_back(node.id);
    }
    for (auto& node : situation.nodes) {
      node.just_gone = chance(8);
      node.recalled = chance(8);
      node.works = chance(85);
      node.engine = chance(80) ? "one" : "other";
      if (chance(10)) node.cpu.now /= 2;
      for (auto& held : node.holds) {
        held.idle_ms = chance(50) ? roll(4'000'000) : 0;
        held.draining = chance(5);
        held.by_hand = chance(5);
      }
    }
  }
  void check(const Allocation& allocation) {
    std::set<NodeId> given;
    for (const auto& got : allocation.assignments) {
      ASSERT_TRUE(given.insert(got.node).second) << "two models at one node: " << got.why;
      const auto& node = *std::ranges::find(situation.nodes, got.node, &AllocationNode::id);
      const auto& model = of(name_of_model(got.model));
      ASSERT_NE(node.role, Role::client);
      ASSERT_FALSE(got.why.empty());
      if (got.part == Part::alone || got.part == Part::replica) {
        ASSERT_LE(model.need, node.cpu.total) << got.why;
      }
      if (!got.priority) continue;
      const bool declined = std::ranges::find(node.declines, got.model) != node.declines.end();
      ASSERT_TRUE(!declined || got.priority == Priority::ordered) << got.why;
      ASSERT_TRUE(!model.unload_ordered || got.priority == Priority::ordered) << got.why;
      ASSERT_TRUE(!model.resting || model.per_hour > 0 || got.priority == Priority::ordered) << got.why;
      if (got.fetch == Fetch::none && (got.part == Part::alone || got.part == Part::replica)) {
        ASSERT_TRUE(std::ranges::find(node.on_disk, got.model) != node.on_disk.end()) << got.why;
      }
    }
    for (const auto& split : allocation.splits) {
      const auto& over = of(name_of_model(split.model)).split_over;
      ASSERT_TRUE(over.empty() || over.size() == split.plan.shares.size());
      for (const auto& share : split.plan.shares) {
        const auto& node = *std::ranges::find(situation.nodes, share.node, &AllocationNode::id);
        ASSERT_LE(share.total(), node.cpu.total);
        ASSERT_TRUE(std::ranges::any_of(allocation.assignments, [&](const auto& got) {
          return got.node == share.node && got.model == split.model && got.part == Part::share;
        }));
      }
    }
    // Served, assigned or explained.
    std::set<ContentKey> known;
    for (const auto& node : situation.nodes) {
      for (const auto& held : node.holds) known.insert(held.model);
    }
    for (const auto& got : allocation.assignments) known.insert(got.model);
    for (const auto& entry : allocation.unserved) {
      known.insert(entry.model);
      ASSERT_FALSE(entry.why.empty());
    }
    ASSERT_EQ(known.size(), situation.models.size());
  }
  // Who works: neither moved nor told to go, whoever joins.
  std::set<std::pair<NodeId, ContentKey>> kept(const Allocation& allocation) const {
    std::set<std::pair<NodeId, ContentKey>> kept;
    for (const auto& got : allocation.assignments) {
      if (!got.priority) kept.insert({got.node, got.model});
    }
    return kept;
  }
  SplitMix rng{1};
};

TEST_F(RandomAllocation, IsTheSameForAnyOrderOfItsInput) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    make(seed, static_cast<unsigned>(2 + seed % 31), static_cast<unsigned>(1 + seed % 20));
    const auto first = decide();
    shuffle();
    ASSERT_EQ(decide(), first) << seed;
  }
}

// What is kept, let go, taken from others and given up for others.
TEST_F(RandomAllocation, IsTheSameForAnyOrderOfItsInputWhereMuchIsHeld) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    make(seed, static_cast<unsigned>(2 + seed % 31), static_cast<unsigned>(1 + seed % 20));
    for (int round = 0; round < 3; ++round) {
      settle(decide());
      stir();
      const auto first = decide();
      shuffle();
      ASSERT_EQ(decide(), first) << seed;
    }
  }
}

TEST_F(RandomAllocation, BooksNothingTwiceAndExplainsWhatItLeavesOut) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    make(seed, static_cast<unsigned>(2 + seed % 31), static_cast<unsigned>(1 + seed % 20));
    for (int round = 0; round < 3; ++round) {
      const auto allocation = decide();
      check(allocation);
      ASSERT_FALSE(HasFatalFailure()) << seed;
      settle(allocation);
    }
  }
}

TEST_F(RandomAllocation, ComesToRest) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    make(seed, static_cast<unsigned>(2 + seed % 31), static_cast<unsigned>(1 + seed % 20));
    Allocation last;
    for (int round = 0; round < 4; ++round) settle(last = decide());
    // Nothing was idle: what has something keeps it.
    const auto again = decide();
    EXPECT_TRUE(again.unloads.empty()) << seed;
    EXPECT_TRUE(again.splits.empty()) << seed;
    for (const auto& got : again.assignments)
      EXPECT_TRUE(!got.priority || got.part == Part::standby) << seed << ": " << got.why;
  }
}

TEST_F(RandomAllocation, AJoinMovesNobody) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    make(seed, static_cast<unsigned>(2 + seed % 31), static_cast<unsigned>(1 + seed % 20));
    for (int round = 0; round < 4; ++round) settle(decide());
    const auto before = kept(decide());
    node(99, 5 + roll(60), {situation.models.front().name});
    const auto joined = decide();
    EXPECT_EQ(kept(joined), before) << seed;
    EXPECT_TRUE(joined.unloads.empty()) << seed;
  }
}

TEST_F(RandomAllocation, AThousandNodes) {
  make(7, 1000, 200);
  const auto allocation = decide();
  check(allocation);
  shuffle();
  EXPECT_EQ(decide(), allocation);
}

// Each could hold a share of each, and no host has links to as many as it takes: all hosts and distances are tried.
TEST_F(RandomAllocation, AThousandNodesWithTooFewLinksForAnyModel) {
  make(7, 1000, 200);
  for (auto& node : situation.nodes) {
    node.role = Role::worker;
    node.order.reset();
    node.on_disk.clear();
    node.cpu = node.gpu = {30 * kGB, 30 * kGB, 30 * kGB};
  }
  links.resize(2 * situation.nodes.size());
  for (std::size_t link = 0; link < links.size(); ++link) links[link].a = situation.nodes[link / 2].id;
  for (auto& model : situation.models) {
    model.bytes = model.need = 300 * kGB;
    model.may_copy = model.wanted = true;
    model.unload_ordered = model.resting = false;
  }
  const auto allocation = decide();
  check(allocation);
  EXPECT_EQ(allocation.unserved.size(), 200u);
  EXPECT_TRUE(
      std::ranges::any_of(allocation.unserved, [](const auto& one) { return one.reason == UnservedReason::no_links; }));
  EXPECT_TRUE(allocation.splits.empty());
}

}  // namespace
}  // namespace corral::mesh
