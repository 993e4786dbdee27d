#include "mesh/allocation/believed.h"

#include <algorithm>
#include <list>

#include <gtest/gtest.h>

namespace corral::mesh {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

class BelievedTest : public testing::Test {
 protected:
  // A node that says: 4 GB of files, 32 layers that have nearly all of them, 5 GB of memory.
  ModelOnDisk& add_report() {
    auto& one = all_.emplace_back();
    one.bytes = 4 * kGB;
    one.predicted = 5 * kGB;
    one.layers = 32;
    one.layer_bytes = 120'000'000;
    one.ends_bytes = 150'000'000;
    one.cache_bytes = 16 << 20;
    one.compute_bytes = 300 << 20;
    one.split_context = 4096;
    one.max_context = 32'768;
    return one;
  }
  Believed found() const {
    std::vector<const ModelOnDisk*> reports;
    for (const auto& one : all_) reports.push_back(&one);
    const auto result = believed(reports);
    std::ranges::reverse(reports);
    const auto again = believed(reports);
    EXPECT_EQ(result.bytes, again.bytes);
    EXPECT_EQ(result.need, again.need);
    EXPECT_EQ(result.shape.cache_bytes, again.shape.cache_bytes);
    return result;
  }

  std::list<ModelOnDisk> all_;
};

TEST_F(BelievedTest, WhoIsAloneIsBelieved) {
  add_report();
  EXPECT_EQ(found().bytes, 4 * kGB);
  EXPECT_EQ(found().need, 5 * kGB);
  EXPECT_EQ(found().shape.layers, 32u);
  EXPECT_EQ(found().shape.max_context, 32'768u);
}

TEST_F(BelievedTest, WhoKnowsLessLeavesItToOthers) {
  auto& one = add_report();
  one.predicted = one.layers = 0;
  EXPECT_EQ(found().need, 4 * kGB) << "never less than its files";
  EXPECT_EQ(found().shape.layers, 0u);
  add_report();
  EXPECT_EQ(found().need, 5 * kGB);
  EXPECT_EQ(found().shape.layers, 32u);
}

TEST_F(BelievedTest, ANeedThatItsFilesDontExplainIsLeftOut) {
  auto& liar = add_report();
  liar.predicted = std::uint64_t{1} << 56;
  EXPECT_EQ(found().need, 4 * kGB) << "also where nobody else says anything";
  liar.predicted = 80 * kGB;
  EXPECT_EQ(found().need, 4 * kGB);
  liar.predicted = 70 * kGB;  // it may have a very large context
  EXPECT_EQ(found().need, 70 * kGB);
}

TEST_F(BelievedTest, LayersThatDontFitTheFilesAreLeftOut) {
  auto& liar = add_report();
  const auto fair = liar;
  const auto is_left_out = [&] {
    const bool out = found().shape.layers == 0;
    liar = fair;
    return out;
  };
  liar.layers = 5000;
  EXPECT_TRUE(is_left_out());
  liar.layer_bytes = 130'000'000;
  EXPECT_TRUE(is_left_out());
  liar.ends_bytes = std::uint64_t{1} << 56;
  EXPECT_TRUE(is_left_out());
  liar.cache_bytes = std::uint64_t{1} << 56;
  EXPECT_TRUE(is_left_out());
  liar.compute_bytes = 80 * kGB;
  EXPECT_TRUE(is_left_out());
  EXPECT_FALSE(is_left_out());
  liar.ends_bytes = 4 * kGB - 32 * liar.layer_bytes + 32;  // layers are told rounded up
  EXPECT_FALSE(is_left_out());
}

TEST_F(BelievedTest, OneOfSeveralDoesntDecide) {
  add_report();
  auto& other = add_report();
  other.predicted = 19 * kGB;
  other.cache_bytes = 400 << 20;
  EXPECT_EQ(found().need, 5 * kGB) << "of two the smaller";
  EXPECT_EQ(found().shape.cache_bytes, std::uint64_t{16} << 20);
  add_report();
  EXPECT_EQ(found().need, 5 * kGB);
  other.predicted = 1;
  other.cache_bytes = 1;
  EXPECT_EQ(found().need, 5 * kGB);
  EXPECT_EQ(found().shape.cache_bytes, std::uint64_t{16} << 20);
}

// The same content has one size.
TEST_F(BelievedTest, WhoSpeaksOfOtherFilesDoesntCount) {
  add_report();
  auto& liar = add_report();
  liar.bytes = 4000 * kGB;
  liar.predicted = 4500 * kGB;
  liar.ends_bytes = 3000 * kGB;
  EXPECT_EQ(found().bytes, 4 * kGB);
  EXPECT_EQ(found().need, 5 * kGB);
  EXPECT_EQ(found().shape.ends_bytes, 150'000'000u);
  add_report();
  liar.bytes = 1;
  EXPECT_EQ(found().bytes, 4 * kGB);
}

TEST_F(BelievedTest, WhatANodeSaysCountsForItself) {
  add_report();
  auto& other = add_report();
  other.predicted = 70 * kGB;
  other.cache_bytes = 100 << 20;
  other.split_context = 9000;
  add_report();
  const auto all = found();
  EXPECT_EQ(own_need(other, all), 70 * kGB);
  EXPECT_EQ(own_shape(other, all).cache_bytes, std::uint64_t{100} << 20);
  EXPECT_EQ(own_shape(other, all).context, 9000u);
  EXPECT_EQ(own_shape(other, all).layer_bytes, all.shape.layer_bytes);
  other.predicted = 1;
  EXPECT_EQ(own_need(other, all), 4 * kGB) << "never less than its files";
  other.predicted = 0;
  EXPECT_EQ(own_need(other, all), all.need);
  other.cache_bytes = std::uint64_t{1} << 50;
  EXPECT_EQ(own_shape(other, all), all.shape);
  other.layers = 31;
  other.cache_bytes = 1;
  EXPECT_EQ(own_shape(other, all), all.shape);
}

TEST_F(BelievedTest, NobodySaysNothing) { EXPECT_EQ(found().bytes + found().need + found().shape.layers, 0u); }

}  // namespace
}  // namespace corral::mesh
