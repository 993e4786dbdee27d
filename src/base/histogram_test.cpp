#include "base/histogram.h"

#include <limits>

#include <gtest/gtest.h>

namespace corral {
namespace {

constexpr std::array kBounds = {0.1, 1.0, 10.0};

TEST(Histogram, ABucketHoldsItsBoundAndEverythingBelow) {
  Histogram histogram(kBounds);
  for (const double value : {0.05, 0.1, 0.5, 1.0, 9.0, 11.0, std::numeric_limits<double>::infinity()})
    histogram.observe(value);
  EXPECT_EQ(histogram.at_most(0), 2u);
  EXPECT_EQ(histogram.at_most(1), 4u);
  EXPECT_EQ(histogram.at_most(2), 5u);
  EXPECT_EQ(histogram.at_most(3), 7u);
  EXPECT_EQ(histogram.count(), 7u);
}

TEST(Histogram, SumsUp) {
  Histogram one(kBounds), other(kBounds);
  one.observe(2);
  other.observe(3);
  other.observe(0.5);
  one.add(other);
  EXPECT_EQ(one.count(), 3u);
  EXPECT_DOUBLE_EQ(one.sum(), 5.5);
  EXPECT_EQ(one.at_most(1), 1u);
  EXPECT_EQ(other.count(), 2u);
}

TEST(Histogram, StartsEmpty) {
  EXPECT_EQ(Histogram(kBounds).count(), 0u);
  EXPECT_EQ(Histogram(kBounds).sum(), 0);
  EXPECT_EQ(Histogram(kBounds).bounds().size(), 3u);
}

}  // namespace
}  // namespace corral
