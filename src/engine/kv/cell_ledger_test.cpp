#include "engine/kv/cell_ledger.h"

#include <gtest/gtest.h>

#include "engine/kv/cell_count.h"

namespace corral::engine {
namespace {

// A pool of 100 cells that counts and does nothing else.
class CountedMemory final : public KvMemory {
 public:
  explicit CountedMemory(KvShape shape = {}) : shape_(shape) {}
  CellCount cells;

  DecodeStatus decode(const Batch&) override { return DecodeStatus::failed; }
  const float* logits(std::int32_t) override { return nullptr; }
  void set_threads(std::int32_t, std::int32_t) override {}
  KvShape shape() const override { return shape_; }
  std::uint32_t n_ctx() const override { return 100; }
  std::uint32_t n_batch() const override { return 16; }
  std::uint32_t free_cells() const override { return 100 - cells.used(); }
  std::uint32_t cells_of(std::span<const std::int32_t> sequences) const override { return cells.used_by(sequences); }
  std::uint32_t own_cells(std::int32_t sequence) const override { return cells.own(sequence); }
  std::int32_t first_sequence() const override { return 1; }
  std::uint32_t sequence_ids() const override { return 10; }
  bool divisible() const override { return true; }
  std::uint32_t length(std::int32_t) const override { return 0; }
  bool trim(std::int32_t, std::uint32_t) override { return true; }
  void clear(std::int32_t) override {}
  bool share(std::int32_t, std::int32_t, std::uint32_t) override { return true; }
  std::vector<std::uint8_t> save(std::int32_t) override { return {}; }
  bool restore(std::int32_t, std::span<const std::uint8_t>) override { return false; }

 private:
  const KvShape shape_;
};

class Ledger : public ::testing::Test {
 protected:
  Ledger() { ledger_.bind(&memory_); }
  CountedMemory memory_;
  CellLedger ledger_;
};

TEST_F(Ledger, ACellThatSeveralShareCountsOnce) {
  memory_.cells.set(1, 40);
  memory_.cells.share(1, 2, 30);
  memory_.cells.set(2, 50);  // 20 of its own
  EXPECT_EQ(ledger_.free(), 40u);
  EXPECT_EQ(ledger_.gain(1), 10u);
  EXPECT_EQ(ledger_.gain(2), 20u);
  EXPECT_EQ(ledger_.idle(std::vector{2}), 10u);
  EXPECT_EQ(ledger_.idle(std::vector<std::int32_t>{}), 60u);
}

TEST_F(Ledger, WhoDoesNotRunMakesRoom) {
  memory_.cells.set(1, 40);
  memory_.cells.set(2, 50);
  EXPECT_TRUE(ledger_.has_room({.sequences = {1}, .promised = 10}, {.cells = 50}));
  EXPECT_FALSE(ledger_.has_room({.sequences = {1}, .promised = 10}, {.cells = 51}));
  EXPECT_FALSE(ledger_.has_room({.sequences = {1, 2}, .promised = 0}, {.cells = 11}));
}

TEST_F(Ledger, WhatIsSharedWithANewcomerStays) {
  memory_.cells.set(1, 40);
  memory_.cells.set(2, 50);
  const CellClaims claims{.sequences = {1}, .promised = 0};
  EXPECT_TRUE(ledger_.has_room(claims, {.cells = 30, .source = 2, .shared = 30}));
  EXPECT_FALSE(ledger_.has_room(claims, {.cells = 31, .source = 2, .shared = 30}));
  EXPECT_TRUE(ledger_.has_room(claims, {.cells = 60, .source = 1, .shared = 30}))
      << "of one who runs: they count already";
}

TEST(LedgerOfParts, NobodyTakesFromAnother) {
  CountedMemory memory({.streams = 4});
  CellLedger ledger;
  EXPECT_TRUE(ledger.has_room({}, {.cells = 1000})) << "without a memory";
  ledger.bind(&memory);
  EXPECT_FALSE(ledger.common());
  EXPECT_TRUE(ledger.has_room({.sequences = {1, 2, 3}, .promised = 100}, {.cells = 25}));
}

}  // namespace
}  // namespace corral::engine
