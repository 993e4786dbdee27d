#include "mesh/allocation/allocation_input.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

class AllocationInputTest : public CatalogFixture {
 protected:
  AllocationInput situation() { return make_situation(*(kept = catalog()), now); }
  const AllocationNode& at(unsigned number) {
    seen = situation();
    return *std::ranges::find(seen.nodes, id(number), &AllocationNode::id);
  }
  const AllocationModel& of(const std::string& content) {
    seen = situation();
    return *std::ranges::find(seen.models, ContentKey{sha256({content}), false}, &AllocationModel::content);
  }
  MonoTime now{std::chrono::hours(1)};
  AllocationInput seen;
  std::shared_ptr<const Catalog> kept;
};

TEST_F(AllocationInputTest, MemoryIsWhatIsLentAlsoOfThisNode) {
  add(1, Reach::own).node_state.memory = {{"cpu", false, 64 * kGB, 32 * kGB, 4 * kGB, 40 * kGB},
                                          {"cuda0", true, 24 * kGB, 24 * kGB, 0, 20 * kGB}};
  EXPECT_EQ(at(1).cpu.total, 40 * kGB);
  EXPECT_EQ(at(1).cpu.idle, 36 * kGB);
  EXPECT_EQ(at(1).gpu.total, 20 * kGB);
  add(2, Reach::linked, 8);
  EXPECT_EQ(at(2).gpu.total, 8 * kGB);  // it has no other
}

TEST_F(AllocationInputTest, WhatNodesHaveInMemory) {
  auto& node = add(2, Reach::linked);
  disk(node, "m", "x");
  auto& served = serve(node, "m");
  served.lent = true;
  served.bytes = 3 * kGB;
  served.idle_ms = 500;
  disk(node, "own", "y");
  serve(node, "own", ServingState::loading).idle_ms = 9;
  const auto& holds = at(2).holds;
  ASSERT_EQ(holds.size(), 2u);
  const auto lent = std::ranges::find(holds, HeldModel::Use::lent, &HeldModel::use);
  EXPECT_EQ(lent->bytes, 3 * kGB);
  EXPECT_EQ(lent->idle_ms, 500u);
  EXPECT_EQ(std::ranges::find(holds, HeldModel::Use::hosted, &HeldModel::use)->idle_ms, 0u);
}

TEST_F(AllocationInputTest, ModelsBringWhatIsKnownOfThemAnywhere) {
  disk(add(1, Reach::own), "m", "x").may_copy = false;
  auto& there = disk(add(2, Reach::linked), "other-name", "x");
  there.predicted = 5 * kGB;
  there.device = Device::gpu;
  there.checkpoint = "org/repo:Q4";
  const auto& model = of("x");
  EXPECT_EQ(model.need, 5 * kGB);
  EXPECT_TRUE(model.gpu && model.may_copy);
  EXPECT_FALSE(model.wanted);
}

// It would be too large for everybody, or cut into layers that it hasn't got.
TEST_F(AllocationInputTest, WhatOneNodeSaysOfAModelDoesntStopTheOthers) {
  auto& liar = disk(add(1, Reach::linked), "a", "x");
  liar.bytes = liar.predicted = liar.ends_bytes = std::uint64_t{1} << 56;
  liar.layers = 4096;
  auto& fair = disk(add(2, Reach::own), "m", "x");
  fair.predicted = 5 * kGB;
  fair.layers = 32;
  fair.layer_bytes = kGB / 10;
  for (const bool first : {true, false}) {
    nodes[1].reach = first ? Reach::linked : Reach::own;
    nodes[2].reach = first ? Reach::own : Reach::linked;
    EXPECT_EQ(of("x").bytes, 4 * kGB);
    EXPECT_EQ(of("x").need, 5 * kGB);
    EXPECT_EQ(split_model_of(of("x")).layers, 32u);
  }
}

// Its load goes by its own settings, whatever others believe.
TEST_F(AllocationInputTest, ANodeGoesByItsOwnSettings) {
  const auto add_file = [&](unsigned number, Reach reach, std::uint64_t gb) {
    auto& file = disk(add(number, reach), "m", "x");
    file.predicted = gb * kGB;
    file.layers = 32;
    file.layer_bytes = kGB / 10;
    file.cache_bytes = (gb - 4) * kGB / 32;
    file.split_context = gb * 1000;
  };
  add_file(1, Reach::own, 5);
  add_file(2, Reach::linked, 9);
  add_file(3, Reach::linked, 5);
  EXPECT_TRUE(at(1).own.empty());
  EXPECT_EQ(of("x").need, 5 * kGB);
  const auto model = of("x");
  EXPECT_EQ(need_at(at(2), model), 9 * kGB);
  EXPECT_EQ(need_at(at(3), model), 5 * kGB);
  const auto hosted = split_node_of(at(2), model, 20 * kGB, true).as_host;
  ASSERT_TRUE(hosted);
  EXPECT_EQ(hosted->context, 9000u);
  EXPECT_EQ(hosted->cache_bytes, 5 * kGB / 32);
  EXPECT_EQ(hosted->layer_bytes, kGB / 10);
  EXPECT_EQ(split_model_of(model).context, 5000u);
  // Of other files it knows nothing.
  nodes[2].node_state.models.front().bytes = 7 * kGB;
  EXPECT_TRUE(at(2).own.empty());
}

TEST_F(AllocationInputTest, NamesAreTheSameAtEachNode) {
  disk(add(1, Reach::linked), "b", "x");
  disk(add(2, Reach::linked), "a", "x");
  std::set<std::string> names;
  for (const unsigned own : {1U, 2U}) {
    nodes[own].reach = Reach::own;
    nodes[3 - own].reach = Reach::linked;
    names.insert(of("x").name);
  }
  EXPECT_EQ(names, std::set<std::string>{"a"});
}

TEST_F(AllocationInputTest, DemandIsSummedOverEntriesAndMeansTheirOwnModels) {
  auto& one = add(1, Reach::own);
  auto& other = add(2, Reach::linked);
  disk(one, "m", "x");
  disk(other, "m", "y");
  add(3, Reach::linked).node_state.demand = {{"m", 100}, {"m@" + hash8({sha256({"y"}), false}), 7}};
  one.node_state.demand = {{"m", 3}};
  other.node_state.demand = {{"m", 4}};
  EXPECT_DOUBLE_EQ(of("x").per_hour, 3);
  EXPECT_DOUBLE_EQ(of("y").per_hour, 11);  // what somebody else calls m could be either
}

TEST_F(AllocationInputTest, WishesCountForFilesAndForWhatNobodyHas) {
  add(1, Reach::own).node_state.wants = {{"m", "org/m"}, {"nowhere", "org/repo"}};
  disk(add(2, Reach::linked), "m", "x");
  EXPECT_TRUE(of("x").wanted);
  const auto& nowhere = *std::ranges::find(seen.models, "nowhere", &AllocationModel::name);
  EXPECT_TRUE(nowhere.wanted);
  EXPECT_EQ(nowhere.need, 0u);
}

TEST_F(AllocationInputTest, AGroupIsHeldByAllItsNodes) {
  disk(add(1, Reach::own), "m", "x");
  serve(nodes[1], "m").lent = true;
  add(2, Reach::linked);
  const ContentKey model{sha256({"x"}), false};
  auto& group = nodes[1].node_state.groups.emplace_back();
  group.model = model;
  group.shares = {{id(2), 8, 3 * kGB}, {id(9), 8, kGB}, {id(1), 8, 4 * kGB}};
  group.idle_ms = 70;
  EXPECT_TRUE(at(1).holds.empty());  // it has nothing yet, whatever its host calls it
  EXPECT_TRUE(at(2).holds.empty());
  group.stage = GroupStage::claiming;
  EXPECT_TRUE(at(2).holds.empty());  // that is for the node itself to say
  nodes[2].node_state.shares = {{id(1), model, 3 * kGB, false}};
  for (const unsigned number : {1U, 2U}) {
    const auto& holds = at(number).holds;
    ASSERT_EQ(holds.size(), 1u);
    EXPECT_EQ(holds.front().use, HeldModel::Use::share);
    EXPECT_EQ(holds.front().host, id(1));
    EXPECT_EQ(holds.front().idle_ms, 70u);
    EXPECT_FALSE(holds.front().draining);
  }
  group.stage = GroupStage::stopping;
  EXPECT_TRUE(at(2).holds.front().draining);
}

TEST_F(AllocationInputTest, WhatAHostLeftBehindIsOnItsWayOut) {
  disk(add(1, Reach::own), "m", "x");
  add(2, Reach::linked).node_state.shares = {{id(1), {sha256({"x"}), false}, 3 * kGB, true}};
  ASSERT_EQ(at(2).holds.size(), 1u);
  EXPECT_TRUE(seen.nodes.back().holds.size() + seen.nodes.front().holds.size() == 1);
  EXPECT_TRUE(at(2).holds.front().draining);
}

TEST_F(AllocationInputTest, WhoIsGoneIsThereForAMoment) {
  auto& node = add(2, Reach::away);
  disk(node, "m", "x");
  serve(node, "m").lent = true;
  disk(add(1, Reach::own), "m", "x");
  EXPECT_EQ(situation().nodes.size(), 1u);
  now = MonoTime(kJustGone - Millis(1));
  EXPECT_TRUE(at(2).just_gone);
  EXPECT_EQ(at(2).holds.size(), 1u);
}

TEST_F(AllocationInputTest, WhoIsLostIsntWaitedFor) {
  auto& node = add(2, Reach::away);
  disk(node, "m", "x");
  serve(node, "m").lent = true;
  disk(add(1, Reach::own), "m", "x");
  now = MonoTime(Millis(1));
  const std::vector lost{id(2)};
  kept = catalog();
  const auto without = make_situation(*kept, now, lost);
  ASSERT_EQ(without.nodes.size(), 1u);
  EXPECT_EQ(without.nodes.front().id, id(1));
  EXPECT_EQ(without.away.at(id(2)), "n2");
  // A node with a link counts, though its last link was lost.
  node.reach = Reach::linked;
  kept = catalog();
  EXPECT_EQ(make_situation(*kept, now, lost).nodes.size(), 2u);
}

TEST_F(AllocationInputTest, SpeedsAreThoseOfTheMostAlikeWeights) {
  auto& node = add(1, Reach::own);
  auto& model = disk(node, "experts", "experts", 18);
  model.quantisation = "Q8_0";
  model.tokens_per_second = 100;  // of which each token reads a tenth
  node.node_state.weight_speeds = {{"q8_0", 8 * kGB}, {"q4_K", 6 * kGB}, {"q4_0", 5 * kGB}, {"f16", 9 * kGB}};
  const auto speed = [&](const std::string& quantisation) {
    AllocationModel model;
    model.quantisation = quantisation;
    return split_node_of(at(1), model, kGB, true).speed;
  };
  EXPECT_EQ(speed("Q8_0"), 8 * kGB);
  EXPECT_EQ(speed("Q4_K_M"), 6 * kGB);
  EXPECT_EQ(speed("Q4_K_S"), 6 * kGB);
  EXPECT_EQ(speed("BF16"), 9 * kGB);
  EXPECT_EQ(speed(""), 9 * kGB);
  node.node_state.weight_speeds.clear();
  EXPECT_EQ(speed("Q8_0"), 0u) << "nobody has measured it";
}

TEST_F(AllocationInputTest, LinksAreWhatWasMeasured) {
  auto& node = add(1, Reach::own);
  node.node_state.links = {{id(2), 300, 117'000'000}};
  add(2, Reach::linked);
  seen = situation();
  EXPECT_EQ(seen.links.find(id(2), id(1))->round_trip_us, 300u);
}

TEST_F(AllocationInputTest, WhatNodesWereToldIsTakenOver) {
  auto& one = add(1, Reach::own);
  disk(one, "m", "x");
  const ContentKey model{sha256({"x"}), false};
  one.node_state.recalled = true;
  one.node_state.order = NodeOrder{model};
  one.node_state.resting = one.node_state.unloads = one.node_state.declined = {model};
  one.node_state.split_orders = {{model, {id(3)}}};
  add(2, Reach::linked).node_state.split_orders = {{model, {id(4)}}};
  nodes[2].node_state.copying = {{sha256({"x"}), 1, 2, 3, true}, {sha256({"y"}), 1, 2, 3, true}};
  EXPECT_TRUE(at(1).recalled);
  EXPECT_EQ(at(1).order->model, model);
  EXPECT_EQ(at(1).declines, std::vector{model});
  EXPECT_EQ(at(1).gives_back, std::vector{model});
  EXPECT_TRUE(of("x").resting && seen.models.front().unload_ordered);
  EXPECT_EQ(of("x").split_over, std::vector{id(1) < id(2) ? id(3) : id(4)});
  EXPECT_EQ(of("x").split_host, std::min(id(1), id(2)));
  EXPECT_EQ(of("x").copying, std::vector{id(2)});
}

// Its host was cut off when the newer one was given, and is back with the one that it knows.
TEST_F(AllocationInputTest, AnOlderOrderReplacesNoNewerOne) {
  disk(add(1, Reach::own), "m", "x");
  add(2, Reach::linked);
  const ContentKey model{sha256({"x"}), false};
  for (const auto& [older, newer] : {std::pair(1u, 2u), std::pair(2u, 1u)}) {
    nodes[older].node_state.split_orders = {{model, {id(3)}, 4}};
    nodes[newer].node_state.split_orders = {{model, {id(4)}, 5}};
    EXPECT_EQ(of("x").split_host, id(newer));
    EXPECT_EQ(of("x").split_over, std::vector{id(4)});
  }
  // Nor when who has the newer one is away for a while.
  nodes[1].node_state.split_orders.front().stamp = 4;
  nodes[2].node_state.split_orders.front().stamp = 5;
  nodes[2].reach = Reach::away;
  EXPECT_FALSE(of("x").split_host);
  nodes[2].node_state.split_orders.front().stamp = kNodeStateLimits.number;
  EXPECT_EQ(of("x").split_host, id(1));
}

// A group, its share and its order keep the key that they began with.
TEST_F(AllocationInputTest, WhatIsHashedLaterStaysTheSameModel) {
  auto& one = add(1, Reach::own);
  auto& file = disk(one, "m", "x", 8);
  auto unhashed = file;
  unhashed.hash.reset();
  const auto before = content_key(unhashed);
  ASSERT_TRUE(before.pending);
  GroupReport group{.model = before, .stage = GroupStage::standing, .running = true, .by_hand = true};
  group.shares = {{id(2), 4, kGB}, {id(1), 4, kGB}};
  one.node_state.groups = {group};
  one.node_state.split_orders = {{before, {id(1), id(2)}}};
  auto& two = add(2, Reach::linked);
  two.node_state.shares = {{id(1), before, kGB, false}};
  two.node_state.declined = {before};
  const ContentKey now{sha256({"x"}), false};
  for (const unsigned number : {1u, 2u}) {
    ASSERT_EQ(at(number).holds.size(), 1u);
    EXPECT_EQ(at(number).holds.front().model, now);
    EXPECT_FALSE(at(number).holds.front().draining);
  }
  EXPECT_EQ(at(2).declines, std::vector{now});
  EXPECT_TRUE(of("x").split_host);
}

TEST_F(AllocationInputTest, LayersAreAsWhoHasTheFileSays) {
  disk(add(1, Reach::own), "m", "x", 33);
  EXPECT_EQ(split_model_of(of("x")).layers, 32u);  // roughly
  auto& there = disk(add(2, Reach::linked), "m", "x", 33);
  there.layers = 48;
  there.layer_bytes = kGB / 2;
  there.cache_bytes = 7;
  there.ends_bytes = 8;
  there.compute_bytes = 9;
  there.split_context = 8192;
  there.max_context = 65'536;
  const auto split = split_model_of(of("x"));
  EXPECT_EQ(split.layers, 48u);
  EXPECT_EQ(split.layer_bytes, kGB / 2);
  EXPECT_EQ(split.cache_bytes + split.compute_bytes, 7u + 9);
  EXPECT_EQ(split.context, 8192u);
  EXPECT_EQ(split.max_context, 65'536u);
  EXPECT_EQ(split.ends_bytes, 9 * kGB - 48 * 7 - 9 - kHostBytes);  // all that one node would need besides
}

}  // namespace
}  // namespace corral::mesh
