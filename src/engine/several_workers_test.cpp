// Several workers on one model: each has sessions, cells and a lane of its own, what is parked belongs to all.
#include <thread>

#include "engine/test_compute_hook.h"
#include "engine/test_support.h"
#include "engine/values/errors.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kWorkers = 3;

class SeveralWorkers : public ::testing::Test {
 protected:
  static EngineLoadOptions options() {
    EngineLoadOptions options = load_options("tiny-llama");
    options.workers = kWorkers;
    return options;
  }
  static std::vector<Token> prompt(std::uint32_t i) { return some_tokens(60 + i, i + 1); }
  // Turn about: the first on worker 0.
  std::vector<SessionId> sessions(std::uint32_t count) {
    std::vector<SessionId> made;
    for (std::uint32_t i = 0; i < count; ++i) made.push_back(session_with(*engine_, prompt(i)));
    return made;
  }
  std::vector<StreamHandle> start(std::span<const SessionId> sessions, std::uint32_t max_new_tokens) {
    std::vector<StreamHandle> streams;
    for (const SessionId session : sessions)
      streams.push_back(*engine_->generate_stream(session, endless(max_new_tokens)));
    return streams;
  }
  // With everything in it that came out of a stream before.
  std::vector<WorkerStats> stats() const {
    (void)engine_->sessions();
    return engine_->stats().workers;
  }

  const Reference reference_{"tiny-llama"};
  std::unique_ptr<InferenceEngine> engine_ = load(options());
};

TEST_F(SeveralWorkers, SessionsStayWhereTheyAre) {
  constexpr std::uint32_t kSessions = 3 * kWorkers;
  const auto all = sessions(kSessions);
  std::vector<std::vector<Token>> history;
  for (std::uint32_t i = 0; i < kSessions; ++i) history.push_back(prompt(i));
  for (int turn = 0; turn < 3; ++turn) {
    auto streams = start(all, 15);
    for (std::uint32_t i = 0; i < kSessions; ++i) {
      const Answer answer = drain(streams[i]);
      EXPECT_TRUE(reference_.is_greedy(history[i], answer.tokens, true)) << i;
      if (turn > 0)
        EXPECT_GE(answer.finish.usage.cached_tokens, history[i].size() - 6) << "its cells are on its worker";
      history[i] = history[i] + answer.tokens + some_tokens(5, 70 + i);
      EXPECT_TRUE(engine_->append_input(all[i], some_tokens(5, 70 + i)));
    }
  }
  for (const SessionView& view : engine_->sessions()) {
    const auto i = static_cast<std::uint32_t>(std::ranges::find(all, view.id) - all.begin());
    EXPECT_EQ(view.worker, i % kWorkers);
    EXPECT_EQ(engine_->worker_of(view.id), i % kWorkers);
  }
  for (const WorkerStats& one : stats()) {
    EXPECT_EQ(one.sessions, 3u);
    EXPECT_EQ(one.generations, 9u);
    EXPECT_EQ(one.predicted_tokens, 9u * 15);
  }
}

TEST_F(SeveralWorkers, WhatOneParkedAnotherFinds) {
  const std::vector<Token> conversation = some_tokens(300);
  const SessionId first = session_with(*engine_, conversation);
  ASSERT_EQ(engine_->worker_of(first), 0u);
  const Answer answer = generate(*engine_, first, endless(20));
  EXPECT_TRUE(engine_->end_session(first));
  EXPECT_TRUE(engine_->downsize().done);
  EXPECT_EQ(stats()[0].parked, 1u);

  const std::vector<Token> longer = conversation + answer.tokens + some_tokens(10, 2);
  const SessionId second = session_with(*engine_, longer);
  ASSERT_EQ(engine_->worker_of(second), 1u);
  const Answer next = generate(*engine_, second, endless(20));
  EXPECT_EQ(next.finish.usage.cached_tokens, 319u) << "all that was computed of the conversation";
  EXPECT_TRUE(reference_.is_greedy(longer, next.tokens, true));
  EXPECT_EQ(stats()[1].restored, 1u);
  EXPECT_EQ(stats()[1].prompt_tokens, 11u);
}

// On each worker one generation ends before its time, each in another way, and one doesn't.
TEST_F(SeveralWorkers, GenerationsEndOneByOne) {
  EngineLoadOptions pausing = options();
  pausing.stream_tokens = 8;
  engine_ = load(pausing);
  const auto all = sessions(2 * kWorkers);
  auto streams = start(all, 100);
  std::vector<Answer> answers(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) answers[i].tokens = streams[i].next()->tokens;
  EXPECT_TRUE(engine_->cancel_generate(all[0]));
  EXPECT_TRUE(engine_->end_session(all[1]));
  streams[2].cancel();
  EXPECT_EQ(drain(streams[0]).finish.reason, FinishReason::cancelled);
  EXPECT_EQ(drain(streams[1]).finish.reason, FinishReason::session_ended);
  EXPECT_EQ(drain(streams[2]).finish.reason, FinishReason::cancelled);
  for (std::uint32_t i = kWorkers; i < 2 * kWorkers; ++i) {
    const Answer answer = drain(streams[i], std::move(answers[i]));
    EXPECT_EQ(answer.finish.reason, FinishReason::length);
    EXPECT_TRUE(reference_.is_greedy(prompt(i), answer.tokens, true)) << i;
  }
  const auto now = stats();
  EXPECT_EQ(now[0].sessions, 2u);
  EXPECT_EQ(now[1].sessions, 1u);
  EXPECT_EQ(now[2].sessions, 2u);
  for (const WorkerStats& one : now) EXPECT_EQ(one.generating, 0u);
  // Nobody takes the place of the one that ended: turn about it goes on.
  EXPECT_EQ(engine_->worker_of(session_with(*engine_, prompt(0))), 0u);
}

TEST_F(SeveralWorkers, AllAreDownsizedAndComeBackEachByItself) {
  const auto all = sessions(kWorkers);
  std::vector<Answer> first;
  for (const SessionId session : all) first.push_back(generate(*engine_, session, endless(10)));
  const DownsizeReport report = engine_->downsize();
  EXPECT_TRUE(report.done);
  EXPECT_EQ(report.sessions, kWorkers);
  EXPECT_GT(report.parked_bytes, 0u);
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    for (std::uint32_t k = 0; k < kWorkers; ++k) EXPECT_EQ(stats()[k].downsized, k < i ? 0u : 1u);
    const Answer next = generate(*engine_, all[i], endless(10));
    EXPECT_EQ(next.finish.usage.cached_tokens, prompt(i).size() + 9);
    EXPECT_TRUE(reference_.is_greedy(prompt(i) + first[i].tokens, next.tokens, true)) << i;
    EXPECT_EQ(stats()[i].restored, 1u);
  }
}

// Where one generates, the others are downsized all the same; what it says doesn't change.
TEST_F(SeveralWorkers, WhoGeneratesIsNotDownsized) {
  EngineLoadOptions pausing = options();
  pausing.stream_tokens = 8;
  engine_ = load(pausing);
  const auto all = sessions(kWorkers);
  auto stream = *engine_->generate_stream(all[1], endless(50));
  EXPECT_FALSE(engine_->downsize().done);
  const auto now = stats();
  EXPECT_EQ(now[0].downsized, 1u);
  EXPECT_EQ(now[1].downsized, 0u);
  EXPECT_EQ(now[2].downsized, 1u);
  EXPECT_TRUE(reference_.is_greedy(prompt(1), drain(stream).tokens, true));
  EXPECT_TRUE(engine_->downsize().done);
}

// The device of one worker is lost: its generations end, those of the others don't notice.
TEST_F(SeveralWorkers, WhatFailsOnOneDoesNotReachTheOthers) {
  constexpr Token kOnlyThere = 1000;
  std::thread::id lost;
  const ComputeHook hook([&](std::span<const Token> tokens) {
    if (std::ranges::find(tokens, kOnlyThere) != tokens.end()) lost = std::this_thread::get_id();
    return std::this_thread::get_id() == lost ? std::optional(GGML_STATUS_FAILED) : std::nullopt;
  });
  const auto all = sessions(2 * kWorkers);
  EXPECT_TRUE(engine_->append_input(all[0], std::vector{kOnlyThere}));
  auto streams = start(all, 20);
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    const Answer answer = drain(streams[i]);
    if (i % kWorkers == 0) {
      ASSERT_TRUE(answer.finish.error) << i;
      EXPECT_EQ(answer.finish.error->code, errc::decode_failed);
    } else {
      EXPECT_EQ(answer.finish.reason, FinishReason::length);
      EXPECT_TRUE(reference_.is_greedy(prompt(i), answer.tokens, true)) << i;
    }
  }
}

// It would look like the one with least to do.
TEST_F(SeveralWorkers, NewPromptsKeepAwayFromOneThatFails) {
  constexpr Token kOnlyThere = 1000;
  std::thread::id lost;
  const ComputeHook hook([&](std::span<const Token> tokens) {
    if (std::ranges::find(tokens, kOnlyThere) != tokens.end()) lost = std::this_thread::get_id();
    return std::this_thread::get_id() == lost ? std::optional(GGML_STATUS_FAILED) : std::nullopt;
  });
  const auto ask = [&](const std::vector<Token>& tokens) {
    return generate(*engine_, *engine_->create_session(tokens), endless(2)).finish;
  };
  EXPECT_TRUE(ask(std::vector{kOnlyThere}).error);
  for (std::uint32_t i = 0; i < 3 * kWorkers; ++i) EXPECT_EQ(ask(prompt(i)).reason, FinishReason::length) << i;
}

// A long prompt on each at the same time, beside two streams each.
TEST_F(SeveralWorkers, EachHasALaneOfItsOwn) {
  EngineLoadOptions with_lane = options();
  with_lane.workers = 2;
  with_lane.n_ctx = 8192;
  with_lane.n_threads = 2;
  with_lane.stream_tokens = 100'000;
  with_lane.target_step = Millis{0};
  engine_ = load(with_lane);
  const auto running = sessions(4);
  auto streams = start(running, 1500);
  std::vector<Answer> answers(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) answers[i].tokens = streams[i].next()->tokens;
  std::vector<StreamHandle> late;
  for (std::uint32_t i = 0; i < 2; ++i)
    late.push_back(*engine_->generate_stream(session_with(*engine_, some_tokens(700, 80 + i)), endless(20)));
  for (std::uint32_t i = 0; i < 2; ++i)
    EXPECT_TRUE(reference_.is_greedy(some_tokens(700, 80 + i), drain(late[i]).tokens, true)) << i;
  for (const WorkerStats& one : stats()) {
    EXPECT_EQ(one.lane_prompts, 1u);
    EXPECT_EQ(one.lane_tokens, 699u);
  }
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    streams[i].cancel();
    EXPECT_TRUE(reference_.is_greedy(prompt(i), drain(streams[i], std::move(answers[i])).tokens, true)) << i;
  }
}

}  // namespace
}  // namespace corral::engine::test
