// Rule: a pass that fails or is cut short costs nobody anything but the one to blame, and the worker goes on. On real
// models and real contexts: only the outcome of computing is made up (test_compute_hook.h).
#include <atomic>

#include "engine/test_compute_hook.h"
#include "engine/test_held_worker.h"
#include "engine/test_support.h"
#include "engine/values/errors.h"

namespace corral::engine::test {
namespace {

// Not among some_tokens(), and nothing the models say here.
constexpr Token kPoison = 1000;

// A device that can't compute with this token.
std::optional<ggml_status> poisoned(std::span<const Token> tokens) {
  if (std::ranges::find(tokens, kPoison) == tokens.end()) return std::nullopt;
  return GGML_STATUS_FAILED;
}

struct Kind {
  const char* name;
  const char* model;
  KvLayout layout = KvLayout::unified;
  bool one_state = false;  // for all tokens of a sequence
};

class FailedPass : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr std::uint32_t kSessions = 4;

  static EngineLoadOptions options() {
    EngineLoadOptions options = load_options(GetParam().model);
    options.kv_layout = GetParam().layout;
    options.max_sequences = kSessions;
    options.stream_tokens = 8;
    return options;
  }
  // Of different lengths: in a split layout such prompts are computed in several parts.
  static std::vector<Token> prompt(std::uint32_t i) { return some_tokens(20 + 30 * i, i + 1); }

  // Sessions with a prompt each, and generations that come to the worker at once.
  std::vector<StreamHandle> start(std::uint32_t max_new_tokens) {
    if (sessions_.empty()) {
      for (std::uint32_t i = 0; i < kSessions; ++i) sessions_.push_back(session_with(*engine_, prompt(i)));
    }
    std::vector<StreamHandle> streams;
    HeldWorker held(*engine_);
    held.views();
    for (const SessionId session : sessions_)
      streams.push_back(*engine_->generate_stream(session, endless(max_new_tokens)));
    return streams;
  }

  void expect_right(const std::vector<Token>& history, const Answer& answer) const {
    EXPECT_EQ(answer.finish.reason, FinishReason::length);
    EXPECT_TRUE(reference_.is_greedy(history, answer.tokens, true));
  }
  static void expect_failed(const Answer& answer) {
    EXPECT_EQ(answer.finish.reason, FinishReason::error);
    ASSERT_TRUE(answer.finish.error);
    EXPECT_EQ(answer.finish.error->code, errc::decode_failed);
  }
  // The cells that are taken are those that the sessions say they have.
  void expect_cells_add_up() const {
    std::uint32_t cells = 0;
    for (const SessionView& view : engine_->sessions()) {
      EXPECT_TRUE(view.state == SessionState::idle || view.state == SessionState::parked) << to_string(view.state);
      cells += view.cached_tokens;
    }
    (void)engine_->sessions();  // behind the round of the first
    const WorkerStats stats = engine_->stats().total();
    EXPECT_EQ(stats.kv_used, cells);
    EXPECT_EQ(stats.generating, 0u);
    EXPECT_EQ(stats.waiting, 0u);
  }

  std::unique_ptr<InferenceEngine> engine_ = load(options());
  const Reference reference_{GetParam().model};
  std::vector<SessionId> sessions_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, FailedPass,
                         ::testing::Values(Kind{"pool", "tiny-llama"}, Kind{"parts", "tiny-llama", KvLayout::split},
                                           Kind{"recurrent", "tiny-mamba", KvLayout::unified, true},
                                           Kind{"hybrid", "tiny-jamba", KvLayout::unified, true},
                                           Kind{"windowed", "tiny-gemma3"}),
                         [](const auto& info) { return info.param.name; });

// In the prompts and behind them (in parts: before and behind the first finished one), and in the middle of answers.
TEST_P(FailedPass, OnceHarmsNobody) {
  for (const std::uint32_t first : {0u, 1u}) {
    engine_ = load(options());
    sessions_.clear();
    std::uint32_t pass = 0, failed = 0;
    const ComputeHook hook([&](std::span<const Token> tokens) -> std::optional<ggml_status> {
      // Whoever fails alone is to blame; each of them is alone in the passes behind one that fails.
      const std::uint32_t next = first + 10 * failed;
      if (pass++ < next || tokens.size() < kSessions) return std::nullopt;
      return failed++ % 2 == 0 ? GGML_STATUS_FAILED : GGML_STATUS_ALLOC_FAILED;
    });
    auto streams = start(30);
    for (std::uint32_t i = 0; i < kSessions; ++i) expect_right(prompt(i), drain(streams[i]));
    EXPECT_GE(failed, 1u);
    expect_cells_add_up();
  }
}

TEST_P(FailedPass, OnlyTheOneToBlameEnds) {
  const ComputeHook hook(poisoned);
  for (std::uint32_t i = 0; i < kSessions; ++i)
    sessions_.push_back(
        session_with(*engine_, i == 1 ? prompt(i) + std::vector{kPoison} + some_tokens(5, 9) : prompt(i)));
  auto streams = start(20);
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    const Answer answer = drain(streams[i]);
    if (i != 1) {
      expect_right(prompt(i), answer);
      continue;
    }
    expect_failed(answer);
    EXPECT_TRUE(answer.tokens.empty());
  }
  expect_cells_add_up();
  // It is there all the same, and others come and go.
  expect_failed(generate(*engine_, sessions_[1], endless(5)));
  expect_right(prompt(7), generate(*engine_, session_with(*engine_, prompt(7)), endless(10)));
  EXPECT_TRUE(engine_->end_session(sessions_[1]));
  expect_cells_add_up();
}

// A device that is lost and comes back: all generations end, none hangs, and all sessions can go on.
TEST_P(FailedPass, WhatLastsEndsEverybodyAndNobodyForGood) {
  std::atomic<bool> lost = false;
  const ComputeHook hook([&](auto) { return lost ? std::optional(GGML_STATUS_FAILED) : std::nullopt; });
  auto streams = start(100);
  std::vector<std::vector<Token>> answered;
  for (StreamHandle& stream : streams) answered.push_back(stream.next()->tokens);
  // All of them stand still before their hundredth token: nobody reads more than what they may have said by now.
  lost = true;
  StreamHandle waiting = *engine_->generate_stream(session_with(*engine_, prompt(7)), endless(5));
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    const Answer answer = drain(streams[i]);
    expect_failed(answer);
    answered[i] = answered[i] + answer.tokens;
    EXPECT_TRUE(reference_.is_greedy(prompt(i), answered[i], true)) << i;
  }
  const Answer never_began = drain(waiting);
  expect_failed(never_began);
  EXPECT_TRUE(never_began.tokens.empty());
  expect_cells_add_up();
  EXPECT_EQ(engine_->stats().total().kv_used, 0u);

  lost = false;
  streams = start(20);
  for (std::uint32_t i = 0; i < kSessions; ++i) expect_right(prompt(i) + answered[i], drain(streams[i]));
  expect_right(prompt(8), generate(*engine_, session_with(*engine_, prompt(8)), endless(10)));
}

// Unlike in Limits.CancelledPrompts... it is certain where the cut falls: in the pass that ends the longest prompt (in
// parts: behind those that are finished).
TEST_P(FailedPass, CancelledInTheMiddleOfAPassTheOthersGoOn) {
  constexpr std::uint32_t kLongest = kSessions - 1;
  const std::vector<Token> longest = prompt(kLongest);
  int cut = 0;
  const ComputeHook hook([&](std::span<const Token> tokens) -> std::optional<ggml_status> {
    if (cut == 0 && !std::ranges::search(tokens, std::span(longest).last(3)).empty()) {
      ++cut;
      EXPECT_TRUE(engine_->cancel_generate(sessions_[kLongest]));
    }
    return std::nullopt;
  });
  auto streams = start(20);
  const Answer cancelled = drain(streams[kLongest]);
  EXPECT_EQ(cancelled.finish.reason, FinishReason::cancelled);
  if (!GetParam().one_state) EXPECT_TRUE(cancelled.tokens.empty());
  for (std::uint32_t i = 0; i < kLongest; ++i) expect_right(prompt(i), drain(streams[i]));
  EXPECT_EQ(cut, 1);
  // Where a cut would cost the others their states there is none.
  EXPECT_EQ(engine_->stats().total().aborted_steps, GetParam().one_state ? 0u : 1u);
  expect_right(prompt(kLongest) + cancelled.tokens, generate(*engine_, sessions_[kLongest], endless(10)));
  expect_cells_add_up();
}

// What a session has in the cache is safe from the cancel of another one.
TEST_P(FailedPass, ACancelTakesNothingFromWhoRests) {
  const SessionId resting = session_with(*engine_, prompt(0)), leaving = session_with(*engine_, prompt(3));
  const std::vector<Token> answered = generate(*engine_, resting, endless(10)).tokens;
  const std::uint32_t cached = engine_->sessions().front().cached_tokens;
  ASSERT_GT(cached, 0u);
  {
    const ComputeHook hook([&](auto) -> std::optional<ggml_status> {
      EXPECT_TRUE(engine_->cancel_generate(leaving));
      return std::nullopt;
    });
    StreamHandle stream = *engine_->generate_stream(leaving, endless(20));
    EXPECT_EQ(drain(stream).finish.reason, FinishReason::cancelled);
  }
  EXPECT_EQ(engine_->stats().total().aborted_steps, GetParam().one_state ? 0u : 1u);
  const Answer on = generate(*engine_, resting, endless(10));
  // With parts the lowest ones are for those who run.
  if (GetParam().layout == KvLayout::unified) EXPECT_EQ(on.finish.usage.cached_tokens, cached);
  expect_right(prompt(0) + answered, on);
}

// A device that fails once may leave wrong states of sessions that had nothing to do with it: they go, too.
TEST_P(FailedPass, WhoRestsAnswersRightAfterwards) {
  for (std::uint32_t i = 0; i < kSessions; ++i) sessions_.push_back(session_with(*engine_, prompt(i)));
  std::vector<std::vector<Token>> answered;
  for (const SessionId session : sessions_) answered.push_back(generate(*engine_, session, endless(5)).tokens);
  {
    std::atomic<bool> failed = false;
    const ComputeHook hook([&](auto) -> std::optional<ggml_status> {
      return failed.exchange(true) ? std::nullopt : std::optional(GGML_STATUS_FAILED);
    });
    std::vector<StreamHandle> streams;
    {
      HeldWorker held(*engine_);
      held.views();
      for (const std::size_t i : {0u, 2u}) streams.push_back(*engine_->generate_stream(sessions_[i], endless(5)));
    }
    for (const std::size_t i : {0u, 1u}) {
      const Answer answer = drain(streams[i]);
      expect_right(prompt(2 * i) + answered[2 * i], answer);
      answered[2 * i] = answered[2 * i] + answer.tokens;
    }
  }
  for (std::uint32_t i = 0; i < kSessions; ++i)
    expect_right(prompt(i) + answered[i], generate(*engine_, sessions_[i], endless(10)));
  expect_cells_add_up();
}

// Nobody answers for a guess: what fails with guesses is computed without.
TEST(FailedGuesses, AreLeftOut) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.speculative = {.max_tokens = 4, .measure = false};
  const auto engine = load(options);
  const std::vector<Token> prompt = some_tokens(20) + some_tokens(20) + some_tokens(20);
  int failed = 0;
  const ComputeHook hook([&](std::span<const Token> tokens) -> std::optional<ggml_status> {
    if (tokens.size() < 2 || tokens.size() > 5) return std::nullopt;
    ++failed;
    return GGML_STATUS_FAILED;
  });
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(60));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(prompt, answer.tokens, true));
  EXPECT_GT(failed, 0) << "nothing was guessed: the test is of no use";
  EXPECT_EQ(answer.finish.usage.accepted_tokens, 0u);
}

}  // namespace
}  // namespace corral::engine::test
