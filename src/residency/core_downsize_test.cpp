// What is known of the memory of an instance that was told to downsize, before it has answered and when it goes
// meanwhile.
#include "residency/memory_fixture_for_tests.h"

namespace corral::residency {
namespace {

constexpr Millis kMinute{60'000};

// "a" takes 60, was told to downsize by 20, and 40 are free.
struct MidDownsize : Memory {
  void SetUp() override {
    house.model("b", ModelType::embedding);
    have("a", 60, 20, kOn);
    house.pass(kMinute);
    ASSERT_EQ(house.state("a"), InstanceState::downsizing);
  }
};

// Found by simulation. It has shrunk already, 60 are free, and goes for its own reload: the place of that reload is
// what it gives now and 20 of those 60.
TEST_F(MidDownsize, WhatItMayHaveGivenUpAlreadyIsNotLentToWhoPassesItsReload) {
  house.load("a", 1);
  EXPECT_THAT(house.free(60), ElementsAre("stop a: reload", "watch no more"));
  house.needs("b", 50);
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.pass(Millis{500}), ElementsAre("sample"));
  EXPECT_THAT(house.free(60), IsEmpty());
  house.stopped("a");
  EXPECT_THAT(house.free(100), ElementsAre("start a", "watch"));
}

TEST_F(MidDownsize, WhatItGaveUpOnItsWayOutIsNotLentToWhoPassesItsReload) {
  house.load("a", 1);
  house.free(60);
  house.needs("b", 50);
  house.acquire("b");
  house.pass(Millis{500});
  EXPECT_THAT(house.downsized("a"), IsEmpty());
  EXPECT_THAT(house.free(60), IsEmpty());
}

TEST_F(MidDownsize, WhatItGaveUpOnItsWayOutIsNotExpectedOfItsEnd) {
  house.free(20);  // others took 20
  house.unload("a");
  house.downsized("a");
  house.free(40);
  house.stopped("a");
  house.needs("b", 90);
  house.acquire("b");
  EXPECT_THAT(house.free(80), ElementsAre("reject 3: insufficient_memory"));
}

TEST_F(MidDownsize, ARequestThatCameBetweenMakesItWholeAlsoOnItsWayOut) {
  house.free(20);
  house.acquire("a");
  const auto request = house.last_ticket();
  house.unload("a");
  house.finish(request);
  ASSERT_EQ(house.state("a"), InstanceState::evicting);
  house.downsized("a");
  house.free(40);
  house.stopped("a");
  house.needs("b", 90);
  house.acquire("b");
  EXPECT_THAT(house.free(80), IsEmpty());
}

// A load that waits for its memory would wait for ever, and with it all others.
TEST_F(MidDownsize, AInstanceThatDoesNotAnswerGoesAfterAWhile) {
  house.needs("b", 60);
  house.acquire("b");
  EXPECT_THAT(house.free(40), IsEmpty());
  EXPECT_THAT(house.pass(Millis{4999}), ElementsAre("sample"));
  EXPECT_THAT(house.free(40), IsEmpty());
  EXPECT_EQ(house.wake_in(), Millis{1});
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("stop a: memory", "watch no more"));
}

TEST_F(MidDownsize, APassDoesNotWaitForEverForAInstanceThatDoesNotAnswer) {
  EXPECT_THAT(house.simulate(-1), IsEmpty());
  EXPECT_EQ(house.wake_in(), Millis{5000});
  EXPECT_THAT(house.pass(Millis{5000}), ElementsAre("relieved 2: downsized  evicted "));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(house.downsized("a"), IsEmpty());  // late, but it has shrunk
  EXPECT_EQ(house.state("a"), InstanceState::downsized);
}

TEST_F(MidDownsize, APassDoesNotWaitForEverForTheAnswerThatARequestHasCrossed) {
  house.simulate(-1);
  house.acquire("a");
  EXPECT_THAT(house.pass(Millis{5000}), ElementsAre("relieved 2: downsized  evicted "));
}

TEST_F(MidDownsize, ALateNoIsANo) {
  house.simulate(-1);
  house.pass(Millis{5000});
  EXPECT_THAT(house.not_downsized("a"), IsEmpty());
  EXPECT_THAT(house.simulate(-1), ElementsAre("relieved 3: downsized  evicted "));
}

TEST_F(MidDownsize, APassThatSendsItAwayEndsWhenItIsGone) {
  EXPECT_THAT(house.simulate(0.99), ElementsAre("stop a: pressure", "watch no more"));
  EXPECT_THAT(house.downsized("a"), IsEmpty());
  EXPECT_THAT(house.stopped("a"), ElementsAre("relieved 2: downsized  evicted a"));
}

}  // namespace
}  // namespace corral::residency
