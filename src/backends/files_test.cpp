// Looking at files: what is seen, and disks that give no answer.
#include "backends/files.h"

#include <fstream>
#include <set>

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
  EXPECT_EQ((*answer)->error().message, "the disk of " + (dir_ / "a").native() + " did not respond within 30 s");
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

TEST_F(FilesTest, RequestsNameFilesInTheFoldersOfModelsOnlyAndLearnNothingOfOthers) {
  namespace fs = std::filesystem;
  const auto inside = dir_ / "models", outside = dir_ / "models-of-others", single = dir_ / "single.gguf";
  for (const auto& folder : {inside, outside, inside / "deep"}) fs::create_directory(folder);
  for (const auto& file : {inside / "good.gguf", inside / "deep/good", outside / "other.gguf", single})
    std::ofstream(file) << "GGUF...";
  std::ofstream(inside / "notes.gguf") << "ROOT";
  fs::create_symlink(outside / "other.gguf", inside / "leads-out.gguf");
  fs::create_symlink(inside / "good.gguf", outside / "leads-in.gguf");
  fs::create_directory_symlink(inside, dir_ / "another-way");

  const auto check = [&](const fs::path& path, Paths folders) {
    auto answer = std::make_shared<std::optional<Result<>>>();
    auto task = [](Files& files, std::vector<NamedFile> named, Paths in, Answer into) -> async::Task<void> {
      into->emplace(co_await files.check_places(std::move(named), std::move(in)));
    };
    LoadOptions options;
    options.draft_model = path.native();
    group_.spawn("check", task(*files_, named_files(options), std::move(folders), answer));
    settle();
    release();
    return answer->value();
  };
  const Paths folders = {dir_ / "none", dir_ / "another-way", single};
  for (const auto& path : {inside / "good.gguf", inside / "deep/good", inside / "deep/../good.gguf",
                           outside / "leads-in.gguf", dir_ / "another-way/good.gguf", single})
    EXPECT_TRUE(check(path, folders)) << path;
  std::set<std::string> messages;
  for (const auto& path : {outside / "other.gguf", inside / "leads-out.gguf", inside / "../models-of-others/other.gguf",
                           inside / "notes.gguf", inside / "none.gguf", outside / "none.gguf", inside,
                           fs::path("/etc/passwd"), fs::path("/proc/self/environ"), fs::path("/")}) {
    const auto refused = check(path, folders);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, errc::invalid_option);
    EXPECT_EQ(refused.error().param, "draft_model");
    auto text = refused.error().message;
    messages.insert(text.replace(text.find(path.native()), path.native().size(), "PATH"));
  }
  EXPECT_THAT(messages, SizeIs(1)) << "one answer, whatever is wrong";
  EXPECT_FALSE(check(inside / "good.gguf", {}));
  EXPECT_EQ(check(std::string(100'000, 'x'), folders).error().message,
            "'draft_model' is not a path: it has 100000 bytes, at most 4096 are allowed");
  const std::vector<NamedFile> many(65, {"lora", inside / "good.gguf", ""});
  loop_.context().restart();
  const auto refused = async::run_blocking(loop_, files_->check_places(many, folders));
  EXPECT_EQ(refused.error().message, "65 files are given; at most 64 are allowed");
  EXPECT_THAT(held_, SizeIs(0));
}

TEST_F(FilesTest, WhatWasSeenIsForgottenInTime) {
  // One file has as many names as anybody likes.
  const auto name = [&](unsigned number) {
    auto path = dir_.path();
    for (unsigned bit = 0; bit < 12; ++bit)
      path = (number >> bit) % 2 == 0 ? path / "." : path / ".." / dir_.path().filename();
    return path / "a";
  };
  for (unsigned i = 0; i < 2500; ++i) {
    look({name(i)});
    release();
    ASSERT_TRUE(files_->seen(name(i))) << i;
  }
  EXPECT_TRUE(files_->seen(name(2499 - 900)));
  EXPECT_FALSE(files_->seen(name(0)));
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
