#include "engine/worker/generation_finisher.h"

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

class Ends : public test::Parts {};

TEST_F(Ends, WhatWasAppendedMeanwhileGoesBehindTheAnswer) {
  Session& session = waiting(10);
  stream(session);
  const auto output = session.generation->stream;
  session.appended = {7, 8};
  finisher.finish(session, FinishReason::stop, std::nullopt, "end");
  EXPECT_EQ(session.history.size(), 12u);
  EXPECT_EQ(session.history.back(), 8);
  EXPECT_TRUE(session.appended.empty());
  EXPECT_EQ(session.phase(), Phase::idle);
  EXPECT_FALSE(session.generation);
  EXPECT_EQ(session.shared->generations, 0u);
  const auto end = end_of(output);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, FinishReason::stop);
  EXPECT_EQ(end->stop_string, "end");
}

TEST_F(Ends, WhoeverWasInHandBeforeIsAgain) {
  Session& first = waiting(10);
  Session& second = waiting(10);
  faults.session = &first;
  finisher.finish(second, FinishReason::cancelled);
  EXPECT_EQ(faults.session, &first);
  finisher.finish(first, FinishReason::cancelled);
  EXPECT_EQ(faults.session, nullptr);
}

TEST_F(Ends, OfOneThatFailsWhatItsStreamWasNotToldIsNoPartOfItsHistory) {
  Session& session = waiting(10);
  const auto output = session.generation->stream;
  session.history.insert(session.history.end(), {1, 2, 3});
  session.shared->tokens = 13;
  session.generation->reported = 2;
  session.appended = {9};
  finisher.fail(session, "no memory");
  EXPECT_EQ(session.history.size(), 13u) << "10, the 2 that were told, and what was appended";
  EXPECT_EQ(session.history.back(), 9);
  EXPECT_EQ(session.shared->tokens, 12u);
  EXPECT_EQ(end_of(output)->error->code, errc::worker_failed);
  EXPECT_EQ(sessions.generating(), 0u);
}

TEST_F(Ends, FailuresCountUntilOneGetsThrough) {
  for (int i = 0; i < 20; ++i) finisher.fail(waiting(10), "again");
  EXPECT_EQ(finisher.failed_in_row(), 8u);
  finisher.finish(waiting(10), FinishReason::cancelled);
  EXPECT_EQ(finisher.failed_in_row(), 8u) << "what a client ends says nothing";
  finisher.finish(waiting(10), FinishReason::length);
  EXPECT_EQ(finisher.failed_in_row(), 0u);
}

TEST_F(Ends, ThatOfAllEndsThoseWithAGeneration) {
  const auto first = waiting(10).generation->stream, second = waiting(10).generation->stream;
  finisher.finish(*sessions.find(SessionId(1)), FinishReason::length);
  finisher.finish_all(Error(errc::out_of_memory, "too little"));
  EXPECT_EQ(end_of(first)->reason, FinishReason::length);
  EXPECT_EQ(end_of(second)->error->code, errc::out_of_memory);
}

}  // namespace
}  // namespace corral::engine
