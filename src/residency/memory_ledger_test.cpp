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

struct Books : testing::Test {
  MemoryLedger books;
  void SetUp() override { books.sample(seen(600), {}, kNow); }
  std::int64_t available() const { return books.pools().at(0).available; }
  std::int64_t expected() const { return books.pools().at(0).expected; }
};

TEST_F(Books, WhatIsTakenIsNeitherThereNorExpected) {
  books.take({100});
  EXPECT_EQ(available(), 500);
  EXPECT_EQ(expected(), 500);
}

TEST_F(Books, WhatWasGivenUpIsExpectedForAWhile) {
  books.give_up({300}, kLater);
  EXPECT_EQ(available(), 600);
  EXPECT_EQ(expected(), 900);
  books.sample(seen(700), {}, kNow);
  EXPECT_EQ(expected(), 900);
  books.sample(seen(700), {}, kLater);
  EXPECT_EQ(expected(), 700);
}

TEST_F(Books, WhatIsBackIsNotExpectedAgain) {
  books.give_up({300}, kLater);
  books.sample(seen(900), {}, kNow);
  books.take({100});
  EXPECT_EQ(expected(), 800);
}

// Found by simulation: the load had taken half when the sample came, and gave up the whole.
TEST_F(Books, ALoadThatFailsGivesUpNoMoreThanItTook) {
  books.take({100});
  books.sample(seen(550), use(100), kNow);
  EXPECT_EQ(available(), 500);
  books.give_up({100}, kLater);
  EXPECT_EQ(expected(), 600);
}

// Found by simulation: what was free before a load of unknown needs was believed until it ended.
TEST_F(Books, WhatALoadOfUnknownNeedsTakesIsReadFromTheSample) {
  books.sample(seen(700), {{PoolId("ram"), 100, 0}}, kNow);
  EXPECT_EQ(available(), 700);
  books.sample(seen(800), use(0), kNow);
  EXPECT_EQ(available(), 800);
}

TEST_F(Books, NoMoreIsExpectedThanThereIs) {
  books.give_up({900}, kLater);
  books.sample(seen(600), {}, kNow);
  EXPECT_EQ(expected(), 1000);
}

TEST_F(Books, AreFreshUntilSomethingChangesOrTimePasses) {
  EXPECT_TRUE(books.is_fresh(kNow + Millis{249}, Millis{250}));
  EXPECT_FALSE(books.is_fresh(kNow + Millis{250}, Millis{250}));
  books.take({0});
  EXPECT_FALSE(books.is_fresh(kNow, Millis{250}));
}

TEST_F(Books, KnowWhatADownsizedInstanceHolds) {
  ModelSpec spec;
  spec.memory = {{PoolId("gpu0"), 300, 120}, {PoolId("elsewhere"), 5, 0}};
  Instance instance;
  instance.spec = std::make_shared<const ModelSpec>(spec);
  EXPECT_EQ(books.held(instance), PoolBytes{300});
  instance.shrunk = true;
  EXPECT_EQ(books.held(instance), PoolBytes{180});
}

}  // namespace
}  // namespace corral::residency
