#include "mesh/catalog/choice.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"
#include "mesh/catalog/route_memory.h"

namespace corral::mesh {
namespace {

using testing::HasSubstr;

class ChoiceTest : public CatalogFixture {
 protected:
  ChoiceTest() { add(1, Reach::own); }
  Choice choose_now() {
    all = catalog();
    const auto found = all->find("m");
    return choose(*all, *found.model, query);
  }
  Node& with_file(unsigned number, std::uint64_t memory = 16) {
    auto& node = add(number, Reach::linked, memory);
    disk(node, "m", "x");
    return node;
  }
  std::shared_ptr<const Catalog> all;
  ChoiceQuery query;
};

TEST_F(ChoiceTest, TheRanksInTheirOrder) {
  add(7, Reach::linked).node_state.takes_copies = true;
  auto& evicts = with_file(6);
  evicts.node_state.memory.front().free = 0;
  evicts.node_state.memory.front().evictable = 16 * kGB;
  with_file(5);
  serve(with_file(4), "m", ServingState::loading);
  serve(with_file(3), "m").running = 2;
  serve(with_file(2), "m").running = 1;
  for (unsigned number = 2; number <= 6; ++number) {
    const auto choice = choose_now();
    ASSERT_EQ(choice.node, id(number)) << number;
    EXPECT_EQ(choice.rank, static_cast<Rank>(number - 2));
    query.excluded.emplace(id(number), "it said not_here");
  }
  const auto none = choose_now();
  EXPECT_FALSE(none.node);
  EXPECT_EQ(none.shortage->obstacle, Obstacle::failed);
  EXPECT_EQ(none.candidates.size(), 6u);
  EXPECT_EQ(none.candidates.back().node, id(7)) << "a node without the file serves nobody";
  EXPECT_EQ(none.candidates.back().obstacle, Obstacle::no_file);
}

TEST_F(ChoiceTest, AmongThoseInMemorySpeedThenQueueThenRoundTrip) {
  serve(with_file(2), "m").tokens_per_second = 20;
  serve(with_file(3), "m").tokens_per_second = 60;
  EXPECT_EQ(choose_now().node, id(3));
  nodes[2].node_state.serving.front().tokens_per_second = 61;  // the same, but for chance
  nodes[3].node_state.serving.front().running = 1;
  EXPECT_EQ(choose_now().node, id(2));
  nodes[2].node_state.serving.front().running = 1;
  nodes[2].round_trip = Millis(9);
  EXPECT_EQ(choose_now().node, id(3));
}

TEST_F(ChoiceTest, OurOwnRequestsCountBeforeTheyAreAnnounced) {
  serve(with_file(2), "m");
  serve(with_file(3), "m").tokens_per_second = 60;
  query.in_flight[id(3)] = 2;
  EXPECT_EQ(choose_now().node, id(2));
  query.in_flight[id(2)] = 32;
  EXPECT_EQ(choose_now().node, id(3));
  query.in_flight[id(3)] = 32;
  EXPECT_EQ(choose_now().shortage->obstacle, Obstacle::full);
}

TEST_F(ChoiceTest, AConversationStaysUntilItsHostFails) {
  serve(with_file(2), "m").running = 2;
  serve(with_file(3), "m").tokens_per_second = 60;
  query.host_of_conversation = id(2);
  EXPECT_EQ(choose_now().node, id(2));
  query.excluded.emplace(id(2), "it failed");
  EXPECT_EQ(choose_now().node, id(3));
  // Not when the model isn't in its memory any more.
  query.excluded.clear();
  nodes[2].node_state.serving.clear();
  EXPECT_EQ(choose_now().node, id(3));
}

TEST_F(ChoiceTest, EqualsForALoadAreDrawnTheSameByAllEntries) {
  for (unsigned number = 2; number < 8; ++number) with_file(number);
  const auto first = choose_now().node;
  std::map<NodeId, int> drawn;
  for (unsigned entry = 20; entry < 25; ++entry) {
    nodes.erase(1);
    nodes.erase(entry - 1);
    add(entry, Reach::own);
    for (auto& [number, node] : nodes) node.round_trip = Millis(entry * number % 7);
    EXPECT_EQ(choose_now().node, first);
  }
  // Another model lands elsewhere, mostly.
  for (int i = 0; i < 20; ++i) {
    for (auto& [number, node] : nodes) {
      if (!node.node_state.models.empty()) node.node_state.models.front().hash = sha256({std::to_string(i)});
    }
    ++drawn[*choose_now().node];
  }
  EXPECT_GT(drawn.size(), 2u);
  // A faster one isn't an equal, and a load of before is followed.
  nodes[5].node_state.models.front().device = Device::gpu;
  EXPECT_EQ(choose_now().node, id(5));
  query.recent_load = id(3);
  EXPECT_EQ(choose_now().node, id(3));
}

TEST_F(ChoiceTest, SaysWhatIsShortByHowMuchAndWhereLeast) {
  with_file(2, 2);
  with_file(3, 3);
  with_file(4).node_state.memory.front().lent = 0;
  const auto choice = choose_now();
  ASSERT_TRUE(choice.shortage);
  EXPECT_EQ(choice.shortage->obstacle, Obstacle::no_memory);
  EXPECT_EQ(choice.shortage->node, id(3));
  EXPECT_EQ(choice.shortage->need, 4 * kGB);
  EXPECT_EQ(choice.shortage->have, 3 * kGB);
  EXPECT_THAT(choice.shortage->text, HasSubstr("n3: the model needs 3.7 GiB, the node has at most 2.8 GiB for it"));
  EXPECT_GT(choice.shortage->retry_after.count(), 0);
  nodes[4].node_state.memory.front() = {"cpu", false, 16 * kGB, 0, 1 * kGB, 16 * kGB};
  EXPECT_EQ(choose_now().shortage->obstacle, Obstacle::memory_taken);
}

TEST_F(ChoiceTest, ClientsServeNobodyElseAndDeadNodesAreSkipped) {
  serve(with_file(2), "m");
  nodes[2].node_state.role = Role::client;
  serve(with_file(3), "m");
  nodes[3].reach = Reach::away;
  with_file(4);
  EXPECT_EQ(choose_now().node, id(4));
  disk(nodes[1], "m", "x");
  serve(nodes[1], "m");
  EXPECT_EQ(choose_now().node, id(4));
  query.own_too = true;
  EXPECT_EQ(choose_now().node, id(1));
}

TEST(RouteMemoryTest, RemembersForATimeAndLeavesWhoFailed) {
  RouteMemory memory({.max_entries = 2});
  const ContentKey m{sha256({"m"}), false}, n{sha256({"n"}), false};
  const auto a = test_key(1).id(), b = test_key(2).id();
  const MonoTime now{};
  memory.talked(1, m, a, now);
  memory.loaded(m, b, now);
  EXPECT_EQ(memory.host_of(1, m, now), a);
  EXPECT_EQ(memory.host_of(1, n, now), std::nullopt);
  EXPECT_EQ(memory.recent_load(m, now + Millis(59'999)), b);
  EXPECT_EQ(memory.recent_load(m, now + Millis(60'000)), std::nullopt);
  memory.failed(a);
  EXPECT_EQ(memory.host_of(1, m, now), std::nullopt);
  for (std::uint64_t conversation = 1; conversation < 5; ++conversation) memory.talked(conversation, m, a, now);
  EXPECT_EQ(memory.host_of(2, m, now), std::nullopt);
  EXPECT_EQ(memory.host_of(4, m, now), a);
}

}  // namespace
}  // namespace corral::mesh
