#include "fleet/base/demand.h"

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/timer.h"

namespace corral::fleet {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DemandTest : public testing::Test {
 protected:
  void ask(const std::string& model, int times = 1) {
    for (int i = 0; i < times; ++i) meter.count(ModelName(model));
  }
  double announced(const std::string& model) {
    for (const auto& demand : meter.announced())
      if (demand.name == model) return demand.per_hour;
    return 0;
  }
  async::Loop loop;
  async::ManualTimers clock{loop.executor()};
  DemandMeter meter{clock};
};

TEST_F(DemandTest, ASteadyRateIsToldAsItIs) {
  DecayedRate rate;
  for (int i = 0; i < 1000; ++i) {
    clock.advance(std::chrono::seconds(30));
    rate.add(clock.now());
  }
  EXPECT_THAT(rate.per_hour(clock.now()), DoubleNear(120, 2));
  clock.advance(kDemandHalfLife);
  EXPECT_THAT(rate.per_hour(clock.now()), DoubleNear(60, 1));
}

TEST_F(DemandTest, ItIsToldInStepsAndEndsInNothing) {
  ask("m", 32);  // 88 an hour
  EXPECT_EQ(announced("m"), 64);
  int changes = 0;
  double last = 64;
  for (int minutes = 0; minutes < 24 * 60; ++minutes) {
    clock.advance(std::chrono::minutes(1));
    const auto now = announced("m");
    changes += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(last, 0);
  EXPECT_LE(changes, 7);
  EXPECT_THAT(meter.announced(), IsEmpty());
}

// A rate that moves about a step's border isn't news each time.
TEST_F(DemandTest, AStepIsLeftWhenTheRateIsWellOutsideOfIt) {
  EXPECT_EQ(demand_step(0, 64), 64);
  EXPECT_EQ(demand_step(64, 63), 64);
  EXPECT_EQ(demand_step(64, 127), 64);
  EXPECT_EQ(demand_step(64, 128), 128);
  EXPECT_EQ(demand_step(128, 127), 128);
  EXPECT_EQ(demand_step(128, 80), 64);
  EXPECT_EQ(demand_step(1, 0.9), 1);
  EXPECT_EQ(demand_step(1, 0.6), 0);
  EXPECT_EQ(demand_step(0, 0.9), 0);
}

TEST_F(DemandTest, ManyNamesAreBounded) {
  for (int i = 0; i < 2000; ++i) ask("m" + std::to_string(i));
  ask("hot", 20);
  EXPECT_THAT(meter.announced(), SizeIs(mesh::kNodeStateLimits.demand));
  EXPECT_EQ(announced("hot"), 32);
}

TEST_F(DemandTest, WhatARequestWaitsForIsNeverCutOff) {
  for (int i = 0; i < 100; ++i) ask("m" + std::to_string(i), 4);
  const auto waiting = meter.wait(ModelName("rare"));
  EXPECT_THAT(meter.announced(), SizeIs(mesh::kNodeStateLimits.demand));
  EXPECT_GT(announced("rare"), 2);
}

// Members lend to what is asked for: who waits for memory is counted before there is any, and once only.
TEST_F(DemandTest, WhoWaitsIsCountedAtOnceAndNotAgainAtTheEnd) {
  auto waiting = meter.wait(ModelName("m"));
  EXPECT_GT(announced("m"), 2);
  waiting.reset();
  EXPECT_EQ(announced("m"), 2);
  ask("m");  // it ends
  EXPECT_EQ(announced("m"), 2);
  ask("m");
  EXPECT_EQ(announced("m"), 4);
}

// One more request is no step of a high rate, and has to be seen all the same.
TEST_F(DemandTest, WhoWaitsIsSeenWhateverTheRate) {
  ask("m", 100);
  const auto before = announced("m");
  for (int i = 0; i < 3; ++i) {
    auto waiting = meter.wait(ModelName("m"));
    const auto at_once = announced("m");
    EXPECT_GT(at_once, before);
    clock.advance(std::chrono::seconds(4));
    EXPECT_GT(announced("m"), at_once);
    waiting.reset();
    EXPECT_EQ(announced("m"), before);
  }
}

TEST_F(DemandTest, ModelsAreToldByName) {
  ask("b");
  ask("a", 8);
  const auto list = meter.announced();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].name, "a");
  EXPECT_EQ(list[0].per_hour, 16);
  EXPECT_EQ(list[1].per_hour, 2);
}

}  // namespace
}  // namespace corral::fleet
