#include "engine/kv/cell_count.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

TEST(CellCount, SharedCellsCountOnceUntilTheLastLetsGo) {
  CellCount cells;
  cells.set(1, 100);
  cells.share(1, 2, 60);
  EXPECT_EQ(cells.used(), 100u);
  cells.set(2, 70);
  EXPECT_EQ(cells.used(), 110u);
  cells.set(1, 0);
  EXPECT_EQ(cells.used(), 70u);
  cells.set(2, 50);
  EXPECT_EQ(cells.used(), 50u);
  cells.set(2, 0);
  EXPECT_EQ(cells.used(), 0u);
}

// Against the cells themselves, numbered.
TEST(CellCount, EqualsCountingThem) {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    CellCount cells;
    std::vector<std::vector<int>> sequences(6);
    int next = 0;
    for (int step = 0; step < 60; ++step) {
      const auto a = static_cast<std::int32_t>(random() % 6), b = static_cast<std::int32_t>(random() % 6);
      auto& own = sequences[static_cast<std::size_t>(a)];
      auto& other = sequences[static_cast<std::size_t>(b)];
      if (a != b && other.empty() && !own.empty() && random() % 2 == 0) {
        const auto length = 1 + random() % own.size();
        other.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(length));
        cells.share(a, b, static_cast<std::uint32_t>(length));
      } else {
        const std::size_t length = random() % 4 == 0 ? 0 : random() % 40;
        while (own.size() < length) own.push_back(next++);
        own.resize(length);
        cells.set(a, static_cast<std::uint32_t>(length));
      }
      std::set<int> taken;
      for (const auto& sequence : sequences) taken.insert(sequence.begin(), sequence.end());
      ASSERT_EQ(cells.used(), taken.size()) << "life " << run << ", step " << step;
      std::set<int> both(own.begin(), own.end()), rest;
      both.insert(other.begin(), other.end());
      ASSERT_EQ(cells.used_by(std::array{a, b, b}), both.size());
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        if (i != static_cast<std::size_t>(a)) rest.insert(sequences[i].begin(), sequences[i].end());
      }
      ASSERT_EQ(cells.own(a), taken.size() - rest.size());
    }
  }
}

}  // namespace
}  // namespace corral::engine
