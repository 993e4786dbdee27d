// Rule: what a model with sliding windows says doesn't depend on which of its cells are gone. A beginning is shared,
// and an answer cut back, only while the window before that place is there.
#include <algorithm>

#include "engine/fit/memory_estimate.h"
#include "engine/llama/context.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

// 256 cells for the windows (of 32 and 48 tokens) of two sequences and a pass.
EngineLoadOptions narrow(const std::string& model) {
  EngineLoadOptions options = load_options(model);
  options.max_sequences = 2;
  options.n_batch = 64;
  return options;
}

class Sliding : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Sliding, ::testing::Values("tiny-gemma3", "tiny-gpt-oss"), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(Sliding, CellsAreThoseOfTheWindowsUnlessAskedOtherwise) {
  EngineLoadOptions options = narrow(GetParam());
  options.n_gpu_layers = 0;
  const auto kv = [&](Toggle swa_full) {
    options.swa_full = swa_full;
    const auto estimate = estimate_memory(options);
    EXPECT_TRUE(estimate);
    return estimate ? estimate->devices.front().kv : 0;
  };
  const std::uint64_t whole = kv(Toggle::on);
  EXPECT_EQ(kv(Toggle::off), whole / 2 + whole / 2 * 256 / 2048);
  EXPECT_EQ(kv(Toggle::automatic), kv(Toggle::off));
  options.n_ctx = 256;
  EXPECT_EQ(kv(Toggle::automatic), kv(Toggle::on));
}

// The donor's cells of that place are taken by what it went on with: in the answers of others they would be missing.
TEST_P(Sliding, ABeginningWhoseWindowIsGoneIsComputedAgain) {
  const auto engine = load(narrow(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> system = some_tokens(100);
  const SessionId donor = session_with(*engine, system + some_tokens(700, 2));
  EXPECT_TRUE(reference.is_greedy(system + some_tokens(700, 2), generate(*engine, donor, endless(20)).tokens, true));

  const std::vector<Token> prompt = system + some_tokens(10, 3);
  const Answer living = generate(*engine, session_with(*engine, prompt), endless(40));
  EXPECT_EQ(living.finish.usage.cached_tokens, 0u);
  EXPECT_TRUE(reference.is_greedy(prompt, living.tokens, true));

  ASSERT_TRUE(engine->end_session(donor));  // what it leaves is no better
  const std::vector<Token> other = system + some_tokens(200, 2) + some_tokens(10, 4);
  const Answer kept = generate(*engine, session_with(*engine, other), endless(40));
  EXPECT_LE(kept.finish.usage.cached_tokens, 100u) << "of the other session";
  EXPECT_TRUE(reference.is_greedy(other, kept.tokens, true));
}

TEST_P(Sliding, ABeginningWhoseWindowIsThereIsShared) {
  const auto engine = load(narrow(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> system = some_tokens(100);
  for (std::uint32_t i = 1; i <= 4; ++i) {
    const std::vector<Token> prompt = system + some_tokens(10, i);
    const SessionId session = session_with(*engine, prompt);
    const Answer answer = generate(*engine, session, endless(40));
    EXPECT_EQ(answer.finish.usage.cached_tokens, i == 1 ? 0u : 100u);
    EXPECT_TRUE(reference.is_greedy(prompt, answer.tokens, true)) << i;
    ASSERT_TRUE(engine->end_session(session));
  }
}

// The next turn of the same conversation, after other ones have used the cells.
TEST_P(Sliding, AConversationGoesOnFromWhatItLeft) {
  const auto engine = load(narrow(GetParam()));
  const Reference reference(GetParam());
  std::vector<Token> history = some_tokens(500);
  for (std::uint32_t turn = 1; turn <= 3; ++turn) {
    const SessionId session = session_with(*engine, history);
    const Answer answer = generate(*engine, session, endless(30));
    EXPECT_TRUE(reference.is_greedy(history, answer.tokens, true)) << turn;
    if (turn > 1) EXPECT_GT(answer.finish.usage.cached_tokens, 490u) << turn;
    history = history + answer.tokens + some_tokens(20, turn);
    ASSERT_TRUE(engine->end_session(session));
    const SessionId other = session_with(*engine, some_tokens(400, 50 + turn));
    generate(*engine, other, endless(5));
    ASSERT_TRUE(engine->end_session(other));
  }
}

// Cells that several sequences share would stay taken, and there are as many as the windows of all need.
TEST_P(Sliding, SharedBeginningsLeaveRoomForEverybodysWindow) {
  EngineLoadOptions options = load_options(GetParam());
  options.max_sequences = 8;
  options.n_batch = 64;
  options.swa_full = Toggle::off;
  const auto engine = load(options);
  const Reference reference(GetParam());
  const std::vector<Token> system = some_tokens(400);
  const SessionId first = session_with(*engine, system + some_tokens(5, 1));
  generate(*engine, first, endless(1));
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 2; i < 9; ++i) {
    streams.push_back(*engine->generate_stream(session_with(*engine, system + some_tokens(10, i)), endless(10)));
  }
  for (std::uint32_t i = 2; i < 9; ++i) {
    const Answer answer = drain(streams[i - 2]);
    EXPECT_EQ(answer.finish.usage.cached_tokens, 400u) << i;
    EXPECT_TRUE(reference.is_greedy(system + some_tokens(10, i), answer.tokens, true)) << i;
  }
  EXPECT_EQ(engine->stats().total().preemptions, 0u);
}

// A stop string is found behind tokens that are in the cache already: where the window before it is gone the next turn
// is computed anew, and right in any case.
TEST_P(Sliding, CuttingBackKeepsTheTextRight) {
  EngineLoadOptions options = narrow(GetParam());
  options.speculative = {.max_tokens = 8, .measure = false};
  const auto engine = load(options);
  const Reference reference(GetParam());
  std::vector<Token> history = some_tokens(300);
  const SessionId session = session_with(*engine, history);
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    GenerateOptions wanted = endless(120);
    wanted.stop = {" the", "a ", "in", "e"};
    const Answer answer = generate(*engine, session, wanted);
    EXPECT_TRUE(answer.tokens.empty() || reference.is_greedy(history, answer.tokens, true)) << turn;
    history = history + answer.tokens + some_tokens(30, 70 + turn);
    ASSERT_TRUE(engine->append_input(session, some_tokens(30, 70 + turn)));
  }
  const Answer last = generate(*engine, session, endless(40));
  EXPECT_TRUE(reference.is_greedy(history, last.tokens, true));
}

Token best_behind(LlamaContext& context, std::span<const Token> tokens, std::uint32_t position, std::int32_t sequence) {
  Batch batch(context.n_batch());
  std::int32_t row = -1;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    row = batch.add(tokens[i], position + static_cast<std::uint32_t>(i), sequence, i + 1 == tokens.size());
  EXPECT_EQ(context.decode(batch), DecodeStatus::ok);
  const float* const logits = context.logits(row);
  return static_cast<Token>(std::max_element(logits, logits + 1056) - logits);
}

// The context alone: what it says of a cut is what libllama holds.
TEST_P(Sliding, TheContextKnowsHowFarItCanBeCut) {
  ASSERT_TRUE(load_backends());
  const EngineLoadOptions options = narrow(GetParam());
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  EXPECT_EQ(memory_kind((*model)->memory_facts()), MemoryKind::windowed);
  const std::uint32_t window = (*model)->facts().window;
  const std::atomic<bool> never = false;
  const auto made = LlamaContext::make(*model, options, never);
  ASSERT_TRUE(made);
  LlamaContext& context = **made;
  EXPECT_EQ(context.sequence_ids(), 2u);
  const std::vector<Token> tokens = some_tokens(640);
  for (std::uint32_t at = 0; at < 640; at += 64) best_behind(context, std::span(tokens).subspan(at, 64), at, 0);
  EXPECT_TRUE(context.can_cut(0, 640));
  EXPECT_TRUE(context.can_cut(0, 600)) << "256 cells are there";
  EXPECT_FALSE(context.can_cut(0, 300));
  EXPECT_FALSE(context.can_cut(0, 1));

  // Saved and put back: the window of the next token, and of the one before it.
  const auto bytes = context.save(0);
  ASSERT_TRUE(context.restore(1, bytes));
  EXPECT_EQ(context.length(1), 640u);
  EXPECT_TRUE(context.can_cut(1, 640) && context.can_cut(1, 639));
  EXPECT_FALSE(context.can_cut(1, 638));
  context.clear(1);

  ASSERT_TRUE(context.share(0, 1, 600));
  EXPECT_EQ(context.length(1), 600u);
  EXPECT_FALSE(context.can_cut(1, 600 - 2)) << "it has a window of its own and no more";
  EXPECT_EQ(best_behind(context, std::span(tokens).subspan(600, 2), 600, 1),
            Reference(GetParam()).greedy({tokens.begin(), tokens.begin() + 602}, 1)[0]);
  EXPECT_GT(window, 2u);
  EXPECT_FALSE(context.trim(0, 300));
  EXPECT_EQ(context.length(0), 0u);
}

class LaneOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, LaneOf,
                         ::testing::Values("tiny-llama", "tiny-gemma3", "tiny-gpt-oss", "tiny-mamba", "tiny-jamba"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Computed in a memory of its own, from the start or from what there was, then moved beside others.
TEST_P(LaneOf, APromptThatWasComputedElsewhereGoesOn) {
  ASSERT_TRUE(load_backends());
  const EngineLoadOptions options = narrow(GetParam());
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  const std::atomic<bool> never = false;
  const std::atomic<std::int32_t> one = 1;
  const auto context = LlamaContext::make(*model, options, never);
  ASSERT_TRUE(context);
  const std::int32_t here = (*context)->first_sequence(), beside = here + 1;
  const std::vector<Token> tokens = some_tokens(402);
  const LaneMemoryMaker make = [&](std::uint32_t size,
                                   const std::atomic<bool>& abort) -> Result<std::unique_ptr<KvMemory>> {
    EngineLoadOptions lane = options;
    lane.max_sequences = 1;
    lane.n_ctx = size;
    return LlamaContext::make(*model, lane, abort);
  };
  PrefillResult first =
      run_prefill({.tokens = {tokens.begin(), tokens.begin() + 200}, .cached = 0, .bytes = {}}, make, {never, one});
  ASSERT_EQ(first.tokens, 200u);
  PrefillResult rest = run_prefill({.tokens = {tokens.begin(), tokens.begin() + 400},
                                    .cached = 200,
                                    .bytes = std::make_shared<const std::vector<std::uint8_t>>(first.bytes)},
                                   make, {never, one});
  ASSERT_EQ(rest.tokens, 400u);
  EXPECT_EQ(rest.computed, 200u);
  best_behind(**context, some_tokens(60, 7), 0, beside);
  ASSERT_TRUE((*context)->restore(here, rest.bytes));
  EXPECT_EQ(best_behind(**context, std::span(tokens).subspan(400), 400, here),
            Reference(GetParam()).greedy(tokens, 1)[0]);
}

}  // namespace
}  // namespace corral::engine::test
