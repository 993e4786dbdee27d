// Looking at files: what is seen, and disks that give no answer.
#include "backends/files.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "backends/errors.h"
#include "models/temp_dir_for_tests.h"

namespace corral::backends {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Paths = std::vector<std::filesystem::path>;
using Answer = std::shared_ptr<std::optional<Result<>>>;

class FilesTest : public testing::Test {
 protected:
  FilesTest() { std::ofstream(dir_ / "a") << "12345"; }
  ~FilesTest() override {
    group_.cancel();
    settle();
    EXPECT_EQ(timers_.sleepers(), 0u);
  }

  void settle() {
    loop_.context().restart();
    loop_.context().poll();
  }
  static async::Task<void> look_into(Files& files, Paths paths, Answer answer) {
    answer->emplace(co_await files.look(std::move(paths)));
  }
  Answer look(Paths paths, async::TaskGroup& group) {
    auto answer = std::make_shared<std::optional<Result<>>>();
    group.spawn("look", look_into(*files_, std::move(paths), answer));
    settle();
    return answer;
  }
  Answer look(Paths paths) { return look(std::move(paths), group_); }
  // The disk answers.
  void release() {
    for (auto& work : std::exchange(held_, {})) work();
    settle();
  }

  const models::TempDir dir_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  std::vector<std::move_only_function<void()>> held_;
  std::optional<Files> files_{std::in_place, loop_.executor(), timers_,
                              FilesOptions{.offload = [this](auto work) { held_.push_back(std::move(work)); }}};
  async::TaskGroup group_{loop_.executor()};
};

TEST_F(FilesTest, SeesWhatIsThereAndThatItChanges) {
  const auto first = look({dir_ / "a", dir_.path(), dir_ / "none"});
  EXPECT_FALSE(*first);
  release();
  ASSERT_TRUE(*first && **first);
  const auto before = files_->seen(dir_ / "a");
  ASSERT_TRUE(before);
  EXPECT_TRUE(before->regular);
  EXPECT_EQ(before->size, 5u);
  ASSERT_TRUE(files_->seen(dir_.path()));
  EXPECT_FALSE(files_->seen(dir_.path())->regular);
  EXPECT_FALSE(files_->seen(dir_ / "none"));

  std::ofstream(dir_ / "a") << "other";
  std::filesystem::last_write_time(dir_ / "a", std::filesystem::file_time_type() + std::chrono::hours(1));
  EXPECT_EQ(files_->seen(dir_ / "a"), before) << "only a look finds out";
  look({dir_ / "a"});
  release();
  EXPECT_NE(files_->seen(dir_ / "a"), before);
  std::filesystem::remove(dir_ / "a");
  look({dir_ / "a"});
  release();
  EXPECT_FALSE(files_->seen(dir_ / "a"));
}

TEST_F(FilesTest, AFileThatIsLookedAtIsLookedAtOnceForAllWhoAsk) {
  const auto first = look({dir_ / "a"}), second = look({dir_ / "b", dir_ / "a"});
  EXPECT_THAT(held_, SizeIs(2));
  release();
  EXPECT_TRUE(*first && *second);
  look({dir_ / "a"});
  EXPECT_THAT(held_, SizeIs(1)) << "an answer isn't kept for the next who asks";
  release();
}

TEST_F(FilesTest, ADiskThatGivesNoAnswerIsTheErrorInTheEnd) {
  const auto answer = look({dir_ / "a"});
  timers_.advance(std::chrono::seconds(29));
  settle();
  EXPECT_FALSE(*answer);
  timers_.advance(std::chrono::seconds(1));
  settle();
  ASSERT_TRUE(*answer && !**answer);
  EXPECT_EQ((*answer)->error().code, errc::files_silent);
  EXPECT_THAT((*answer)->error().message, HasSubstr((dir_ / "a").native()));
  const auto later = look({dir_ / "a"});
  release();  // it is back, also for those who came since
  EXPECT_TRUE(*later && **later);
}

TEST_F(FilesTest, WhoAsksMayLeaveAndTheAnswerFindNobody) {
  async::TaskGroup leaving(loop_.executor());
  const auto answer = look({dir_ / "a"}, leaving);
  leaving.cancel();
  settle();
  EXPECT_EQ(leaving.running(), 0u);
  files_.reset();
  release();
  EXPECT_FALSE(*answer);
}

TEST_F(FilesTest, OnThreads) {
  async::ThreadPool pool(2);
  Files files(loop_.executor(), timers_, {.offload = [&pool](auto work) { pool.post(std::move(work)); }});
  loop_.context().restart();
  EXPECT_TRUE(async::run_blocking(loop_, files.look({dir_ / "a", dir_ / "b"})));
  EXPECT_TRUE(files.seen(dir_ / "a"));
  EXPECT_FALSE(files.seen(dir_ / "b"));
}

}  // namespace
}  // namespace corral::backends
