// Rule: the engine answers at once whatever it computes, and a cancel stops the computing within a step. No clock is
// asked: the decode thread is held still in the middle of a prompt, so what answers then doesn't wait for it.
#include "engine/test_held_worker.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

EngineLoadOptions small_steps() {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_batch = 16;
  return options;
}

// Some of the session's prompt is computed, and not all.
auto in_prefill(SessionId session) {
  return [session](const Views& views) {
    const SessionView view = view_of(views, session);
    return view.state == SessionState::prefill && view.cached_tokens > 0;
  };
}

TEST(Responsive, CreateAppendGenerateCancelAndEndDoNotWaitForAPass) {
  const auto engine = load(small_steps());
  const SessionId prompt = session_with(*engine, some_tokens(1900));
  std::vector<StreamHandle> streams;
  {
    HeldWorker held(*engine, in_prefill(prompt));
    streams.push_back(*engine->generate_stream(prompt, endless(1)));
    held.views();
    const SessionId other = session_with(*engine, some_tokens(20));
    streams.push_back(*engine->generate_stream(other, endless(10)));
    EXPECT_EQ(engine->stats().workers.size(), 1u);
    EXPECT_EQ(engine->worker_of(other), 0u);
    engine->set_threads(1, 1);
    EXPECT_TRUE(engine->cancel_generate(other));
    const SessionId third = session_with(*engine, some_tokens(20));
    streams.push_back(*engine->generate_stream(third, endless(10)));
    EXPECT_TRUE(engine->end_session(third));
  }
  EXPECT_EQ(drain(streams[0]).finish.reason, FinishReason::length);
  EXPECT_EQ(drain(streams[1]).finish.reason, FinishReason::cancelled);
  EXPECT_EQ(drain(streams[2]).finish.reason, FinishReason::session_ended);
}

// All ways to be rid of a prompt that is half computed. What is computed afterwards are the ten tokens of another one.
class RidOfAPrompt : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ways, RidOfAPrompt, ::testing::Values("cancel_by_id", "cancel_by_handle", "drop", "end"));

TEST_P(RidOfAPrompt, ItIsNotComputedAnyFurther) {
  const std::string way = GetParam();
  const auto engine = load(small_steps());
  const SessionId prompt = session_with(*engine, some_tokens(1900)), other = session_with(*engine, some_tokens(10, 2));
  StreamHandle stream;
  std::uint64_t before = 0;
  {
    HeldWorker held(*engine, in_prefill(prompt));
    stream = *engine->generate_stream(prompt, endless(1));
    held.views();
    before = engine->stats().total().prompt_tokens;
    EXPECT_LT(before, 1900u);
    if (way == "cancel_by_id") EXPECT_TRUE(engine->cancel_generate(prompt));
    if (way == "cancel_by_handle") stream.cancel();
    if (way == "drop") stream = {};
    if (way == "end") EXPECT_TRUE(engine->end_session(prompt));
  }
  generate(*engine, other, endless(1));
  if (way != "drop") EXPECT_TRUE(drain(stream).tokens.empty());
  (void)engine->sessions();  // one round later the counters of the last pass are published
  EXPECT_EQ(engine->stats().total().prompt_tokens, before + 10);
}

}  // namespace
}  // namespace corral::engine::test
