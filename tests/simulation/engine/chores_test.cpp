// What a core doesn't wait for itself: files of parked KV, and why there is no memory. The executor runs its
// tasks when the test says so.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/kv/parked_test_support.h"
#include "engine/test_held_chores.h"
#include "simulation/engine/held_core.h"

namespace corral::engine::simulation {
namespace {

class ChoresInCore : public HeldCore {
 protected:
  ChoresInCore()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                fmt::format("corral-chores-{}-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                            ::getpid())) {}
  ~ChoresInCore() override { std::filesystem::remove_all(folder_); }

  void fit(WorkerCore::Parts& parts) override {
    parts.executor = executor_;
    parts.explain = [](const Error& error, KvShape) { return Error(error.code, error.message + ", and why"); };
  }
  void work() override { executor_->work(); }

  std::shared_ptr<ParkedStore> open_store() const {
    auto store = std::make_shared<ParkedStore>(ParkedStoreOptions{.memory_bytes = 1 << 20,
                                                                  .whole_only = false,
                                                                  .folder = folder_,
                                                                  .fingerprint = "test",
                                                                  .folder_bytes = 1 << 20,
                                                                  .disk = executor_,
                                                                  .executor = executor_});
    EXPECT_TRUE(store->open());
    return store;
  }
  void downsize() {
    box_->post(Downsize{[](DownsizeReport report) { EXPECT_TRUE(report.done); }});
    core_->take_commands(false);
  }
  // A life before this one, that left a conversation with this beginning in a file.
  void leave(const std::vector<Token>& prompt, WorkerOptions options = {}) {
    store_ = open_store();
    start(options);
    Chat& before = chat(prompt, 2);
    rounds(20);
    ASSERT_TRUE(is_through(before));
    downsize();
    ASSERT_EQ(store_->save()->written, 1u);
    chats_.clear();
    core_.reset();
    store_ = open_store();
    ASSERT_EQ(store_->stats().on_disk_only, 1u);
    start(options);
  }

  const std::filesystem::path folder_;
  const std::shared_ptr<test::HeldExecutor> executor_ = std::make_shared<test::HeldExecutor>();
};

TEST_F(ChoresInCore, OthersGoOnWhileAFileIsRead) {
  const std::vector<Token> prompt = some(100, 5);
  leave(prompt);
  Chat& back = chat(prompt, 5);
  Chat& other = chat(some(20, 6), 5);
  rounds(10);
  EXPECT_TRUE(is_through(other));
  EXPECT_FALSE(is_through(back));
  EXPECT_EQ(store_->stats().loads, 0u);
  executor_->work();
  rounds(10);
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(back.finish->usage.cached_tokens, 99u);
  EXPECT_EQ(store_->stats().loads, 1u);
}

// A thousand that waited for one file were each compared with what is parked in every pass.
TEST_F(ChoresInCore, WhoWaitsForAFileIsLookedUpOnceForEachThatWasRead) {
  const std::vector<Token> prompt = some(100, 5);
  leave(prompt);
  Chat& back = chat(prompt, 5);
  rounds(3);
  ASSERT_EQ(executor_->tasks.size(), 1u);
  // Whoever looked would find it in memory from now on.
  const auto file = std::filesystem::directory_iterator(folder_)->path();
  ASSERT_TRUE(store_->put(read_parked(file, "test").value()));
  const auto hits = store_->stats().hits;
  rounds(10);
  EXPECT_FALSE(is_through(back));
  EXPECT_EQ(store_->stats().hits, hits) << "nothing was read since";
  executor_->work();
  rounds(10);
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(store_->stats().hits, hits + 1);
  EXPECT_EQ(back.finish->usage.cached_tokens, 99u);
}

TEST_F(ChoresInCore, WhoIsCancelledWhileItsFileIsReadEndsAtOnce) {
  const std::vector<Token> prompt = some(100, 5);
  leave(prompt);
  Chat& back = chat(prompt, 5);
  rounds(3);
  ASSERT_EQ(executor_->tasks.size(), 1u);
  back.stream.cancel();
  rounds(1);
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(back.finish->reason, FinishReason::cancelled);
  executor_->work();
  Chat& again = chat(prompt, 5);
  rounds(10);
  ASSERT_TRUE(is_through(again));
  EXPECT_EQ(again.finish->usage.cached_tokens, 99u) << "what was read for the other is there";
}

TEST_F(ChoresInCore, AnEndWhileAFileIsRead) {
  const std::vector<Token> prompt = some(100, 5);
  leave(prompt);
  Chat& back = chat(prompt, 5);
  rounds(3);
  ASSERT_EQ(executor_->tasks.size(), 1u);
  core_->shut_down();
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(back.finish->reason, FinishReason::shutdown);
  chats_.clear();
  core_.reset();
  store_.reset();
  executor_->work();  // for nobody
  store_ = open_store();
  EXPECT_EQ(store_->stats().on_disk_only, 1u);
  start();
}

TEST_F(ChoresInCore, ADiskThatHangsIsNotWaitedForWithoutEnd) {
  const std::vector<Token> prompt = some(100, 5);
  const WorkerOptions options{.max_reading = Millis{50}};
  leave(prompt, options);
  Chat& back = chat(prompt, 5);
  rounds(5);
  EXPECT_EQ(core_->stats().waiting, 1u);
  rounds(60);
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(back.finish->reason, FinishReason::length);
  EXPECT_EQ(back.finish->usage.cached_tokens, 0u);
  ASSERT_EQ(executor_->tasks.size(), 1u) << "it was read, or the test is of no use";
}

TEST_F(ChoresInCore, AFileThatCannotBeReadIsComputed) {
  const std::vector<Token> prompt = some(100, 5);
  leave(prompt);
  std::filesystem::remove_all(folder_);
  Chat& back = chat(prompt, 5);
  rounds(3);
  executor_->work();
  rounds(20);
  ASSERT_TRUE(is_through(back));
  EXPECT_EQ(back.finish->reason, FinishReason::length);
  EXPECT_EQ(back.finish->usage.cached_tokens, 0u);
}

TEST_F(ChoresInCore, WhyThereIsNoMemoryIsFoundOutAside) {
  start();
  downsize();
  refuses_ = true;
  Chat& first = chat(some(20, 1), 5);
  Chat& cancelled = chat(some(20, 2), 5);
  rounds(2);
  EXPECT_FALSE(is_through(first)) << "it waits for the reason";
  cancelled.stream.cancel();
  rounds(1);
  ASSERT_TRUE(is_through(cancelled));
  EXPECT_EQ(cancelled.finish->reason, FinishReason::cancelled);
  refuses_ = false;
  rounds(2);
  EXPECT_FALSE(is_through(first)) << "nobody goes on meanwhile";
  executor_->work();
  rounds(1);
  ASSERT_TRUE(is_through(first));
  ASSERT_TRUE(first.finish->error);
  EXPECT_EQ(first.finish->error->message, "no memory, and why");
  go_on(first, some(5, 3), 5);
  rounds(10);
  ASSERT_TRUE(is_through(first));
  EXPECT_EQ(first.finish->reason, FinishReason::length);
}

// The dry run may wait behind others for ever, and everybody waited for it.
TEST_F(ChoresInCore, TheReasonIsNotWaitedForWithoutEnd) {
  start({.max_cause_wait = Millis{50}});
  downsize();
  refuses_ = true;
  Chat& first = chat(some(20, 1), 5);
  rounds(5);
  EXPECT_FALSE(is_through(first));
  rounds(60);
  ASSERT_TRUE(is_through(first));
  ASSERT_TRUE(first.finish->error);
  EXPECT_EQ(first.finish->error->message, "no memory");
  refuses_ = false;
  executor_->work();  // too late, and for nobody
  go_on(first, some(5, 3), 5);
  rounds(10);
  ASSERT_TRUE(is_through(first));
  EXPECT_EQ(first.finish->reason, FinishReason::length);
}

TEST_F(ChoresInCore, WithoutAThreadTheReasonIsToldAsItIs) {
  start();
  downsize();
  refuses_ = true;
  executor_->takes = false;
  Chat& first = chat(some(20, 1), 5);
  rounds(1);
  ASSERT_TRUE(is_through(first));
  ASSERT_TRUE(first.finish->error);
  EXPECT_EQ(first.finish->error->message, "no memory");
}

TEST_F(ChoresInCore, AnEndWhileTheReasonIsSought) {
  start();
  downsize();
  refuses_ = true;
  Chat& first = chat(some(20, 1), 5);
  rounds(1);
  core_->shut_down();
  ASSERT_TRUE(is_through(first));
  EXPECT_EQ(first.finish->reason, FinishReason::shutdown);
  core_.reset();
  executor_->work();
  refuses_ = false;
  start();
}

}  // namespace
}  // namespace corral::engine::simulation
