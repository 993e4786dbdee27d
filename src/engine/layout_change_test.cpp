// The layout follows the load, from a pool to parts and back, and no answer shows it. (When it does: layout_test.cpp.)
#include "engine/test_held_worker.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kStreams = 14;
constexpr std::uint32_t kTokens = 300;

// They have their beginning in common: in a pool they share its cells, in parts each has its own.
std::vector<Token> prompt(std::uint32_t i) { return some_tokens(500) + some_tokens(90 + i, i + 2); }

TEST(LayoutChange, FromAPoolToPartsAndBackUnderRunningStreams) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 16384;
  options.max_sequences = 16;
  options.stream_tokens = 100'000;
  const auto engine = load(options);
  const Reference reference("tiny-llama");
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < kStreams; ++i)
    streams.push_back(*engine->generate_stream(session_with(*engine, prompt(i)), endless(kTokens)));
  EXPECT_EQ(engine->stats().total().kv_streams, 0u);

  // Held in the first round in which `now` holds, or if it never does, in that in which all have ended.
  const auto first_round = [](auto now) {
    return [now](const Views& views) {
      return now(views) ||
             std::ranges::all_of(views, [](const SessionView& view) { return view.state == SessionState::idle; });
    };
  };
  // Many streams of some length that look over each other's cells: parts of 1,024 cells.
  const SessionId newcomer = session_with(*engine, some_tokens(1200, 99));
  StreamHandle late;
  {
    HeldWorker held(*engine, first_round([&](auto&) { return engine->stats().total().kv_streams > 0; }));
    EXPECT_GT(std::ranges::count(held.views(), SessionState::decoding, &SessionView::state), 2);
    EXPECT_EQ(engine->stats().total().kv_streams, 16u);
    EXPECT_EQ(engine->stats().total().layout_changes, 1u);
    // Longer than a part.
    late = *engine->generate_stream(newcomer, endless(20));
  }
  {
    HeldWorker held(*engine, first_round([&](const Views& views) {
      return view_of(views, newcomer).state == SessionState::decoding;
    }));
    EXPECT_EQ(view_of(held.views(), newcomer).state, SessionState::decoding);
    EXPECT_EQ(engine->stats().total().kv_streams, 0u);
    EXPECT_EQ(engine->stats().total().layout_changes, 2u);
  }
  EXPECT_TRUE(reference.is_greedy(some_tokens(1200, 99), drain(late).tokens, true));
  for (std::uint32_t i = 0; i < kStreams; ++i) {
    const Answer answer = drain(streams[i]);
    EXPECT_EQ(answer.finish.reason, FinishReason::length) << i;
    if (i % 5 == 0) EXPECT_TRUE(reference.is_greedy(prompt(i), answer.tokens, true)) << i;
  }
}

}  // namespace
}  // namespace corral::engine::test
