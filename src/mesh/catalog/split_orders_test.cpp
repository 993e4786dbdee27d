#include "mesh/catalog/split_orders.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

class SplitOrdersTest : public CatalogFixture {
 protected:
  static ContentKey key() { return {sha256({"x"}), false}; }
  // The number of the node whose order counts, when these have these numbers; the same for any order of them.
  unsigned newest(std::vector<std::pair<unsigned, std::uint64_t>> stamps) {
    std::vector<GivenSplit> given;
    for (const auto& [number, stamp] : stamps) given.push_back({id(number), {key(), {id(number)}, stamp}});
    const auto* found = newest_of(given);
    const auto host = found->host;
    std::ranges::reverse(given);
    EXPECT_EQ(newest_of(given)->host, host);
    for (const auto& [number, stamp] : stamps)
      if (id(number) == host) return number;
    return 0;
  }
  void order(unsigned number, Reach reach, std::uint64_t stamp) {
    add(number, reach).node_state.split_orders = {{key(), {id(1), id(2)}, stamp}};
  }
  std::uint64_t next(std::uint64_t asked = 0) { return next_stamp(*catalog(), key(), asked); }
};

TEST_F(SplitOrdersTest, TheNewestCountsAndOfEqualOnesTheLowerId) {
  const unsigned lower = id(1) < id(2) ? 1 : 2;
  EXPECT_EQ(newest({{1, 3}, {2, 4}, {3, 2}}), 2u);
  EXPECT_EQ(newest({{1, 5}, {2, 4}}), 1u);
  EXPECT_EQ(newest({{1, 5}, {2, 5}}), lower);
  EXPECT_EQ(newest({{1, 0}, {2, 0}}), lower);  // of versions that tell no numbers
  EXPECT_EQ(newest({{1, 0}, {2, 1}}), 2u);
}

// It would be the newest for ever.
TEST_F(SplitOrdersTest, ANumberThatCannotBeIsTheOldest) {
  EXPECT_EQ(newest({{1, kNodeStateLimits.number}, {2, 1}}), 2u);
  EXPECT_EQ(newest({{1, ~std::uint64_t{0}}, {2, 1}}), 2u);
  EXPECT_EQ(newest({{1, 7 + kMaxAhead + 1}, {2, 7}}), 2u);
  EXPECT_EQ(newest({{1, 7 + kMaxAhead}, {2, 7}}), 1u);
  EXPECT_EQ(newest({{1, kNodeStateLimits.number}}), 1u) << "who is alone with it has given one all the same";
}

TEST_F(SplitOrdersTest, ANewOneIsAboveAllThatIsKnown) {
  add(1, Reach::own);
  EXPECT_EQ(next(), 1u);
  order(2, Reach::away, 5);  // it may come back
  order(3, Reach::linked, 3);
  EXPECT_EQ(next(), 6u);
  EXPECT_EQ(next(4), 6u);
  EXPECT_EQ(next(9), 9u);  // who asks for it has heard of more
  EXPECT_EQ(next(~std::uint64_t{0}), 5 + kMaxAhead);
  order(4, Reach::linked, kNodeStateLimits.number);
  EXPECT_EQ(next(), 6u);
  nodes[4].node_state.split_orders = {{{sha256({"y"}), false}, {}, 70}};  // of another model
  EXPECT_EQ(next(), 6u);
}

// Whoever has seen it given sees it as newer than what stood.
TEST_F(SplitOrdersTest, EachOneReplacesThoseBeforeIt) {
  for (unsigned number = 1; number <= 20; ++number) add(number, number == 1 ? Reach::own : Reach::linked);
  for (unsigned turn = 0; turn < 100; ++turn) {
    const unsigned host = 1 + turn * 7 % 20;
    nodes[host].node_state.split_orders = {{key(), {}, next()}};
    std::vector<std::pair<unsigned, std::uint64_t>> all;
    for (const auto& [number, node] : nodes)
      for (const auto& given : node.node_state.split_orders) all.emplace_back(number, given.stamp);
    ASSERT_EQ(newest(all), host) << turn;
  }
}

}  // namespace
}  // namespace corral::mesh
