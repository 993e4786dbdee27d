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
  auto& copies = add(7, Reach::linked);
  copies.said.takes_copies = true;
  query.may_copy = true;
  auto& evicts = with_file(6);
  evicts.said.memory.front().free = 0;
  evicts.said.memory.front().evictable = 16 * kGB;
  with_file(5);
  serve(with_file(4), "m", ServingState::loading);
  serve(with_file(3), "m").running = 2;
  serve(with_file(2), "m").running = 1;
  for (unsigned number = 2; number <= 7; ++number) {
    const auto choice = choose_now();
    ASSERT_EQ(choice.node, id(number)) << number;
    EXPECT_EQ(choice.rank, static_cast<Rank>(number - 2));
    query.excluded.emplace(id(number), "it said not_here");
  }
  const auto none = choose_now();
  EXPECT_FALSE(none.node);
  EXPECT_EQ(none.shortage->obstacle, Obstacle::failed);
  EXPECT_EQ(none.candidates.size(), 6u);
}

TEST_F(ChoiceTest, AmongThoseInMemorySpeedThenQueueThenRoundTrip) {
  serve(with_file(2), "m").tokens_per_second = 20;
  serve(with_file(3), "m").tokens_per_second = 60;
  EXPECT_EQ(choose_now().node, id(3));
  nodes[2].said.serving.front().tokens_per_second = 61;  // the same, but for chance
  nodes[3].said.serving.front().running = 1;
  EXPECT_EQ(choose_now().node, id(2));
  nodes[2].said.serving.front().running = 1;
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
  nodes[2].said.serving.clear();
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
      if (!node.said.models.empty()) node.said.models.front().hash = sha256({std::to_string(i)});
    }
    ++drawn[*choose_now().node];
  }
  EXPECT_GT(drawn.size(), 2u);
  // A faster one isn't an equal, and a load of before is followed.
  nodes[5].said.models.front().device = Device::gpu;
  EXPECT_EQ(choose_now().node, id(5));
  query.recent_load = id(3);
  EXPECT_EQ(choose_now().node, id(3));
}

TEST_F(ChoiceTest, SaysWhatIsShortByHowMuchAndWhereLeast) {
  with_file(2, 2);
  with_file(3, 3);
  with_file(4).said.memory.front().lent = 0;
  const auto choice = choose_now();
  ASSERT_TRUE(choice.shortage);
  EXPECT_EQ(choice.shortage->obstacle, Obstacle::no_memory);
  EXPECT_EQ(choice.shortage->node, id(3));
  EXPECT_EQ(choice.shortage->need, 4 * kGB);
  EXPECT_EQ(choice.shortage->have, 3 * kGB);
  EXPECT_THAT(choice.shortage->text, HasSubstr("n3: the model takes 4.0 GB, 3.0 GB are the most there"));
  EXPECT_GT(choice.shortage->retry_after.count(), 0);
  nodes[4].said.memory.front() = {"cpu", false, 16 * kGB, 0, 1 * kGB, 16 * kGB};
  EXPECT_EQ(choose_now().shortage->obstacle, Obstacle::memory_taken);
}

TEST_F(ChoiceTest, ClientsServeNobodyElseAndDeadNodesAreSkipped) {
  serve(with_file(2), "m");
  nodes[2].said.role = Role::client;
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

TEST_F(ChoiceTest, ACopyNeedsDiskMemoryAndPermission) {
  with_file(2, 1);
  auto& target = add(3, Reach::linked);
  query.may_copy = true;
  EXPECT_FALSE(choose_now().node);
  target.said.takes_copies = true;
  EXPECT_EQ(choose_now().rank, Rank::copies);
  target.said.disk_free = kGB;
  const auto choice = choose_now();
  EXPECT_FALSE(choice.node);
  EXPECT_EQ(choice.candidates.back().obstacle, Obstacle::no_disk);
  target.said.disk_free = 100 * kGB;
  nodes[2].said.models.front().may_copy = false;
  EXPECT_FALSE(choose_now().node);
}

TEST_F(ChoiceTest, ACopyIsChosenOnlyWhereWaitingDoesntHelp) {
  auto& holder = with_file(2, 1);
  add(3, Reach::linked).said.takes_copies = true;
  query.may_copy = true;
  const auto chosen = [&] {
    all = catalog();
    return choose_or_copy(*all, *all->find("m").model, query);
  };
  EXPECT_EQ(chosen().rank, Rank::copies);
  EXPECT_EQ(chosen().node, id(3));
  // It could, but not just now.
  holder.said.memory.front() = {.name = "cpu", .total = 16 * kGB, .free = 0, .lent = 16 * kGB};
  const auto taken = chosen();
  EXPECT_FALSE(taken.node);
  EXPECT_EQ(taken.shortage->obstacle, Obstacle::memory_taken);
  EXPECT_FALSE(taken.lasts);
  // It can.
  holder.said.memory.front().free = 16 * kGB;
  EXPECT_EQ(chosen().rank, Rank::fits);
  // It failed this request.
  query.excluded.emplace(id(2), "it failed");
  EXPECT_FALSE(chosen().node);
  query.excluded.clear();
  // It has too little for ever, but this node isn't to copy.
  holder.said.memory.front().total = holder.said.memory.front().free = holder.said.memory.front().lent = kGB;
  query.may_copy = false;
  EXPECT_FALSE(chosen().node);
}

// Gigabytes aren't moved because a cable was pulled.
TEST_F(ChoiceTest, WhoHadItAndWentLatelyIsWaitedFor) {
  with_file(2, 1);
  with_file(4).reach = Reach::away;
  add(3, Reach::linked).said.takes_copies = true;
  query.may_copy = true;
  auto list = known();
  const auto chosen = [&] {
    all = make_catalog(list);
    return choose_or_copy(*all, *all->find("m").model, query);
  };
  auto& gone = *std::ranges::find(list, id(4), &KnownNode::id);
  const MonoTime went(std::chrono::hours(1));
  gone.since = went;
  query.now = went + kAwayForLong - Millis(1);
  EXPECT_FALSE(chosen().node);
  EXPECT_FALSE(chosen().lasts);
  // It starts, and hasn't said which models it has.
  gone.reach = Reach::linked;
  gone.before = std::exchange(gone.said, nullptr);
  EXPECT_FALSE(chosen().lasts);
  query.now = went + kAwayForLong;
  EXPECT_EQ(chosen().rank, Rank::copies);
  EXPECT_TRUE(chosen().lasts);
  // Of whom nothing is known, and who is about to speak.
  gone.before = nullptr;
  gone.expected_until = query.now + Millis(1);
  EXPECT_FALSE(chosen().node);
  gone.expected_until = query.now;
  EXPECT_EQ(chosen().node, id(3));
}

TEST_F(ChoiceTest, ThisNodeMayTakeACopyToo) {
  with_file(2, 1);
  nodes[1].said.takes_copies = true;
  query.may_copy = true;
  all = catalog();
  EXPECT_FALSE(choose_or_copy(*all, *all->find("m").model, query).node);
  query.own_too = true;
  EXPECT_EQ(choose_or_copy(*all, *all->find("m").model, query).node, id(1));
}

TEST(RouteMemoryTest, RemembersForATimeAndLeavesWhoFailed) {
  RouteMemory memory({.most = 2});
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
