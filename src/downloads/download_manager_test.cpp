#include "downloads/download_manager.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "downloads/errors.h"
#include "downloads/hub/hub_for_tests.h"
#include "models/temp_dir_for_tests.h"

namespace corral::downloads {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DownloadManagerTest : public testing::Test {
 public:
  DownloadManagerTest() { hub_.add("x-Q4_K_M.gguf", std::string(100'000, 'x')); }

  DownloadManagerOptions options() {
    DownloadManagerOptions options;
    options.hub = {.endpoint = hub_.endpoint(), .cache = dir_ / "hub"};
    options.retries = options.questions = {.max_tries = 20, .first_pause = Millis(2), .longest_pause = Millis(2)};
    options.downloads.each.retries = options.retries;
    options.downloads.each.parts = {.smallest = 20'000, .largest = 20'000, .at_once = 2};
    options.downloads.each.save_every = Millis(5);
    options.downloads.each.keep_free = 0;
    options.curl.proxy = "";
    options.record = dir_ / "downloads.json";
    options.tick = Millis(2);
    return options;
  }
  // Runs a test that uses download managers, then ends the hub.
  void play(async::Task<void> test) {
    auto all = [](DownloadManagerTest& me, async::Task<void> work) -> async::Task<void> {
      co_await std::move(work);
      co_await me.hub_.stop();
    };
    async::run_blocking(loop_, all(*this, std::move(test)));
  }
  static async::Task<DownloadRow> until(DownloadManager& manager, std::uint64_t id, DownloadState state) {
    DownloadRow row;
    do {
      auto next = co_await manager.next(id, row.version, Millis(1000));
      if (next) row = std::move(*next);
    } while (row.view.state != state);
    co_return row;
  }

  std::vector<std::string> parts() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "hub"))
      if (const auto name = entry.path().filename().native(); name.contains(".corral-part")) found.push_back(name);
    return found;
  }

  const models::TempDir dir_;
  async::Loop loop_;
  async::SystemTimers timers_;
  HubForTests hub_{loop_.executor()};
};

TEST_F(DownloadManagerTest, APlanSaysWhatIsThereAlready) {
  play([](DownloadManagerTest& me) -> async::Task<void> {
    DownloadManager manager(me.timers_, me.options());
    auto before = co_await manager.plan("org/repo");
    EXPECT_TRUE(before);
    if (before) {
      EXPECT_EQ(before->checkpoint, "org/repo:Q4_K_M");
      EXPECT_EQ(before->bytes(), 100'000u);
      EXPECT_EQ(before->bytes_here(), 0u);
    }
    auto begun = co_await manager.begin("org/repo", true);
    EXPECT_TRUE(begun);
    if (begun) co_await until(manager, begun->id, DownloadState::done);
    auto after = co_await manager.plan("org/repo");
    EXPECT_TRUE(after && after->bytes_here() == 100'000u && after->disk_needed() == 0u);
    EXPECT_THAT(manager.under_way(), IsEmpty());
    EXPECT_EQ((co_await manager.plan("no name")).error().code, errc::bad_name);
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, ADownloadIsPausedWhenTheLastOneWhoWaitsLeaves) {
  hub_.trouble = [] { return Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    DownloadManager manager(me.timers_, me.options());
    auto first = co_await manager.begin("org/repo", false);
    auto second = co_await manager.begin("org/repo", false);
    EXPECT_EQ(first->id, second->id);
    co_await until(manager, first->id, DownloadState::running);
    first->waiting.reset();
    auto row = co_await manager.next(first->id, 0, Millis(0));
    EXPECT_EQ(row->view.state, DownloadState::running);
    second->waiting.reset();
    co_await until(manager, first->id, DownloadState::paused);
    EXPECT_THAT(manager.under_way(), ElementsAre("org/repo"));
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, TheNextProcessGoesOnWithWhatWasDetached) {
  hub_.trouble = [] { return Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    {
      DownloadManager manager(me.timers_, me.options());
      auto begun = co_await manager.begin("org/repo", true);
      co_await until(manager, begun->id, DownloadState::running);
      co_await manager.stop();
    }
    me.hub_.trouble = [] { return Trouble::none; };
    DownloadManager manager(me.timers_, me.options());
    manager.start();
    std::vector<DownloadRow> rows;
    while (rows.empty()) rows = co_await manager.list();
    EXPECT_EQ(rows.front().view.name, "org/repo");
    co_await until(manager, rows.front().view.id, DownloadState::done);
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, APausedDownloadOfAnEarlierProcessShowsWhatIsThereAndCancellingRemovesIt) {
  hub_.trouble = [this] { return hub_.sent < 60'000 ? Trouble::none : Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    std::uint64_t done = 0;
    {
      DownloadManager manager(me.timers_, me.options());
      auto begun = co_await manager.begin("org/repo", true);
      co_await me.hub_.until_stalled(1);
      auto paused = co_await manager.order("org/repo", DownloadOrder::pause);
      EXPECT_TRUE(paused);
      if (paused) done = paused->view.bytes_done();
      if (paused) EXPECT_EQ(paused->view.bytes_before(), 0u) << "of one that is fetched for the first time";
      co_await manager.stop();
    }
    DownloadManager manager(me.timers_, me.options());
    manager.start();
    std::vector<DownloadRow> rows;
    while (rows.empty()) rows = co_await manager.list();
    EXPECT_EQ(rows[0].view.state, DownloadState::paused);
    EXPECT_EQ(rows[0].view.bytes(), 100'000u);
    EXPECT_EQ(rows[0].view.bytes_done(), done);
    EXPECT_GT(done, 0u);
    const auto cancelled = co_await manager.order("org/repo", DownloadOrder::cancel);
    EXPECT_TRUE(cancelled);
    EXPECT_THAT(me.parts(), IsEmpty());
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, TheRecordNamesTheFilesAsSoonAsTheyAreKnown) {
  hub_.trouble = [] { return Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    auto options = me.options();
    options.tick = Millis(60'000);
    DownloadManager manager(me.timers_, options);
    auto begun = co_await manager.begin("org/repo", true);
    std::string text;
    while (!text.contains("x-Q4_K_M.gguf")) {
      co_await manager.list();  // its loop has a turn
      std::ifstream in(options.record);
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, CancellingLeavesWhatAnotherDownloadIsToFetch) {
  hub_.trouble = [] { return Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    {
      DownloadManager manager(me.timers_, me.options());
      for (const auto* name : {"org/repo", "org/repo:Q4_K_M"}) {
        me.hub_.stalled = 0;
        auto begun = co_await manager.begin(name, true);
        co_await me.hub_.until_stalled(1);
        EXPECT_TRUE(co_await manager.order(name, DownloadOrder::pause));
      }
      EXPECT_TRUE(co_await manager.order("org/repo", DownloadOrder::cancel));
      EXPECT_THAT(me.parts(), testing::Not(IsEmpty()));
      co_await manager.stop();
    }
    DownloadManager manager(me.timers_, me.options());
    manager.start();
    while ((co_await manager.list()).empty()) {
    }
    EXPECT_TRUE(co_await manager.order("org/repo:Q4_K_M", DownloadOrder::remove));
    EXPECT_THAT(me.parts(), IsEmpty());
    co_await manager.stop();
  }(*this));
}

// The failed one kept the parts from going, and came back after a restart.
TEST_F(DownloadManagerTest, CancellingRemovesThePartsThatAnEarlierTryHasLeft) {
  hub_.trouble = [this] { return hub_.sent < 60'000 ? Trouble::none : Trouble::cut; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    auto options = me.options();
    options.retries.max_tries = options.downloads.each.retries.max_tries = 1;
    {
      DownloadManager manager(me.timers_, options);
      auto failed = co_await manager.begin("org/repo", true);
      co_await until(manager, failed->id, DownloadState::failed);
      EXPECT_THAT(me.parts(), testing::Not(IsEmpty()));
      me.hub_.trouble = [] { return Trouble::stall; };
      me.hub_.stalled = 0;
      auto again = co_await manager.begin("org/repo", true);
      EXPECT_NE(again->id, failed->id);
      co_await me.hub_.until_stalled(1);
      EXPECT_TRUE(co_await manager.order("org/repo", DownloadOrder::cancel));
      EXPECT_THAT(me.parts(), IsEmpty());
      co_await manager.stop();
    }
    DownloadManager manager(me.timers_, options);
    manager.start();
    co_await manager.begin("org/other:Q2_K", true);  // behind what the record has
    for (const auto& row : co_await manager.list()) EXPECT_NE(row.view.name, "org/repo");
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, AFailedDownloadKeepsItsErrorOverARestart) {
  play([](DownloadManagerTest& me) -> async::Task<void> {
    {
      DownloadManager manager(me.timers_, me.options());
      auto begun = co_await manager.begin("org/repo:Q2_K", true);
      co_await until(manager, begun->id, DownloadState::failed);
      co_await manager.stop();
    }
    DownloadManager manager(me.timers_, me.options());
    manager.start();
    std::vector<DownloadRow> rows;
    while (rows.empty()) rows = co_await manager.list();
    EXPECT_EQ(rows[0].view.state, DownloadState::failed);
    EXPECT_TRUE(rows[0].view.error);
    if (rows[0].view.error) EXPECT_EQ(rows[0].view.error->code, errc::file_not_found);
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, OfflineNothingGoesOutAndWhatRunsIsPaused) {
  hub_.trouble = [] { return Trouble::stall; };
  play([](DownloadManagerTest& me) -> async::Task<void> {
    DownloadManager manager(me.timers_, me.options());
    auto begun = co_await manager.begin("org/repo", true);
    co_await until(manager, begun->id, DownloadState::running);
    manager.set_offline(true);
    co_await until(manager, begun->id, DownloadState::paused);
    EXPECT_EQ((co_await manager.begin("org/repo", true)).error().code, errc::offline);
    EXPECT_EQ((co_await manager.order("org/repo", DownloadOrder::resume)).error().code, errc::offline);
    const auto plan = co_await manager.plan("org/repo");
    EXPECT_EQ(plan.error().code, errc::offline);
    EXPECT_EQ(plan.error().message,
              "downloads are disabled: the setting offline is on. Turn it off with: corral config set offline=false");
    co_await manager.stop();
  }(*this));
}

TEST_F(DownloadManagerTest, WhoeverAsksTooMuchIsRefused) {
  play([](DownloadManagerTest& me) -> async::Task<void> {
    auto options = me.options();
    options.max_questions = 0;
    DownloadManager manager(me.timers_, options);
    EXPECT_EQ((co_await manager.plan("org/repo")).error().code, errc::in_use);
    EXPECT_EQ((co_await manager.search("x", 5)).error().code, errc::in_use);
    co_await manager.stop();
  }(*this));
}

}  // namespace
}  // namespace corral::downloads
