#include "fleet/allotment/allot_marks.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::fleet {
namespace {

using mesh::ContentKey;

class AllotMarksTest : public mesh::CatalogFixture {
 protected:
  static ContentKey key(const std::string& content) { return {sha256({content}), false}; }
  bool heed() {
    kept = catalog();
    return marks.heed(*kept, make_situation(*kept, now), now);
  }
  mesh::NodeState marked() const {
    mesh::NodeState statement;
    marks.add_to(statement);
    return statement;
  }
  AllotMarks marks;
  MonoTime now{std::chrono::hours(5)};
  std::shared_ptr<const mesh::Catalog> kept;
};

TEST_F(AllotMarksTest, OrdersAndUnloadsOutliveTheProcess) {
  marks.assign(AllotMarks::Named{"m", key("x")});
  marks.unload(key("y"), now);
  marks.rest(key("z"), now);
  AllotMarks later;
  later.read(marks.text(), now);
  EXPECT_EQ(later.order(), marks.order());
  mesh::NodeState node_state;
  later.add_to(node_state);
  EXPECT_EQ(node_state.unloads, std::vector{key("y")});
  EXPECT_TRUE(node_state.resting.empty());
  marks.assign(std::nullopt);
  later.read(marks.text(), now);
  EXPECT_TRUE(later.order() && !later.order()->model);
}

TEST_F(AllotMarksTest, WhatANodeWasStartedForCountsUntilSomebodySaysOtherwise) {
  marks.assign_at_start("m");
  EXPECT_EQ(marks.order()->model->name, "m");
  marks.release();
  AllotMarks later;
  later.read(marks.text(), now);
  later.assign_at_start("m");
  EXPECT_FALSE(later.order());
}

TEST_F(AllotMarksTest, TheSameSplitAgainCostsNoOtherOne) {
  for (std::size_t i = 0; i < mesh::kNodeStateLimits.split_orders; ++i)
    marks.split({key("m" + std::to_string(i)), {id(1), id(2)}});
  const auto before = marked();
  marks.split({key("m3"), {id(1), id(2)}});
  EXPECT_EQ(marked().split_orders, before.split_orders);
}

TEST_F(AllotMarksTest, TextsThatMakeNoSenseChangeNothing) {
  for (const auto* text : {"", "{", "[]", R"({"version":2,"order":{}})", R"({"version":1,"order":7,"unloads":{}})",
                           R"({"version":1,"unloads":[{"content":"zz"},7]})"}) {
    AllotMarks read;
    read.read(text, now);
    EXPECT_FALSE(read.order()) << text;
    EXPECT_EQ(read.text(), AllotMarks().text()) << text;
  }
}

TEST_F(AllotMarksTest, NamesAndContentsBecomeKnown) {
  auto& node = add(1, mesh::Reach::own);
  marks.assign_at_start("m");
  heed();
  EXPECT_EQ(marked().order->model, std::nullopt);  // it is kept free
  auto& model = disk(node, "m");
  EXPECT_TRUE(heed());
  EXPECT_EQ(marked().order->model, mesh::content_key(model));
  marks.rest(mesh::content_key(model), now);
  model.hash = sha256({"x"});
  EXPECT_TRUE(heed());
  EXPECT_EQ(marked().order->model, key("x"));
  EXPECT_EQ(marked().resting, std::vector{key("x")});
}

TEST_F(AllotMarksTest, OneMoreRequestEndsARest) {
  auto& node = add(1, mesh::Reach::own);
  disk(node, "m", "x");
  node.node_state.demand = {{"m", 64}};
  marks.rest(key("x"), now);
  EXPECT_FALSE(heed());
  node.node_state.demand = {{"m", 16}};  // it sinks by itself
  EXPECT_FALSE(heed());
  node.node_state.demand = {{"m", 32}};
  EXPECT_TRUE(heed());
  EXPECT_TRUE(marked().resting.empty());
}

// Else a model that was used until just now would come back at once.
TEST_F(AllotMarksTest, RequestsBeforeTheOrderAreHeardOfLaterAndDontCount) {
  auto& node = add(1, mesh::Reach::own);
  disk(node, "m", "x");
  node.node_state.demand = {{"m", 2}};
  marks.unload(key("x"), now);
  EXPECT_FALSE(heed());
  now += Millis(1000);
  node.node_state.demand = {{"m", 8}};
  EXPECT_FALSE(heed());
  now += AllotMarks::kDemandDelay;
  EXPECT_FALSE(heed());
  node.node_state.demand = {{"m", 8.5}};
  EXPECT_TRUE(heed());
  EXPECT_TRUE(marked().unloads.empty());
}

TEST_F(AllotMarksTest, WhatIsOnItsWayOutDoesntCountAsServed) {
  auto& node = add(1, mesh::Reach::own);
  disk(node, "m", "x");
  auto& served = serve(node, "m");
  marks.unload(key("x"), now);
  EXPECT_FALSE(heed());  // it has still to go
  now += AllotMarks::kHeed;
  served.state = mesh::ServingState::draining;
  EXPECT_FALSE(heed());
  served.state = mesh::ServingState::ready;
  EXPECT_TRUE(heed());
  EXPECT_TRUE(marked().unloads.empty());
}

// A node that was told to have it, say, or that takes no orders: nobody has asked for it.
TEST_F(AllotMarksTest, WhoHasItAllTheTimeDoesntCount) {
  add(1, mesh::Reach::own);
  disk(nodes[1], "m", "x");
  auto& keeps = add(2, mesh::Reach::linked);
  disk(keeps, "m", "x");
  serve(keeps, "m").lent = true;
  marks.rest(key("x"), now);
  marks.unload(key("x"), now);
  EXPECT_FALSE(heed());
  now += AllotMarks::kHeed;
  EXPECT_FALSE(heed());
  // Nor when it was away for a while.
  keeps.reach = mesh::Reach::away;
  now += Millis(60'000);
  EXPECT_FALSE(heed());
  keeps.reach = mesh::Reach::linked;
  EXPECT_FALSE(heed());
  EXPECT_EQ(marked().resting.size() + marked().unloads.size(), 2u);
  auto& gets = add(3, mesh::Reach::linked);
  disk(gets, "m", "x");
  serve(gets, "m").lent = true;
  EXPECT_TRUE(heed());
  EXPECT_TRUE(marked().resting.empty() && marked().unloads.empty());
}

TEST_F(AllotMarksTest, WhatIsDeclinedComesBackLaterEachTime) {
  add(1, mesh::Reach::own);
  Millis rest = AllotMarks::kFirstRest;
  for (int i = 0; i < 8; ++i) {
    marks.decline(key("x"), now);
    now += rest - Millis(1);
    EXPECT_FALSE(heed());
    now += Millis(1);
    EXPECT_TRUE(heed());
    rest = std::min(rest * 2, AllotMarks::kLongestRest);
  }
  marks.loaded(key("x"));
  marks.decline(key("x"), now);
  now += AllotMarks::kFirstRest;
  EXPECT_TRUE(heed());
}

TEST_F(AllotMarksTest, ThereIsABoundOfEverything) {
  for (int i = 0; i < 1000; ++i) {
    const auto one = key(std::to_string(i));
    marks.rest(one, now);
    marks.unload(one, now);
    marks.decline(one, now);
    marks.split({one, {id(1), id(2)}});
    marks.rest(one, now);
    marks.unload(one, now);
    marks.decline(one, now);
  }
  const auto node_state = marked();
  EXPECT_LE(node_state.resting.size(), mesh::kNodeStateLimits.marks);
  EXPECT_LE(node_state.unloads.size(), mesh::kNodeStateLimits.marks);
  EXPECT_LE(node_state.declined.size(), mesh::kNodeStateLimits.marks);
  EXPECT_LE(node_state.split_orders.size(), mesh::kNodeStateLimits.split_orders);
}

// Where there is no more room, a mark that is there already needs none.
TEST_F(AllotMarksTest, AMarkThatIsMadeAgainPutsNoneOut) {
  add(1, mesh::Reach::own);
  std::vector<mesh::ContentKey> all;
  for (std::size_t i = 0; i < mesh::kNodeStateLimits.marks; ++i) all.push_back(key(std::to_string(i)));
  std::ranges::sort(all);
  for (const auto& one : all) {
    marks.rest(one, now);
    marks.unload(one, now);
    marks.decline(one, now);
  }
  for (const auto& one : {all.front(), all.back()}) {
    marks.rest(one, now);
    marks.unload(one, now);
    marks.decline(one, now);
  }
  EXPECT_EQ(marked().resting, all);
  EXPECT_EQ(marked().unloads, all);
  EXPECT_EQ(marked().declined, all);
  now += AllotMarks::kFirstRest;
  heed();
  EXPECT_EQ(marked().declined, (std::vector{all.front(), all.back()})) << "those rest longer the second time";
  std::vector<mesh::ContentKey> orders(all.begin(), all.begin() + mesh::kNodeStateLimits.split_orders);
  for (const auto& one : orders) marks.split({one, {id(1), id(2)}});
  marks.split({orders.back(), {id(1), id(3)}});
  EXPECT_EQ(marked().split_orders.size(), orders.size());
}

}  // namespace
}  // namespace corral::fleet
