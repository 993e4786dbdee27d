#include "engine/pass/padding_rows.h"

#include <gtest/gtest.h>

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

using test::CountingMemory;

TEST(PaddingRows, InAPoolTheyGoIntoTheSpareSequenceAsFarAsCellsAreFree) {
  CountingMemory memory({}, 20);
  std::vector<PaddingRow> rows;
  find_padding_rows(memory, {.rows = 3, .sessions = 3, .longest = 5, .max = 4}, rows);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3].sequence, memory.spare_sequence());
  EXPECT_EQ(rows[3].position, 3u);
  find_padding_rows(memory, {.rows = 18, .sessions = 3, .longest = 5, .max = 4}, rows);
  EXPECT_EQ(rows.size(), 2u) << "the streams have theirs first";
}

TEST(PaddingRows, InPartsEachGoesBehindAPartThatIsNotLonger) {
  CountingMemory memory({.streams = 4}, 40);
  memory.restore(2, std::vector<std::uint8_t>(3));
  std::vector<PaddingRow> rows;
  const PaddedPass pass{.rows = 2, .sessions = 2, .longest = 5, .max = 7};
  find_padding_rows(memory, pass, rows);
  ASSERT_EQ(rows.size(), 2u) << "there are four parts";
  EXPECT_EQ(rows[0].sequence, 2);
  EXPECT_EQ(rows[0].position, 3u);
  memory.restore(3, std::vector<std::uint8_t>(6));
  find_padding_rows(memory, pass, rows);
  EXPECT_EQ(rows.size(), 1u) << "behind a longer one all would take as long as that";
  find_padding_rows(memory, {.rows = 3, .sessions = 2, .longest = 5, .max = 7}, rows);
  EXPECT_TRUE(rows.empty()) << "with guesses parts have several rows";
}

TEST(PaddingRows, NothingOfThemStays) {
  CountingMemory memory({}, 20);
  memory.restore(1, std::vector<std::uint8_t>(5));
  memory.restore(0, std::vector<std::uint8_t>(2));
  clear_padding_rows(memory, std::vector<PaddingRow>{{.sequence = 0, .position = 0}, {.sequence = 0, .position = 1}});
  EXPECT_EQ(memory.length(0), 0u);
  EXPECT_EQ(memory.length(1), 5u);
}

}  // namespace
}  // namespace corral::engine
