// Long prompts in the lane, and what goes on beside them: a lane that works when it is told to.
#include "simulation/engine/held_core.h"

namespace corral::engine::simulation {
namespace {

class HeldLane final : public PrefillLane {
 public:
  HeldLane(LaneMemoryMaker make, std::shared_ptr<CommandBox> box) : make_(std::move(make)), box_(std::move(box)) {}
  void start(PrefillJob job) override {
    job_ = std::move(job);
    stop_ = false;
  }
  void stop() override { stop_ = true; }
  void set_threads(std::int32_t) override {}

  bool busy() const { return job_.has_value(); }
  void work() {
    box_->post(run_prefill(*std::exchange(job_, std::nullopt), make_, {.stop = stop_, .n_threads = n_threads_}));
  }

 private:
  const LaneMemoryMaker make_;
  const std::shared_ptr<CommandBox> box_;
  std::optional<PrefillJob> job_;
  std::atomic<bool> stop_ = false;
  const std::atomic<std::int32_t> n_threads_ = 1;
};

class LaneInCore : public HeldCore {
 protected:
  void fit(WorkerCore::Parts& parts) override {
    auto lane = std::make_unique<HeldLane>(
        [this](std::uint32_t tokens, const std::atomic<bool>&) -> Result<std::unique_ptr<KvMemory>> {
          FakeMemoryOptions one = memory_;
          one.cells = tokens;
          return std::make_unique<FakeMemory>(one, KvShape{}, fate_);
        },
        box_);
    lane_ = lane.get();
    parts.lane = std::move(lane);
  }
  void work() override {
    if (lane_->busy()) lane_->work();
  }

  HeldLane* lane_ = nullptr;  // the core's
};

TEST_F(LaneInCore, EachPassTellsHowFarThePromptIs) {
  start();
  Chat& talk = chat(some(100, 5), 5);
  const auto reported = [&] {
    std::vector<std::uint32_t> processed;
    while (!is_through(talk)) rounds(1);
    for (const PromptProgress& one : talk.progress) processed.push_back(one.processed);
    return processed;
  };
  EXPECT_EQ(reported(), (std::vector<std::uint32_t>{0, 32, 64, 96, 100}))
      << "passes of 32 tokens, and nothing behind them";
  EXPECT_EQ(talk.progress.back().total, 100u);
  EXPECT_EQ(talk.progress.back().cached, 0u);
  EXPECT_GT(talk.progress.back().ms, talk.progress.front().ms);
  go_on(talk, some(50, 6), 5);
  EXPECT_EQ(reported(), (std::vector<std::uint32_t>{104, 136, 155}));
  EXPECT_EQ(talk.progress.front().total, 155u);
  EXPECT_EQ(talk.progress.front().cached, 104u) << "all but the last token that was said";
}

TEST_F(LaneInCore, TheLaneTellsHowFarThePromptIs) {
  start();
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  Chat& talk = chat(some(150, 7), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  read(talk);
  ASSERT_EQ(talk.progress.size(), 1u);
  EXPECT_EQ(talk.progress.back().processed, 0u);
  lane_->work();
  core_->take_commands(false);
  read(talk);
  EXPECT_EQ(talk.progress.back().processed, 149u) << "all that is computed there";
  rounds(20);
  ASSERT_TRUE(is_through(talk));
  EXPECT_EQ(talk.progress.back().processed, 150u);
  EXPECT_EQ(talk.progress.back().total, 150u);
}

// What is told of a prompt that nobody waits for any more is nobody's.
TEST_F(LaneInCore, WhatTheLaneTellsOfACancelledPromptIsNotHeard) {
  start();
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  Chat& talk = chat(some(150, 7), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  Chat& next = chat(some(150, 8), 5);
  rounds(2);
  talk.stream.cancel();
  rounds(1);
  ASSERT_TRUE(is_through(talk));
  box_->post(PrefillStep{64});  // of a chunk that was under way
  lane_->work();
  core_->take_commands(false);
  read(next);
  EXPECT_TRUE(next.progress.empty());
  EXPECT_TRUE(is_through(talk));
}

// Parts for those that run, and for one more.
constexpr CpuCostOptions kSplit = {.foreign_cell_ms = 0.1};

TEST_F(LaneInCore, AShortPromptDoesNotWaitForTheLaneWhereAllHaveParts) {
  start({}, kSplit);
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(100, i), 290);
  rounds(30);
  ASSERT_EQ(core_->stats().kv_streams, 3u);
  chat(some(150, 7), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  Chat& little = chat(some(10, 8), 5);
  rounds(40);
  EXPECT_TRUE(lane_->busy());
  EXPECT_TRUE(is_through(little));
}

TEST_F(LaneInCore, WhoSharesLittleWithTheOneInTheLaneDoesNotWaitForIt) {
  start();
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  std::vector<Token> prompt = some(40, 5);
  std::vector<Token> longer = prompt;
  for (const Token token : some(250, 6)) longer.push_back(token);
  chat(longer, 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  for (const Token token : some(10, 8)) prompt.push_back(token);
  Chat& little = chat(prompt, 5);
  rounds(40);
  EXPECT_TRUE(lane_->busy());
  EXPECT_TRUE(is_through(little));
}

TEST_F(LaneInCore, CancelledInTheLaneKeepsWhatWasThereBefore) {
  start();
  Chat& talk = chat(some(100, 5), 5);
  rounds(30);
  ASSERT_TRUE(is_through(talk));
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  go_on(talk, some(80, 6), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  talk.stream.cancel();
  rounds(2);
  ASSERT_TRUE(is_through(talk));
  lane_->work();
  go_on(talk, some(10, 7), 5);
  rounds(60);
  if (lane_->busy()) lane_->work();
  rounds(10);
  ASSERT_TRUE(is_through(talk));
  EXPECT_GE(talk.finish->usage.cached_tokens, 100u);
}

// They used to be lost with the engine.
TEST_F(LaneInCore, WhoIsInTheLaneAtTheEndKeepsWhatWasThereBefore) {
  start({.park_at_end = true});
  Chat& talk = chat(some(100, 5), 5);
  rounds(30);
  ASSERT_TRUE(is_through(talk));
  const std::vector<Token> before(talk.history.begin(), talk.history.begin() + 100);
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  go_on(talk, some(80, 6), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  EXPECT_FALSE(store_->covers(before));
  core_->shut_down();
  EXPECT_TRUE(store_->covers(before));
}

TEST_F(LaneInCore, SharedCellsStayShared) {
  start();
  const std::vector<Token> beginning = some(300, 5);
  Chat& first = chat(beginning, 1);
  rounds(30);
  ASSERT_TRUE(is_through(first));
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 200);
  rounds(30);
  std::vector<Chat*> others;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::vector<Token> prompt = beginning;
    for (const Token token : some(65, i + 10)) prompt.push_back(token);
    others.push_back(&chat(prompt, 30));
  }
  for (std::uint32_t i = 0; i < 70; ++i) {
    rounds(1);
    if (lane_->busy()) lane_->work();
  }
  for (Chat* other : others) EXPECT_TRUE(is_through(*other));
  EXPECT_EQ(core_->stats().parked, 0u) << "somebody lost cells, where there was room for all";
}

TEST_F(LaneInCore, OneGoesAtATimeAlsoWhereTwoComeTogether) {
  start();
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  for (std::uint32_t i = 0; i < 3; ++i) chat(some(100, i + 5), 5);
  rounds(30);
  EXPECT_EQ(core_->stats().waiting, 2u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(lane_->busy());
    lane_->work();
    rounds(3);
  }
  EXPECT_EQ(core_->stats().lane_prompts, 3u);
  EXPECT_EQ(core_->stats().lane_tokens, 3 * 99u);
}

// What two streams take isn't known when they come, so nobody can say at once where they belong.
TEST_F(LaneInCore, OneGoesAtATimeAlsoWhereThatShowsLater) {
  start();
  chat(some(20, 0), 290);
  rounds(30);
  chat(some(10, 4), 290);
  rounds(1);
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(100, i + 5), 5);
  rounds(1);
  ASSERT_EQ(core_->stats().waiting, 0u);
  rounds(20);
  EXPECT_EQ(core_->stats().waiting, 1u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(lane_->busy());
    lane_->work();
    rounds(3);
  }
  EXPECT_EQ(core_->stats().lane_prompts, 2u);
  EXPECT_EQ(core_->stats().lane_tokens, 2 * 99u);
}

TEST_F(LaneInCore, TheSamePromptTwiceBehindAnotherIsComputedOnce) {
  start();
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  chat(some(200, 5), 5);
  rounds(3);
  for (std::uint32_t i = 0; i < 2; ++i) {
    chat(some(150, 6), 5);
    rounds(3);
  }
  for (std::uint32_t i = 0; i < 60; ++i) {
    rounds(1);
    if (lane_->busy()) lane_->work();
  }
  EXPECT_EQ(core_->stats().lane_tokens, 199u + 149u);
}

// The streams take the pool for themselves, so that it loses what it found, and finds it again.
TEST_F(LaneInCore, WhatIsFoundWhileItWaitsForTheLaneCountsOnce) {
  memory_.cells = 560;
  start();
  const std::vector<Token> beginning = some(50, 5);
  Chat& first = chat(beginning, 1);
  rounds(10);
  ASSERT_TRUE(is_through(first));
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  chat(some(100, 6), 5);
  std::vector<Token> prompt = beginning;
  for (const Token token : some(100, 7)) prompt.push_back(token);
  chat(prompt, 5);
  rounds(225);
  ASSERT_TRUE(lane_->busy());
  EXPECT_EQ(core_->stats().waiting, 1u);
  EXPECT_GT(core_->stats().parked, 0u) << "nothing was lost: the test is of no use";
  EXPECT_EQ(core_->stats().prefix_hits, 1u);
  chats_[1]->stream.cancel();  // one of the streams
  lane_->work();
  rounds(5);
  EXPECT_GT(core_->stats().restored, 0u);
  EXPECT_EQ(core_->stats().prefix_hits, 1u);
}

// It used to be put back into the pool each round, to lose its cells to the streams in the same.
TEST_F(LaneInCore, WhoLostItsCellsWaitsForTheLaneWithoutThem) {
  memory_.cells = 650;
  start();
  Chat& talk = chat(some(150, 5), 5);
  rounds(30);
  ASSERT_TRUE(is_through(talk));
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(20, i), 290);
  rounds(30);
  chat(some(100, 6), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  go_on(talk, some(100, 7), 5);
  rounds(205);
  ASSERT_TRUE(lane_->busy());
  EXPECT_EQ(core_->stats().waiting, 1u);
  EXPECT_EQ(core_->stats().parked, 1u) << "the streams needed its cells, or the test is of no use";
  EXPECT_EQ(core_->stats().restored, 0u);
  chats_[1]->stream.cancel();  // one of the streams
  lane_->work();
  rounds(5);
  EXPECT_EQ(core_->stats().restored, 1u) << "it has them when its turn comes";
}

// It comes back to a memory of parts that are too small, and a stream that can't be saved when the pool is made.
TEST_F(LaneInCore, WhoGoesBackToTheQueueForTheOneFromTheLaneGetsOn) {
  start({}, kSplit);
  for (std::uint32_t i = 0; i < 2; ++i) chat(some(100, i), 290);
  rounds(30);
  ASSERT_EQ(core_->stats().kv_streams, 3u);
  chat(some(380, 7), 5);
  rounds(5);
  ASSERT_TRUE(lane_->busy());
  lane_->work();
  fate_->refuse_save = 1;
  core_->take_commands(false);
  EXPECT_EQ(fate_->refuse_save, 0u);
}

}  // namespace
}  // namespace corral::engine::simulation
