#include "engine/worker/prefill_lane_controller.h"

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

TEST(ThreadsBesideTheLane, AreHalfOfThemAndAtLeastOne) {
  EXPECT_EQ(beside_lane({4, 7}), (SetThreads{2, 4}));
  EXPECT_EQ(beside_lane({1, 1}), (SetThreads{1, 1}));
  EXPECT_EQ(threads_of_lane({4, 7}, false), 3);
  EXPECT_EQ(threads_of_lane({4, 7}, true), 7);
  EXPECT_EQ(threads_of_lane({1, 1}, false), 1);
}

class PrefillLaneControllerTest : public test::Parts {
 protected:
  // Two streams, and it is known that a pass has little room for prompts beside them.
  PrefillLaneControllerTest() {
    for (int i = 0; i < 2; ++i) stream(waiting(10));
    costs->observe({.rows = 2, .decoding = 2, .ms = 10});
    costs->observe({.rows = 2, .decoding = 2, .ms = 10});
  }
  // It runs with a long prompt, of which so much is in cells.
  Session& with_prompt(std::uint32_t tokens, std::uint32_t there = 0) {
    Session& session = waiting(tokens);
    compute(session, there);
    return session;
  }
};

TEST_F(PrefillLaneControllerTest, TheOldestGoesAsideAndTheOthersWaitForIt) {
  Session& first = with_prompt(30, 8);
  Session& second = with_prompt(25);
  Session& little = with_prompt(15);
  lane.move_aside();
  EXPECT_EQ(sessions.aside(), &first);
  EXPECT_EQ(first.sequence, -1);
  EXPECT_EQ(second.phase(), Phase::waiting);
  EXPECT_TRUE(second.generation->awaits_lane);
  EXPECT_EQ(little.phase(), Phase::active) << "it isn't worth it";
  EXPECT_TRUE(lane.busy());
  EXPECT_TRUE(lane.makes_wait(second));
  ASSERT_EQ(notes.jobs.size(), 1u);
  EXPECT_EQ(notes.jobs[0].cached, 8u) << "what it had in cells goes along";
  EXPECT_EQ(notes.jobs[0].tokens.size(), 29u) << "the last token is computed for its logits, here";
  EXPECT_EQ(notes.threads, 3);
  EXPECT_EQ(kv.threads(), (SetThreads{2, 3}));
}

TEST_F(PrefillLaneControllerTest, WhoComesHomeWaitsForItsPlaceWithWhatWasComputed) {
  Session& session = with_prompt(30);
  lane.move_aside();
  const auto home = lane.take({.tokens = 29, .computed = 29, .bytes = std::vector<std::uint8_t>(29), .ms = 5});
  ASSERT_TRUE(home);
  EXPECT_EQ(&home->session, &session);
  EXPECT_EQ(home->tokens, 29u);
  EXPECT_EQ(session.phase(), Phase::waiting);
  EXPECT_EQ(faults.session, &session);
  EXPECT_FALSE(lane.busy());
  EXPECT_EQ(kv.threads(), (SetThreads{4, 6}));
  EXPECT_EQ(counters.lane_tokens, 29u);
  EXPECT_FALSE(lane.wants(session)) << "once is enough";
}

TEST_F(PrefillLaneControllerTest, WhereNothingWasWonItHasWhatItBrought) {
  with_prompt(30, 8);
  lane.move_aside();
  const auto home = lane.take({});
  ASSERT_TRUE(home);
  EXPECT_EQ(home->tokens, 8u);
  EXPECT_EQ(home->bytes.size(), 8u);
}

TEST_F(PrefillLaneControllerTest, TheResultOfOneThatHasEndedIsForNobody) {
  Session& session = with_prompt(30);
  lane.move_aside();
  finisher.finish(session, FinishReason::cancelled);
  EXPECT_EQ(notes.stops, 1u);
  EXPECT_EQ(sessions.aside(), nullptr);
  EXPECT_TRUE(lane.busy()) << "until its result has come";
  EXPECT_FALSE(lane.take({.tokens = 29, .computed = 29, .bytes = std::vector<std::uint8_t>(29), .ms = 5}));
  EXPECT_FALSE(lane.busy());
}

TEST_F(PrefillLaneControllerTest, NobodyIsWorthItWithoutStreamsOrWithOneThread) {
  Session& session = with_prompt(30);
  EXPECT_TRUE(lane.wants(session));
  lane.set_threads({1, 1});
  EXPECT_FALSE(lane.wants(session));
  lane.set_threads({4, 4});
  session.borrowed = 31;
  EXPECT_FALSE(lane.wants(session)) << "it shares more cells than it has to compute";
  session.borrowed = 0;
  while (sessions.decoding() > 0) finisher.finish(*sessions.active()[0], FinishReason::length);
  EXPECT_FALSE(lane.wants(session));
}

}  // namespace
}  // namespace corral::engine
