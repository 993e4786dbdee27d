#include "engine/worker/pass_runner.h"

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

// Says the same token for ever.
class Steady final : public TokenPicker {
 public:
  void prime(std::span<const Token>) override {}
  Result<Token> sample(const float*) override { return 3; }
  Drawn drawn(std::uint32_t) override { return {}; }
};

class Run : public test::Parts {
 protected:
  Session& streaming(std::uint32_t tokens, std::uint32_t max = 100) {
    Session& session = waiting(tokens, max);
    stream(session);
    session.generation->sampler = std::make_unique<Steady>();
    session.generation->first_token = now;
    return session;
  }
  void with(std::initializer_list<Session*> sessions) {
    pass.clear();
    for (Session* session : sessions) pass.items.push_back({.session = session, .tokens = 1});
  }
  test::CountingMemory& memory() { return dynamic_cast<test::CountingMemory&>(*kv); }

  PassRunner& runner = components.runner;
  Pass& pass = components.pass;
};

TEST_F(Run, EachStreamHasATokenMore) {
  Session& session = streaming(10);
  Session& last = streaming(8, 2);
  const auto output = last.generation->stream;
  with({&session, &last});
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(session.history.back(), 3);
  EXPECT_EQ(session.in_cache, 10u);
  EXPECT_EQ(session.phase(), Phase::active);
  EXPECT_EQ(end_of(output)->reason, FinishReason::length);
  EXPECT_EQ(counters.predicted_tokens, 2u);
  EXPECT_EQ(faults.session, nullptr);
}

TEST_F(Run, OfGuessesThoseThatAreRightCount) {
  Session& session = streaming(10);
  with({&session});
  pass.items[0].drafted = 3;
  pass.drafts = {{.token = 3, .probability = 1}, {.token = 3, .probability = 1}, {.token = 4, .probability = 1}};
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(session.history.size(), 13u) << "two that were right, and the one behind them";
  EXPECT_EQ(session.in_cache, 12u);
  EXPECT_EQ(kv->length(session.sequence), 12u) << "nothing stays of the wrong one";
  EXPECT_EQ(counters.accepted_tokens, 2u);
}

TEST_F(Run, WhatDoesNotFitIsTriedWithoutExtrasOnly) {
  Session& session = streaming(10);
  with({&session});
  pass.items[0].drafted = 1;
  pass.drafts = {{.token = 3, .probability = 1}};
  memory().next = DecodeStatus::no_room;
  EXPECT_FALSE(runner.run(pass));
  EXPECT_EQ(pass.items[0].drafted, 0u);
  EXPECT_EQ(session.history.size(), 10u);
}

TEST_F(Run, WhereAPassOfSeveralFailsEachIsSuspectedAndOneAloneEnds) {
  Session& first = streaming(10);
  Session& second = streaming(8);
  memory().next = DecodeStatus::failed;
  with({&first, &second});
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(first.suspect_until, 10u);
  EXPECT_EQ(second.suspect_until, 8u);
  const auto output = second.generation->stream;
  with({&second});
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(end_of(output)->error->code, errc::decode_failed);
  EXPECT_EQ(second.sequence, -1);
  memory().next = DecodeStatus::ok;
  with({&first});
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(first.suspect_until, 0u);
}

TEST_F(Run, AStreamThatIsFullLosesItsPlace) {
  Session& session = streaming(10);
  session.generation->stream =
      std::make_shared<StreamState>(1, StreamState::Owner{.drained = [] {}, .cancelled = [] {}});
  with({&session});
  EXPECT_TRUE(runner.run(pass));
  EXPECT_EQ(session.phase(), Phase::paused);
}

}  // namespace
}  // namespace corral::engine
