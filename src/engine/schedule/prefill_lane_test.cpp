// Long prompts beside running streams: in the lane they get what they would have got in the passes.
#include <future>

#include "engine/schedule/prefill_thread.h"
#include "engine/schedule/scheduler.h"
#include "engine/test_compute_hook.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(PrefillLane, TakesLongPromptsOnlyWhereStreamsRunAndLeaveThemLittle) {
  constexpr LaneView kTypical{.pending = 8000, .decoding = 7, .allowance = 9};
  EXPECT_TRUE(belongs_in_lane(kTypical));
  const auto with = [&](auto change) {
    LaneView view = kTypical;
    change(view);
    return belongs_in_lane(view);
  };
  EXPECT_TRUE(with([](LaneView& v) { v.pending = kLeastInLane; }));
  EXPECT_FALSE(with([](LaneView& v) { v.pending = kLeastInLane - 1; }));
  EXPECT_FALSE(with([](LaneView& v) { v.decoding = 0; }));
  EXPECT_FALSE(with([](LaneView& v) { v.allowance = 0; })) << "what fits isn't known yet";
  EXPECT_TRUE(with([](LaneView& v) { v.allowance = 63; }));
  EXPECT_FALSE(with([](LaneView& v) { v.allowance = 64; })) << "chunks are large enough there";
}

// Passes that go on until they are told to stop, or are let through.
class SlowMemory final : public KvMemory {
 public:
  SlowMemory(const std::atomic<bool>& abort, const std::atomic<bool>& go) : abort_(abort), go_(go) {}

  DecodeStatus decode(const Batch& batch) override {
    while (!go_ && !abort_) std::this_thread::yield();
    if (abort_) return DecodeStatus::aborted;
    held_ += batch.size();
    return DecodeStatus::ok;
  }
  const float* logits(std::int32_t) override { return nullptr; }
  void set_threads(std::int32_t, std::int32_t) override {}
  KvShape shape() const override { return {}; }
  std::uint32_t n_ctx() const override { return 1000; }
  std::uint32_t n_batch() const override { return 10; }
  std::uint32_t free_cells() const override { return n_ctx() - held_; }
  std::int32_t first_sequence() const override { return 0; }
  std::uint32_t sequence_ids() const override { return 1; }
  bool divisible() const override { return true; }
  std::uint32_t length(std::int32_t) const override { return held_; }
  bool trim(std::int32_t, std::uint32_t) override { return true; }
  void clear(std::int32_t) override { held_ = 0; }
  bool share(std::int32_t, std::int32_t, std::uint32_t) override { return false; }
  std::vector<std::uint8_t> save(std::int32_t) override { return std::vector<std::uint8_t>(held_); }
  bool restore(std::int32_t, std::span<const std::uint8_t> bytes) override {
    held_ = static_cast<std::uint32_t>(bytes.size());
    return true;
  }

 private:
  const std::atomic<bool>& abort_;
  const std::atomic<bool>& go_;
  std::uint32_t held_ = 0;
};

KvBytes some_bytes(std::size_t count) { return std::make_shared<const std::vector<std::uint8_t>>(count); }

struct SlowLane {
  std::atomic<bool> go = false;
  std::atomic<int> made = 0;
  std::promise<PrefillResult> result;
  PrefillThread thread{[this](std::uint32_t, const std::atomic<bool>& abort) -> Result<std::unique_ptr<KvMemory>> {
                         ++made;
                         made.notify_all();
                         return std::make_unique<SlowMemory>(abort, go);
                       },
                       [this](PrefillResult done) { result.set_value(std::move(done)); }};

  void start(std::uint32_t tokens, std::uint32_t cached = 0) {
    thread.start({.tokens = some_tokens(tokens), .cached = cached, .bytes = some_bytes(cached)});
  }
  PrefillResult wait() {
    PrefillResult done = result.get_future().get();
    result = {};
    return done;
  }
};

TEST(PrefillThread, ComputesWhatIsNotThereYet) {
  SlowLane lane;
  lane.go = true;
  lane.start(35, 12);
  const PrefillResult done = lane.wait();
  EXPECT_EQ(done.tokens, 35u);
  EXPECT_EQ(done.computed, 23u);
  EXPECT_EQ(done.bytes.size(), 35u);
}

TEST(PrefillThread, WhatIsStoppedGivesNothingAndTheNextJobIsDone) {
  SlowLane lane;
  lane.start(35);
  lane.made.wait(0);
  lane.thread.stop();
  const PrefillResult stopped = lane.wait();
  EXPECT_EQ(stopped.tokens, 0u);
  EXPECT_TRUE(stopped.bytes.empty());
  lane.go = true;
  lane.start(20);
  EXPECT_EQ(lane.wait().tokens, 20u);
}

// It doesn't wait for the rest: the job has a result, and nothing in it.
TEST(PrefillThread, EndsInTheMiddleOfAJob) {
  std::future<PrefillResult> result;
  {
    SlowLane lane;
    result = lane.result.get_future();
    lane.start(35);
    lane.made.wait(0);
  }
  const PrefillResult done = result.get();
  EXPECT_EQ(done.tokens, 0u);
  EXPECT_TRUE(done.bytes.empty());
}

// Whatever is thrown there, the worker gets its result and the next job is done.
TEST(PrefillThread, WhatThrowsGivesNothing) {
  std::atomic<bool> go = true;
  int made = 0, delivered = 0;
  std::promise<PrefillResult> result;
  PrefillThread lane(
      [&](std::uint32_t, const std::atomic<bool>& abort) -> Result<std::unique_ptr<KvMemory>> {
        if (++made == 1) throw std::runtime_error("sched_reserve");
        return std::make_unique<SlowMemory>(abort, go);
      },
      [&](PrefillResult done) {
        if (++delivered == 2) throw std::bad_alloc();
        result.set_value(std::move(done));
      });
  const auto next = [&] {
    lane.start({.tokens = some_tokens(20), .cached = 0, .bytes = nullptr});
    PrefillResult done = result.get_future().get();
    result = {};
    return done;
  };
  EXPECT_EQ(next().tokens, 0u);
  EXPECT_EQ(next().tokens, 0u) << "there was no memory to deliver it";
  EXPECT_EQ(delivered, 3);
  EXPECT_EQ(next().tokens, 20u);
}

TEST(PrefillThread, WithoutMemoryNothingComesBack) {
  std::promise<PrefillResult> result;
  PrefillThread lane(
      [](std::uint32_t, const std::atomic<bool>&) -> Result<std::unique_ptr<KvMemory>> {
        return fail(errc::out_of_memory, "none");
      },
      [&](PrefillResult done) { result.set_value(std::move(done)); });
  lane.start({.tokens = some_tokens(20), .cached = 5, .bytes = some_bytes(5)});
  const PrefillResult done = result.get_future().get();
  EXPECT_EQ(done.tokens, 0u);
  EXPECT_EQ(done.computed, 0u);
  EXPECT_TRUE(done.bytes.empty());
}

// Two streams that go on, and the smallest steps beside them: whoever comes with a long prompt belongs in the lane.
class Lane : public ::testing::Test {
 protected:
  static EngineLoadOptions options() {
    EngineLoadOptions options = load_options("tiny-llama");
    options.n_ctx = 8192;
    options.n_threads = 2;
    options.stream_tokens = 100'000;
    options.target_step = Millis{0};
    return options;
  }
  void SetUp() override {
    for (std::uint32_t i = 0; i < kRunning; ++i) {
      streams_.push_back(*engine_->generate_stream(session_with(*engine_, beginning(i)), endless(1500)));
      answers_.push_back(streams_.back().next()->tokens);
    }
  }
  // They have said what they would have said alone.
  void TearDown() override {
    for (std::uint32_t i = 0; i < kRunning; ++i) {
      streams_[i].cancel();
      Answer before;
      before.tokens = answers_[i];
      EXPECT_TRUE(reference_.is_greedy(beginning(i), drain(streams_[i], std::move(before)).tokens, true));
    }
  }
  static std::vector<Token> beginning(std::uint32_t i) { return some_tokens(30, i + 50); }
  WorkerStats stats() const { return engine_->stats().total(); }

  static constexpr std::uint32_t kRunning = 2;
  const std::unique_ptr<InferenceEngine> engine_ = load(options());
  const Reference reference_{"tiny-llama"};
  std::vector<StreamHandle> streams_;
  std::vector<std::vector<Token>> answers_;
};

TEST_F(Lane, LongPromptBesideStreamsIsGreedyAllTheSame) {
  const Answer answer = generate(*engine_, session_with(*engine_, some_tokens(700)), endless(20));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(700), answer.tokens, true));
  EXPECT_EQ(stats().lane_prompts, 1u);
  EXPECT_EQ(stats().lane_tokens, 699u);
  EXPECT_EQ(answer.finish.usage.cached_tokens, 0u);
  EXPECT_GT(answer.finish.timings.prompt_ms, 0);
}

TEST_F(Lane, AShortPromptIsHeldBackForStreamsThatHaveSettled) {
  for (std::uint32_t i = 0; i < kRunning; ++i) {
    while (answers_[i].size() < kSettledAfter) answers_[i] = answers_[i] + streams_[i].next()->tokens;
  }
  const Answer answer = generate(*engine_, session_with(*engine_, some_tokens(200)), endless(5));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(200), answer.tokens, true));
  EXPECT_EQ(stats().lane_prompts, 0u);
  EXPECT_LT(stats().max_batch, 100u);
}

TEST_F(Lane, LaterTurnTakesItsBeginningAlong) {
  const SessionId session = session_with(*engine_, some_tokens(400, 1));
  const Answer first = generate(*engine_, session, endless(10));
  ASSERT_TRUE(engine_->append_input(session, some_tokens(500, 2)));
  const Answer second = generate(*engine_, session, endless(10));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(400, 1) + first.tokens + some_tokens(500, 2), second.tokens, true));
  EXPECT_EQ(stats().lane_prompts, 2u);
  EXPECT_EQ(stats().lane_tokens, 399u + 500u);
  EXPECT_GE(second.finish.usage.cached_tokens, 400u);
}

TEST_F(Lane, TheSamePromptTwiceIsComputedOnce) {
  auto one = engine_->generate_stream(session_with(*engine_, some_tokens(900)), endless(10));
  auto other = engine_->generate_stream(session_with(*engine_, some_tokens(900)), endless(10));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(900), drain(*one).tokens, true));
  const Answer answer = drain(*other);
  EXPECT_TRUE(reference_.is_greedy(some_tokens(900), answer.tokens, true));
  EXPECT_GE(answer.finish.usage.cached_tokens, 800u);
  EXPECT_EQ(stats().lane_prompts, 1u);
}

TEST_F(Lane, SeveralComeOneAfterTheOther) {
  std::vector<StreamHandle> newcomers;
  for (std::uint32_t i = 0; i < 3; ++i)
    newcomers.push_back(*engine_->generate_stream(session_with(*engine_, some_tokens(600, i + 1)), endless(10)));
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(reference_.is_greedy(some_tokens(600, i + 1), drain(newcomers[i]).tokens, true)) << i;
}

TEST_F(Lane, CancelledOnesLeaveItToTheNext) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    const SessionId session = session_with(*engine_, some_tokens(1500, i + 1));
    auto stream = engine_->generate_stream(session, endless(10));
    const auto computes = [&] {
      const auto views = engine_->sessions();
      const auto found = std::ranges::find(views, session, &SessionView::id);
      return found->state != SessionState::waiting;
    };
    while (!computes()) std::this_thread::yield();
    stream->cancel();
    EXPECT_EQ(drain(*stream).finish.reason, FinishReason::cancelled);
    ASSERT_TRUE(engine_->end_session(session));
  }
  const Answer answer = generate(*engine_, session_with(*engine_, some_tokens(700)), endless(10));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(700), answer.tokens, true));
}

// The first chunk is all that the lane gets through with; the streams take no chunks as large as its own.
TEST_F(Lane, WhatFailsThereIsComputedBesideTheStreams) {
  std::atomic<std::uint32_t> large = 0;
  const ComputeHook hook([&](std::span<const Token> tokens) -> std::optional<ggml_status> {
    return tokens.size() > 128 && ++large > 1 ? std::optional(GGML_STATUS_FAILED) : std::nullopt;
  });
  const Answer answer = generate(*engine_, session_with(*engine_, some_tokens(700)), endless(20));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_TRUE(reference_.is_greedy(some_tokens(700), answer.tokens, true));
  EXPECT_EQ(large, 2u);
  EXPECT_EQ(stats().lane_prompts, 1u);
  EXPECT_EQ(stats().lane_tokens, 256u);
}

// A copy of tiny-llama with one set of RoPE factors for contexts of up to 1,024 tokens and another for larger ones.
std::string with_long_rope() {
  constexpr std::int64_t kFactors = 8;
  ggml_context* const factors = ggml_init({.mem_size = 1 << 14, .mem_buffer = nullptr, .no_alloc = false});
  const std::string path = with_meta("tiny-llama", "long-rope", [&](gguf_context* to) {
    gguf_set_val_str(to, "llama.rope.scaling.type", "longrope");
    gguf_set_val_u32(to, "llama.rope.scaling.original_context_length", 1024);
    for (const bool large : {false, true}) {
      ggml_tensor* const tensor = ggml_new_tensor_1d(factors, GGML_TYPE_F32, kFactors);
      ggml_set_name(tensor, large ? "rope_factors_long.weight" : "rope_factors_short.weight");
      std::ranges::fill(std::span(static_cast<float*>(tensor->data), kFactors), large ? 3.0F : 1.0F);
      gguf_add_tensor(to, tensor);
    }
  });
  ggml_free(factors);
  return path;
}

TEST(LongRope, NothingIsComputedForAContextOfAnotherSize) {
  for (const KvLayout layout : {KvLayout::unified, KvLayout::automatic}) {
    EngineLoadOptions options = load_options("tiny-llama");
    options.path = with_long_rope();
    options.n_threads = 2;
    options.stream_tokens = 100'000;
    options.target_step = Millis{0};
    options.kv_layout = layout;
    const auto engine = load(options);
    const Reference reference(std::filesystem::path(options.path).replace_extension().string());
    auto stream = *engine->generate_stream(session_with(*engine, some_tokens(30, 50)), endless(1500));
    const std::vector<Token> first = stream.next()->tokens;
    const Answer answer = generate(*engine, session_with(*engine, some_tokens(600)), endless(30));
    EXPECT_TRUE(reference.is_greedy(some_tokens(600), answer.tokens, true));
    stream.cancel();
    EXPECT_TRUE(reference.is_greedy(some_tokens(30, 50), first + drain(stream).tokens, true));
    EXPECT_EQ(engine->stats().total().kv_streams, 0u);
  }
}

}  // namespace
}  // namespace corral::engine::test
