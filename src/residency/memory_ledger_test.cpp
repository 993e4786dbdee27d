// What is known of the memory between samples.
#include "residency/memory_ledger.h"

#include <gtest/gtest.h>

#include "residency/state.h"

namespace corral::residency {
namespace {

constexpr MonoTime kNow = MonoTime{} + std::chrono::hours(1);
constexpr MonoTime kLater = kNow + std::chrono::seconds(5);

std::vector<PoolSample> seen(std::uint64_t available) { return {{PoolId("gpu0"), 1000, available}}; }
MemoryUse use(std::uint64_t bytes) { return {{PoolId("gpu0"), bytes, 0}}; }

struct MemoryLedgerTest : testing::Test {
  MemoryLedger ledger;
  void SetUp() override { ledger.sample(seen(600), {}, kNow); }
  std::int64_t available() const { return ledger.pools().at(0).available; }
  std::int64_t expected() const { return ledger.pools().at(0).expected; }
};

TEST_F(MemoryLedgerTest, WhatIsTakenIsNeitherThereNorExpected) {
  ledger.take({100});
  EXPECT_EQ(available(), 500);
  EXPECT_EQ(expected(), 500);
}

TEST_F(MemoryLedgerTest, WhatWasGivenUpIsExpectedForAWhile) {
  ledger.give_up({300}, kLater);
  EXPECT_EQ(available(), 600);
  EXPECT_EQ(expected(), 900);
  ledger.sample(seen(700), {}, kNow);
  EXPECT_EQ(expected(), 900);
  ledger.sample(seen(700), {}, kLater);
  EXPECT_EQ(expected(), 700);
}

TEST_F(MemoryLedgerTest, WhatIsBackIsNotExpectedAgain) {
  ledger.give_up({300}, kLater);
  ledger.sample(seen(900), {}, kNow);
  ledger.take({100});
  EXPECT_EQ(expected(), 800);
}

// Found by simulation: the load had taken half when the sample came, and gave up the whole.
TEST_F(MemoryLedgerTest, ALoadThatFailsGivesUpNoMoreThanItTook) {
  ledger.take({100});
  ledger.sample(seen(550), use(100), kNow);
  EXPECT_EQ(available(), 500);
  ledger.give_up({100}, kLater);
  EXPECT_EQ(expected(), 600);
}

// Found by simulation: what was free before a load of unknown needs was believed until it ended.
TEST_F(MemoryLedgerTest, WhatALoadOfUnknownNeedsTakesIsReadFromTheSample) {
  ledger.sample(seen(700), {{PoolId("ram"), 100, 0}}, kNow);
  EXPECT_EQ(available(), 700);
  ledger.sample(seen(800), use(0), kNow);
  EXPECT_EQ(available(), 800);
}

TEST_F(MemoryLedgerTest, NoMoreIsExpectedThanThereIs) {
  ledger.give_up({900}, kLater);
  ledger.sample(seen(600), {}, kNow);
  EXPECT_EQ(expected(), 1000);
}

TEST_F(MemoryLedgerTest, AreFreshUntilSomethingChangesOrTimePasses) {
  EXPECT_TRUE(ledger.is_fresh(kNow + Millis{249}, Millis{250}));
  EXPECT_FALSE(ledger.is_fresh(kNow + Millis{250}, Millis{250}));
  ledger.take({0});
  EXPECT_FALSE(ledger.is_fresh(kNow, Millis{250}));
}

TEST_F(MemoryLedgerTest, KnowWhatADownsizedInstanceHolds) {
  ModelSpec spec;
  spec.memory = {{PoolId("gpu0"), 300, 120}, {PoolId("elsewhere"), 5, 0}};
  Instance instance;
  instance.spec = std::make_shared<const ModelSpec>(spec);
  EXPECT_EQ(ledger.held(instance), PoolBytes{300});
  instance.shrunk = true;
  EXPECT_EQ(ledger.held(instance), PoolBytes{180});
}

}  // namespace
}  // namespace corral::residency
