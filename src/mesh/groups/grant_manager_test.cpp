#include "mesh/groups/grant_manager.h"

#include <gmock/gmock.h>

#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

class GrantManagerTest : public testing::Test {
 protected:
  GrantManagerTest() { granter.lend(100); }
  static NodeId id(unsigned number) { return test_key(number).id(); }
  static GrantRequest ask(PlanTerm of, std::uint64_t stamp, const std::string& model = "m") {
    return {{sha256({model}), false}, of, stamp, sha256({"plan"}), 50};
  }
  // The answer, if there is one.
  std::optional<GrantResponse> asks(unsigned host, const GrantRequest& asked) {
    out.clear();
    granter.ask(id(host), asked, now, out);
    return last<GrantResponse>();
  }
  std::optional<GrantDecision> verdict(unsigned host, const GrantRequest& asked) {
    const auto answer = asks(host, asked);
    return answer ? std::optional(answer->verdict) : std::nullopt;
  }
  template <typename Message>
  std::optional<Message> last() const {
    std::optional<Message> found;
    for (const auto& effect : out) {
      const auto* sent = std::get_if<SendMessage>(&effect);
      if (sent && std::holds_alternative<Message>(sent->message)) found = std::get<Message>(sent->message);
    }
    return found;
  }
  template <typename Effect>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(out, [](const auto& effect) { return std::holds_alternative<Effect>(effect); }));
  }
  void pass(Millis time) {
    now += time;
    out.clear();
    granter.tick(now, out);
  }
  void reap() {
    out.clear();
    granter.reaped(out);
  }

  BootTime now{Millis(1'000'000)};
  GrantManager granter{{}, std::nullopt, now};
  GroupEffects out;
};

TEST_F(GrantManagerTest, OneHostAtATime) {
  EXPECT_EQ(verdict(1, ask({1, 1}, 1)), GrantDecision::granted);
  EXPECT_EQ(count<OpenWorker>(), 1u);
  EXPECT_EQ(count<RememberHolder>(), 1u);
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::taken);
  // Nor for another model of the same one.
  EXPECT_EQ(verdict(1, ask({1, 2}, 1, "other")), GrantDecision::taken);
  EXPECT_EQ(granter.grant()->host, id(1));
}

TEST_F(GrantManagerTest, AskingAgainRenews) {
  (void)asks(1, ask({1, 1}, 1));
  for (std::uint64_t stamp = 2; stamp < 10; ++stamp) {
    pass(Millis(9999));
    const auto answer = asks(1, ask({1, 1}, stamp));
    EXPECT_EQ(answer->verdict, GrantDecision::granted);
    EXPECT_EQ(answer->lease_ms, 10'000u);
    EXPECT_EQ(count<OpenWorker>(), 0u);
  }
  pass(Millis(10'000));
  EXPECT_EQ(count<ReapWorker>(), 1u);
}

TEST_F(GrantManagerTest, NothingIsGrantedBeforeTheLastOneIsReaped) {
  (void)asks(1, ask({1, 1}, 1));
  pass(Millis(10'000));
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::reaping);
  pass(Millis(100'000));
  EXPECT_EQ(verdict(2, ask({1, 1}, 2)), GrantDecision::reaping);
  reap();
  EXPECT_FALSE(std::get<RememberHolder>(out.front()).host);
  EXPECT_EQ(verdict(2, ask({1, 1}, 3)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, AnAskThatComesAfterTheEndOfTheLeaseFindsItEnded) {
  (void)asks(1, ask({1, 1}, 1));
  now += Millis(10'000);
  EXPECT_EQ(verdict(1, ask({1, 1}, 2)), GrantDecision::reaping);
}

TEST_F(GrantManagerTest, WhatComesLateOrTwiceSaysNothing) {
  (void)asks(1, ask({1, 1}, 5));
  pass(Millis(5000));
  EXPECT_FALSE(asks(1, ask({1, 1}, 5)));
  EXPECT_FALSE(asks(1, ask({1, 1}, 4)));
  EXPECT_FALSE(asks(1, ask({1, 0}, 9)));
  pass(Millis(5000));
  EXPECT_EQ(granter.state(), GrantManager::State::reaping);
}

TEST_F(GrantManagerTest, AnAskThatWasOvertakenByItsReturnIsNotGranted) {
  granter.given_back(id(1), {ask({1, 1}, 0).model, {1, 1}, 2}, out);
  EXPECT_FALSE(asks(1, ask({1, 1}, 1)));
  EXPECT_EQ(granter.state(), GrantManager::State::free);
}

TEST_F(GrantManagerTest, AReturnEndsItAndAnOldOneDoesNot) {
  (void)asks(1, ask({1, 2}, 1));
  granter.given_back(id(1), {ask({1, 1}, 0).model, {1, 1}, 9}, out);
  granter.given_back(id(2), {ask({1, 1}, 0).model, {9, 9}, 9}, out);
  EXPECT_EQ(granter.state(), GrantManager::State::granted);
  granter.given_back(id(1), {ask({1, 1}, 0).model, {1, 2}, 9}, out);
  EXPECT_EQ(granter.state(), GrantManager::State::reaping);
}

TEST_F(GrantManagerTest, ALaterPlanOrLifeOfTheHostEndsWhatItHad) {
  (void)asks(1, ask({1, 1}, 1));
  EXPECT_EQ(verdict(1, ask({1, 2}, 1)), GrantDecision::reaping);
  reap();
  EXPECT_EQ(verdict(1, ask({1, 2}, 2)), GrantDecision::granted);
  EXPECT_EQ(verdict(1, ask({2, 1}, 1, "other")), GrantDecision::reaping);
}

TEST_F(GrantManagerTest, TheEndOfTheHostsProcessEndsIt) {
  (void)asks(1, ask({1, 1}, 1));
  granter.host_ended(id(2), out);
  EXPECT_EQ(granter.state(), GrantManager::State::granted);
  granter.host_ended(id(1), out);
  EXPECT_EQ(granter.state(), GrantManager::State::reaping);
}

TEST_F(GrantManagerTest, AfterARestartOthersWaitForALease) {
  granter = GrantManager({}, id(1), now);
  granter.lend(100);
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::settling);
  pass(Millis(9999));
  EXPECT_EQ(verdict(2, ask({1, 1}, 2)), GrantDecision::settling);
  pass(Millis(1));
  EXPECT_EQ(verdict(2, ask({1, 1}, 3)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, AfterARestartItsHostHasItAtOnce) {
  granter = GrantManager({}, id(1), now);
  granter.lend(100);
  EXPECT_EQ(verdict(1, ask({1, 1}, 1)), GrantDecision::granted);
  // Or nobody believes in it any more.
  granter = GrantManager({}, id(1), now);
  granter.lend(100);
  granter.host_ended(id(1), out);
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, ARecallIsToldAndEndsInTime) {
  (void)asks(1, ask({1, 1}, 1));
  out.clear();
  granter.recall(now, out);
  EXPECT_EQ(last<GrantRecall>()->within_ms, 30'000u);
  for (std::uint64_t stamp = 2; stamp < 5; ++stamp) {
    pass(Millis(8000));
    EXPECT_EQ(verdict(1, ask({1, 1}, stamp)), GrantDecision::granted);
    EXPECT_EQ(last<GrantRecall>()->within_ms, 30'000 - 8000 * (stamp - 1));  // it may have been lost
  }
  EXPECT_EQ(asks(1, ask({1, 1}, 5))->lease_ms, 6000u);
  pass(Millis(6000));
  EXPECT_EQ(granter.state(), GrantManager::State::reaping);
  reap();
  EXPECT_EQ(verdict(1, ask({1, 1}, 6)), GrantDecision::recalled);
  granter.lend(100);
  EXPECT_EQ(verdict(1, ask({1, 1}, 7)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, WhatCantBeKeptToEndsAtOnce) {
  (void)asks(1, ask({1, 1}, 1));
  out.clear();
  granter.give_up(out);
  EXPECT_EQ(count<ReapWorker>(), 1u);
  EXPECT_EQ(verdict(1, ask({1, 1}, 2)), GrantDecision::reaping);
  out.clear();
  granter.give_up(out);
  EXPECT_EQ(count<ReapWorker>(), 0u);
  reap();
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, NoMoreIsGrantedThanIsLent) {
  granter.lend(49);
  EXPECT_EQ(verdict(1, ask({1, 1}, 1)), GrantDecision::too_little);
  granter.lend(50);
  EXPECT_EQ(verdict(1, ask({1, 1}, 2)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, ARenewalAsksForAsMuchAsBefore) {
  auto more = ask({1, 1}, 2);
  more.bytes = 1000;
  (void)asks(1, ask({1, 1}, 1));
  EXPECT_EQ(verdict(1, more), GrantDecision::taken);
  EXPECT_EQ(granter.grant()->ask.bytes, 50u);
  EXPECT_EQ(verdict(1, ask({1, 1}, 3)), GrantDecision::granted);
}

TEST_F(GrantManagerTest, AHostThatAsksAndReturnsCostsLittle) {
  std::size_t opened = 0, refused = 0;
  std::uint64_t stamp = 0;
  const auto round = [&] {
    const auto decision = verdict(1, ask({1, 1}, ++stamp));
    opened += count<OpenWorker>();
    refused += decision == GrantDecision::too_often;
    EXPECT_EQ(count<RememberHolder>(), count<OpenWorker>());
    granter.given_back(id(1), {ask({1, 1}, 0).model, {1, 1}, ++stamp}, out);
    reap();
  };
  for (int times = 0; times < 1000; ++times) {
    now += Millis(1);
    round();
  }
  EXPECT_LE(opened, 10u);
  EXPECT_EQ(opened + refused, 1000u);
  // Others don't wait for that, and nor does who renews.
  for (std::uint64_t renewal = 1; renewal < 100; ++renewal)
    EXPECT_EQ(verdict(2, ask({1, 1}, renewal)), GrantDecision::granted);
  granter.given_back(id(2), {ask({1, 1}, 0).model, {1, 1}, 100}, out);
  reap();
  now += Millis(60'000);
  const auto before = opened;
  round();
  EXPECT_EQ(opened, before + 1);
}

TEST_F(GrantManagerTest, AHostThatAsksForManyModelsIsForgottenInPart) {
  (void)asks(1, ask({1, 1}, 1));
  for (std::uint64_t number = 2; number < 1000; ++number)
    EXPECT_EQ(verdict(1, ask({1, number}, 1, "model " + std::to_string(number))), GrantDecision::taken);
  EXPECT_EQ(verdict(2, ask({1, 1}, 1)), GrantDecision::taken);
}

}  // namespace
}  // namespace corral::mesh
