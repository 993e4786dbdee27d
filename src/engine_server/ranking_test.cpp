#include "engine_server/ranking.h"

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

std::vector<std::uint32_t> order(const std::vector<protocol::RankedDocument>& ranked) {
  std::vector<std::uint32_t> order;
  for (const auto& document : ranked) order.push_back(document.index);
  return order;
}

using Order = std::vector<std::uint32_t>;

TEST(Ranking, BestFirstAndTheSameInTheirOrder) {
  const float scores[] = {-3, 5, 5, 9};
  EXPECT_EQ(order(rank(scores, std::nullopt, true)), (Order{3, 1, 2, 0}));
  EXPECT_EQ(order(rank(scores, 2, true)), (Order{3, 1}));
  EXPECT_EQ(order(rank(scores, 9, true)).size(), 4u);
  EXPECT_EQ(rank(scores, 1, true).front().score, 9);
  EXPECT_TRUE(rank({}, 3, false).empty());
}

// The logistic function of all of these is 1 in 32 bits: once the first ones were the best ones.
TEST(Ranking, GoodDocumentsAreToldApartBeforeTheirScoresAreSquashed) {
  const float scores[] = {20, 25, 30, 0};
  const auto ranked = rank(scores, std::nullopt, false);
  EXPECT_EQ(order(ranked), (Order{2, 1, 0, 3}));
  EXPECT_EQ(order(rank(scores, 1, false)), Order{2});
  EXPECT_EQ(ranked[0].score, ranked[2].score) << "else this test is of no use";
  EXPECT_EQ(ranked[3].score, 0.5f);
}

}  // namespace
}  // namespace corral::engine_server
