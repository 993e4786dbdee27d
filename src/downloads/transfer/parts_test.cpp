#include "downloads/transfer/parts.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "downloads/transfer/progress_file.h"

namespace corral::downloads {
namespace {

using testing::ElementsAre;

TEST(Ranges, AreASetOfBytes) {
  SplitMix random(1);
  for (int round = 0; round < 200; ++round) {
    RangeSet set;
    std::vector<bool> truth(64);
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t begin = random.next() % 64, end = begin + random.next() % (65 - begin);
      const bool adds = random.next() % 3 != 0;
      adds ? set.add({begin, end}) : set.remove({begin, end});
      for (auto i = begin; i < end; ++i) truth[i] = adds;
      std::vector<bool> seen(64);
      for (std::size_t i = 0; i < set.ranges().size(); ++i) {
        const Range range = set.ranges()[i];
        ASSERT_LT(range.begin, range.end);
        if (i > 0) ASSERT_LT(set.ranges()[i - 1].end, range.begin);
        for (auto at = range.begin; at < range.end; ++at) seen[at] = true;
      }
      ASSERT_EQ(seen, truth);
      const auto gap = set.gap(64, 5);
      const auto first = std::ranges::find(truth, false) - truth.begin();
      ASSERT_EQ(gap.has_value(), first < 64);
      if (gap) {
        ASSERT_EQ(gap->begin, static_cast<std::uint64_t>(first));
        ASSERT_LE(gap->size(), 5u);
        for (auto at = gap->begin; at < gap->end; ++at) ASSERT_FALSE(truth[at]);
      }
      ASSERT_EQ(set.front(), truth[0] ? static_cast<std::uint64_t>(first) : 0u);
    }
  }
}

TEST(Parts, AreBetween64And256MiB) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(part_size(10, {}), 64 * kMiB);
  EXPECT_EQ(part_size(2048 * kMiB, {}), 128 * kMiB);
  EXPECT_EQ(part_size(100'000 * kMiB, {}), 256 * kMiB);
}

TEST(Parts, FourSideBySideOverSeveralFiles) {
  Parts parts({.smallest = 10, .largest = 10, .at_once = 4});
  parts.add(25, {});
  parts.add(0, {});
  parts.add(30, {});
  std::vector<Part> running;
  while (auto part = parts.next()) running.push_back(*part);
  ASSERT_EQ(running.size(), 4u);
  EXPECT_EQ(running[2].range, (Range{20, 25}));
  EXPECT_EQ(running[3].file, 2u);
  EXPECT_TRUE(parts.complete(1));
  EXPECT_FALSE(parts.complete(0));
  running[0] = parts.wrote(running[0], 10);
  parts.give_back(running[0]);
  EXPECT_EQ(parts.next()->range, (Range{10, 20}));
}

TEST(Parts, WhatIsGivenBackIsAskedForAgain) {
  Parts parts({.smallest = 10, .largest = 10, .at_once = 1});
  RangeSet done;
  done.add({0, 4});
  done.add({8, 99});  // beyond the file
  parts.add(20, done);
  auto part = *parts.next();
  EXPECT_EQ(part.range, (Range{4, 8}));
  part = parts.wrote(part, 3);
  EXPECT_FALSE(parts.next());
  parts.give_back(part);
  EXPECT_EQ(parts.next()->range, (Range{7, 8}));
}

TEST(Parts, AFileInOnePieceHasOneConnection) {
  Parts parts({.smallest = 10, .largest = 10, .at_once = 4});
  parts.add(100, {});
  auto part = *parts.next();
  part = parts.wrote(part, 5);
  parts.in_one_piece(0);
  EXPECT_FALSE(parts.next());
  parts.give_back(part);
  EXPECT_EQ(parts.next()->range, (Range{5, 100}));
}

TEST(Parts, WhatIsDiscardedComesAgainAlsoWhileItsLastPartEnds) {
  Parts parts({.smallest = 10, .largest = 10, .at_once = 4});
  parts.add(10, {});
  auto part = parts.wrote(*parts.next(), 10);
  ASSERT_TRUE(parts.complete(0));
  parts.discard(0);
  EXPECT_FALSE(parts.next());
  parts.give_back(part);
  EXPECT_EQ(parts.next()->range, (Range{0, 10}));
}

TEST(ProgressRecord, ComesBackAndIsDoubted) {
  Progress progress{.size = 100};
  progress.done.add({0, 10});
  progress.done.add({20, 100});
  const std::string text = write_progress(progress);
  const auto back = read_progress(text, 100);
  ASSERT_TRUE(back);
  EXPECT_THAT(back->done.ranges(), ElementsAre(Range{0, 10}, Range{20, 100}));
  EXPECT_FALSE(read_progress(text, 101));
  for (std::size_t cut = 0; cut < text.size(); ++cut) EXPECT_FALSE(read_progress(text.substr(0, cut), 100));
  for (const char* bad :
       {"[]", "{}", R"({"version":2,"size":100,"done":[]})", R"({"version":1,"size":100,"done":[[5]]})",
        R"({"version":1,"size":100,"done":[[0,101]]})", R"({"version":1,"size":100,"done":[[-1,5]]})",
        R"({"version":1,"size":100,"done":[[9,5]]})", R"({"version":1,"size":1e300,"done":[]})"})
    EXPECT_FALSE(read_progress(bad, 100)) << bad;
}

}  // namespace
}  // namespace corral::downloads
