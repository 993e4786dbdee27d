// Long because every case plays against one hub, with one fixture.
#include "downloads/download.h"

#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "base/split_mix.h"
#include "downloads/downloader.h"
#include "downloads/errors.h"
#include "downloads/hub/hub_for_tests.h"
#include "downloads/transfer/curl_loop.h"
#include "downloads/transfer/progress_file.h"
#include "models/temp_dir_for_tests.h"

namespace corral::downloads {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string made_up(std::size_t size, std::uint64_t seed) {
  SplitMix random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Downloading : public testing::Test {
 public:
  Downloading() {
    options_.parts = {.smallest = 1000, .largest = 1000, .at_once = 4};
    options_.retries = {.max_tries = 20, .first_pause = Millis(2), .longest_pause = Millis(2)};
    options_.save_every = Millis(5);
    options_.ask_for_lock_every = Millis(5);
    options_.keep_free = 0;
    options_.hash_behind = 1500;
  }

  // A hub's client with tools of its own, as a process has them.
  struct Client {
    Client(Downloading& test, Millis stall)
        : curl(test.loop_.executor(), test.timers_, {.stall = stall, .proxy = ""}),
          hub(curl, test.timers_, {.endpoint = test.hub_.endpoint(), .token = "secret", .cache = test.folder_ / "hub"},
              test.options_.retries, [this] { return random.next(); }) {}
    SplitMix random{7};
    CurlLoop curl;
    Hub hub;
  };
  Client& client() {
    clients_.push_back(std::make_unique<Client>(*this, stall_));
    return *clients_.back();
  }
  DownloadTools tools(Client& client) {
    return {loop_.executor(), timers_, disk_, client.curl, client.hub, [&client] { return client.random.next(); }};
  }

  template <typename T>
  T run(async::Task<T> task) {
    auto all = [](Downloading& test, async::Task<T> work) -> async::Task<T> {
      T result = co_await std::move(work);
      co_await test.hub_.stop();
      test.clients_.clear();
      co_return result;
    };
    return async::run_blocking(loop_, all(*this, std::move(task)));
  }

  async::Task<Result<>> fetch_all() {
    Client& me = client();
    auto listing = co_await me.hub.list("org/repo", "main");
    if (!listing) co_return std::unexpected(std::move(listing.error()));
    std::vector<TreeFile> files = listing->tree;
    Download download(tools(me), options_, std::move(*listing), std::move(files));
    download.start();
    Result<> result = co_await download.finished();
    co_await download.stop();
    co_return result;
  }

  RepoFolder repo() const { return {folder_ / "hub", "org/repo"}; }
  std::string fetched(const std::string& path) { return contents(repo().snapshot(hub_.commit) / path); }
  std::size_t leftovers() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(repo().root() / "blobs"))
      count += entry.path().filename().native().find("corral") != std::string::npos;
    return count;
  }

  models::TempDir folder_;
  async::Loop loop_;
  async::SystemTimers timers_;
  async::ThreadPool disk_{2};
  HubForTests hub_{loop_.executor()};
  Millis stall_{10'000};
  DownloadOptions options_;
  std::vector<std::unique_ptr<Client>> clients_;
};

TEST_F(Downloading, BringsAllFilesWholeIntoTheHubsLayout) {
  const std::string model = made_up(12'345, 1), small = made_up(10, 2);
  hub_.add("q/model.gguf", model);
  hub_.add("small.gguf", small);
  hub_.add("twin.gguf", made_up(500, 3));
  hub_.page = 2;
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("q/model.gguf"), model);
  EXPECT_EQ(fetched("small.gguf"), small);
  EXPECT_EQ(fs::read_symlink(repo().snapshot(hub_.commit) / "q/model.gguf"),
            fs::path("../../../blobs") / HubForTests::oid_of(model));
  EXPECT_EQ(contents(repo().ref("main")), hub_.commit);
  EXPECT_EQ(leftovers(), 0u);
  EXPECT_THAT(hub_.tokens_elsewhere, testing::IsEmpty());
}

TEST_F(Downloading, EachTroubleEndsInTheRightFile) {
  const std::string model = made_up(9'876, 4);
  hub_.add("model.gguf", model);
  stall_ = Millis(300);
  int answers = 0;
  hub_.trouble = [&] {
    constexpr Trouble kAll[] = {Trouble::cut,  Trouble::none,  Trouble::expired, Trouble::beyond,    Trouble::stall,
                                Trouble::busy, Trouble::whole, Trouble::broken,  Trouble::wrong_size};
    const auto now = static_cast<std::size_t>(answers++);
    return now < std::size(kAll) ? kAll[now] : Trouble::none;
  };
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
  EXPECT_EQ(leftovers(), 0u);
  EXPECT_GE(hub_.stalled, 1);
}

TEST_F(Downloading, AServerOfFilesThatHangsUpIsAskedAgain) {
  const std::string model = made_up(4'000, 20);
  hub_.add("model.gguf", model);
  int answers = 0;
  hub_.trouble = [&answers] { return ++answers <= 8 ? Trouble::hang_up : Trouble::none; };
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
}

TEST_F(Downloading, AnAnswerThatGoesOnAndOnIsHungUpOn) {
  const std::string model = made_up(900, 21);
  hub_.add("model.gguf", model);
  hub_.trouble = [] { return Trouble::endless; };
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
  EXPECT_FALSE(hub_.all_surplus_taken);
}

TEST_F(Downloading, ACacheThatLeadsNowhereIsAnError) {
  hub_.add("model.gguf", "x");
  fs::create_symlink(folder_ / "hub", folder_ / "hub");
  const Result<> result = run(fetch_all());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::disk_failed);
}

TEST_F(Downloading, WhatThrowsEndsTheDownload) {
  hub_.add("model.gguf", "x");
  auto fetch = [](DownloadTools tools, DownloadOptions options) -> async::Task<Result<>> {
    auto listing = co_await tools.hub.list("org/repo", "main");
    if (!listing) co_return std::unexpected(std::move(listing.error()));
    tools.dice = []() -> std::uint64_t { throw std::runtime_error("no dice"); };
    std::vector<TreeFile> files = listing->tree;
    Download download(tools, options, std::move(*listing), std::move(files));
    download.start();
    Result<> result = co_await download.finished();
    co_await download.stop();
    co_return result;
  };
  Client& me = client();
  const Result<> result = run(fetch(tools(me), options_));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no dice"));
}

TEST_F(Downloading, TheSameContentUnderTwoNamesNeedsRoomOnce) {
  const std::string model = made_up(5'000, 22);
  hub_.add("a.gguf", model);
  hub_.add("b.gguf", model);
  options_.free_disk = [](const fs::path&) { return 5'000; };
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("a.gguf"), model);
  EXPECT_EQ(fetched("b.gguf"), model);
  EXPECT_EQ(hub_.sent, 5'000u);
}

async::Task<Result<>> stop_while_the_room_is_measured(DownloadTools tools, DownloadOptions options) {
  auto listing = co_await tools.hub.list("org/repo", "main");
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  std::atomic<bool> measuring = false;
  std::promise<void> go_on;
  options.free_disk = [&measuring, gate = go_on.get_future().share()](const fs::path&) -> std::uint64_t {
    measuring = true;
    gate.wait();
    return 1 << 30;
  };
  std::vector<TreeFile> files = listing->tree;
  Download download(tools, options, std::move(*listing), std::move(files));
  download.start();
  while (!measuring) co_await tools.timers.sleep_for(Millis(1));
  async::TaskGroup stopping(tools.executor);
  stopping.spawn("stop", download.stop());
  co_await async::asio::post(tools.executor, async::use_task);
  go_on.set_value();
  co_await stopping.join();
  co_return Result<>();
}

TEST_F(Downloading, WhatIsStoppedAtItsBeginningStops) {
  hub_.add("model.gguf", made_up(5'000, 23));
  Client& me = client();
  const Result<> result = run(stop_while_the_room_is_measured(tools(me), options_));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(hub_.sent, 0u);
}

// The second file is held up by its lock while the blob of the first goes away.
async::Task<Result<>> remove_the_first_meanwhile(DownloadTools tools, DownloadOptions options, RepoFolder folder) {
  auto listing = co_await tools.hub.list("org/repo", "main");
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  std::vector<TreeFile> files = listing->tree;
  const TreeFile first = files.front();
  auto lock = BlobLock::try_take(folder.lock(files.back().oid));
  if (!lock) co_return std::unexpected(std::move(lock.error()));
  Download download(tools, options, std::move(*listing), std::move(files));
  download.start();
  while (!download.files().front().whole) co_await tools.timers.sleep_for(Millis(1));
  fs::remove(folder.blob(first.oid));
  lock->reset();
  Result<> result = co_await download.finished();
  co_await download.stop();
  co_return result;
}

TEST_F(Downloading, NoNameMeansABlobThatWasRemovedMeanwhile) {
  hub_.add("a.gguf", made_up(500, 24));
  hub_.add("b.gguf", made_up(500, 25));
  Client& me = client();
  const Result<> result = run(remove_the_first_meanwhile(tools(me), options_, repo()));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::in_use);
  EXPECT_FALSE(fs::exists(repo().root() / "snapshots"));
}

TEST_F(Downloading, AServerWithoutRangesIsReadInOnePiece) {
  const std::string model = made_up(20'000, 5);
  hub_.add("model.gguf", model);
  hub_.trouble = [] { return Trouble::whole; };
  const Result<> result = run(fetch_all());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
}

TEST_F(Downloading, WrongBytesAreFetchedOnceMoreThenRefused) {
  hub_.add("model.gguf", made_up(5'000, 6));
  hub_.trouble = [] { return Trouble::wrong_bytes; };
  const Result<> result = run(fetch_all());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::wrong_content);
  EXPECT_FALSE(fs::exists(repo().root() / "snapshots"));
  EXPECT_EQ(hub_.sent, 10'000u);
  EXPECT_FALSE(fs::exists(repo().root() / "blobs"));
}

TEST_F(Downloading, RefusalsOfTheHubNameTheWayOn) {
  hub_.add("model.gguf", "x");
  hub_.gated_code = "GatedRepo";
  const Result<> result = run(fetch_all());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::gated);
  EXPECT_THAT(result.error().message, HasSubstr("/org/repo"));
}

TEST_F(Downloading, TooLittleRoomIsSaidBeforehand) {
  hub_.add("model.gguf", made_up(5'000, 7));
  options_.free_disk = [](const fs::path&) { return 4'999; };
  const Result<> result = run(fetch_all());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::disk_full);
  EXPECT_EQ(result.error().memory.at(0).have, 4'999u);
  EXPECT_THAT(result.error().message, HasSubstr("4.9 KiB to download and 0.0 KiB to keep free"));
  EXPECT_EQ(hub_.sent, 0u);
}

async::Task<Result<>> stop_at_a_stall_then_go_on(HubForTests& hub, async::Timers& timers, DownloadTools tools,
                                                 DownloadOptions options) {
  auto listing = co_await tools.hub.list("org/repo", "main");
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  std::vector<TreeFile> files = listing->tree;
  Download first(tools, options, *listing, files);
  hub.trouble = [&hub] { return hub.sent < 6'000 ? Trouble::none : Trouble::stall; };
  first.start();
  co_await hub.until_stalled(4);
  co_await first.stop();
  hub.trouble = [] { return Trouble::none; };
  hub.sent = 0;
  Download second(tools, options, std::move(*listing), std::move(files));
  second.start();
  Result<> result = co_await second.finished();
  co_await second.stop();
  co_return result;
}

TEST_F(Downloading, WhatWasStoppedGoesOn) {
  const std::string model = made_up(20'000, 8);
  hub_.add("model.gguf", model);
  Client& me = client();
  const Result<> result = run(stop_at_a_stall_then_go_on(hub_, timers_, tools(me), options_));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
  EXPECT_LE(hub_.sent, 14'000u);
  EXPECT_EQ(leftovers(), 0u);
}

async::Task<Result<>> two_at_once(DownloadTools one, DownloadTools other, DownloadOptions options) {
  auto listing = co_await one.hub.list("org/repo", "main");
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  Download first(one, options, *listing, listing->tree), second(other, options, *listing, listing->tree);
  first.start();
  second.start();
  Result<> result = co_await first.finished();
  Result<> other_result = co_await second.finished();
  co_await first.stop();
  co_await second.stop();
  co_return result ? other_result : result;
}

TEST_F(Downloading, TwoOfTheSameShareTheWork) {
  const std::string model = made_up(20'000, 9);
  hub_.add("model.gguf", model);
  Client& me = client();
  Client& other = client();
  const Result<> result = run(two_at_once(tools(me), tools(other), options_));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model.gguf"), model);
  EXPECT_EQ(hub_.sent, 20'000u);
}

// Downloads with troubles of any kind, by seed: each ends with the right bytes, or an error and no name in the cache.
TEST_F(Downloading, RandomTroublesNeverLeaveAWrongFile) {
  const std::string model = made_up(30'000, 10);
  hub_.add("model.gguf", model);
  stall_ = Millis(150);
  SplitMix random(11);
  int troubles = 0;
  hub_.trouble = [&] {
    const auto die = random.next() % 24;
    if (die >= 10) return Trouble::none;
    ++troubles;
    // What takes long, and what ends a download, less often.
    if (die == 4 && troubles % 24 != 0) return Trouble::expired;
    return die == 2 && troubles % 8 != 0 ? Trouble::cut : static_cast<Trouble>(die);
  };
  auto many = [](Downloading& test, const std::string& content) -> async::Task<Result<>> {
    for (int round = 0; round < 20; ++round) {
      const Result<> result = co_await test.fetch_all();
      const bool named = fs::exists(test.repo().snapshot(test.hub_.commit) / "model.gguf");
      EXPECT_EQ(named, result.has_value());
      if (named) EXPECT_EQ(test.fetched("model.gguf"), content);
      if (!result) EXPECT_FALSE(result.error().message.empty());
      std::error_code ignored;
      fs::remove_all(test.folder_ / "hub", ignored);
    }
    co_return Result<>();
  };
  const Result<> result = run(many(*this, model));
  ASSERT_TRUE(result);
  EXPECT_GE(troubles, 100);
}

struct Killer {
  HubForTests& hub;
  async::Timers& timers;
  fs::path cache;
  SplitMix random{12};

  // Ends the program somewhere on its way; true if it came to its end by itself, without a failure.
  async::Task<bool> round(bool to_the_end) {
    const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "downloads_test_program";
    std::string endpoint = hub.endpoint(), folder = cache;
    std::string name = program;
    char* arguments[] = {name.data(), endpoint.data(), folder.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    const std::uint64_t limit = hub.sent + random.next() % 300'000;
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (!to_the_end && hub.sent >= limit) ::kill(child, SIGKILL);
      co_await timers.sleep_for(Millis(1));
    }
    co_return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

async::Task<Result<>> kill_many_times(Killer& killer) {
  for (int i = 0; i < 25; ++i) {
    const bool whole = co_await killer.round(false);
    if (whole) break;
  }
  const bool whole = co_await killer.round(true);
  EXPECT_TRUE(whole);
  co_return Result<>();
}

TEST_F(Downloading, KilledAtAnyMomentItGoesOn) {
  const std::string model = made_up(1'000'000, 13);
  hub_.add("model.gguf", model);
  Killer killer{hub_, timers_, folder_ / "hub"};
  ASSERT_TRUE(run(kill_many_times(killer)));
  EXPECT_EQ(fetched("model.gguf"), model);
  EXPECT_EQ(leftovers(), 0u);
}

async::Task<Result<>> pause_resume_cancel(HubForTests& hub, async::Timers& timers, Downloader& downloader) {
  const auto id = downloader.begin("org/repo:Q8_0");
  if (!id) co_return std::unexpected(id.error());
  EXPECT_EQ(downloader.begin("org/repo:Q8_0"), *id);
  co_await hub.until_stalled(1);
  Result<> paused = co_await downloader.pause(*id);
  EXPECT_TRUE(paused);
  EXPECT_EQ(downloader.find(*id)->state, DownloadState::paused);
  EXPECT_GT(downloader.find(*id)->bytes_done(), 0u);
  hub.trouble = [] { return Trouble::none; };
  EXPECT_TRUE(downloader.resume(*id));
  while (downloader.find(*id)->state != DownloadState::done) co_await timers.sleep_for(Millis(1));
  EXPECT_EQ(downloader.find(*id)->bytes_done(), downloader.find(*id)->bytes());
  Result<> too_late = co_await downloader.cancel(*id);
  EXPECT_FALSE(too_late);

  hub.stalled = 0;
  hub.trouble = [] { return Trouble::stall; };
  const auto other = downloader.begin("org/repo:other-Q4_K_M.gguf");
  if (!other) co_return std::unexpected(other.error());
  co_await hub.until_stalled(1);
  Result<> cancelled = co_await downloader.cancel(*other);
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(downloader.find(*other)->state, DownloadState::cancelled);
  co_await downloader.stop();
  co_return Result<>();
}

TEST_F(Downloading, APauseKeepsWhatIsThereAndCancellingRemovesIt) {
  const std::string model = made_up(9'000, 14);
  hub_.add("model-Q8_0.gguf", model);
  hub_.add("other-Q4_K_M.gguf", made_up(9'000, 15));
  hub_.trouble = [this] { return hub_.sent < 3'000 ? Trouble::none : Trouble::stall; };
  Client& me = client();
  std::vector<DownloadState> states;
  Downloader downloader(tools(me), {.each = options_}, [&](const DownloadView& view) { states.push_back(view.state); });
  const Result<> result = run(pause_resume_cancel(hub_, timers_, downloader));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model-Q8_0.gguf"), model);
  EXPECT_EQ(leftovers(), 0u);
  using enum DownloadState;
  EXPECT_THAT(states, testing::ElementsAre(queued, running, paused, queued, running, done, queued, running, cancelled));
}

async::Task<Result<>> pause_and_cancel_at_once(HubForTests& hub, DownloadTools tools, Downloader& downloader) {
  const auto id = downloader.begin("org/repo:Q8_0");
  if (!id) co_return std::unexpected(id.error());
  co_await hub.until_stalled(1);
  Result<> cancelled, paused;
  auto cancel = [&]() -> async::Task<void> { cancelled = co_await downloader.cancel(*id); };
  auto pause = [&]() -> async::Task<void> { paused = co_await downloader.pause(*id); };
  async::TaskGroup both(tools.executor);
  both.spawn("cancel", cancel());
  both.spawn("pause", pause());
  co_await both.join();
  EXPECT_TRUE(cancelled);
  EXPECT_FALSE(paused);
  EXPECT_EQ(downloader.find(*id)->state, DownloadState::cancelled);
  EXPECT_FALSE(downloader.resume(*id));

  // Gone on with while it is being paused.
  hub.stalled = 0;
  const auto again = downloader.begin("org/repo:Q8_0");
  if (!again) co_return std::unexpected(again.error());
  EXPECT_NE(*again, *id);
  co_await hub.until_stalled(1);
  hub.trouble = [] { return Trouble::none; };
  auto stop = [&]() -> async::Task<void> { paused = co_await downloader.pause(*again); };
  auto go_on = [&]() -> async::Task<void> {
    EXPECT_TRUE(downloader.resume(*again));
    co_return;
  };
  both.spawn("pause", stop());
  both.spawn("resume", go_on());
  co_await both.join();
  EXPECT_TRUE(paused);
  while (downloader.find(*again)->state != DownloadState::done) co_await tools.timers.sleep_for(Millis(1));
  co_await downloader.stop();
  co_return Result<>();
}

TEST_F(Downloading, CancellingWinsOverAPauseAndGoingOnToo) {
  const std::string model = made_up(9'000, 26);
  hub_.add("model-Q8_0.gguf", model);
  hub_.trouble = [] { return Trouble::stall; };
  Client& me = client();
  Downloader downloader(tools(me), {.each = options_});
  const Result<> result = run(pause_and_cancel_at_once(hub_, tools(me), downloader));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fetched("model-Q8_0.gguf"), model);
  EXPECT_EQ(leftovers(), 0u);
}

async::Task<Result<>> until_it_failed(async::Timers& timers, Downloader& downloader, std::uint64_t id) {
  while (downloader.find(id)->state != DownloadState::failed) co_await timers.sleep_for(Millis(1));
  co_await downloader.stop();
  co_return Result<>();
}

TEST_F(Downloading, AFailedOneSaysWhy) {
  hub_.add("model-Q8_0.gguf", "x");
  Client& me = client();
  Downloader downloader(tools(me), {.each = options_});
  EXPECT_EQ(downloader.begin("nonsense").error().code, errc::bad_name);
  const auto id = downloader.begin("org/repo:Q2_K");
  ASSERT_TRUE(id);
  ASSERT_TRUE(run(until_it_failed(timers_, downloader, *id)));
  ASSERT_TRUE(downloader.find(*id)->error);
  EXPECT_EQ(downloader.find(*id)->error->code, errc::file_not_found);
  EXPECT_THAT(downloader.find(*id)->error->message, HasSubstr("Q8_0"));
}

TEST_F(Downloading, AFileAtAnAddressComesToo) {
  const std::string model = "GGUF" + made_up(5'000, 16);
  hub_.add("x.gguf", model);
  Client& me = client();
  Downloader downloader(tools(me), {.each = options_});
  const auto id = downloader.begin(hub_.files_endpoint() + "/x.gguf");
  ASSERT_TRUE(id) << id.error().message;
  auto wait = [](async::Timers& timers, Downloader& all, std::uint64_t which) -> async::Task<Result<>> {
    while (all.find(which)->state == DownloadState::running) co_await timers.sleep_for(Millis(1));
    co_await all.stop();
    co_return Result<>();
  };
  ASSERT_TRUE(run(wait(timers_, downloader, *id)));
  const auto view = downloader.find(*id);
  ASSERT_EQ(view->state, DownloadState::done) << (view->error ? view->error->message : "");
  bool found = false;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "hub"))
    found = found || (entry.path().filename() == "x.gguf" && contents(entry.path()) == model);
  EXPECT_TRUE(found);
}

TEST_F(Downloading, APageAtAnAddressIsNoModelAndNothingOfItIsKept) {
  hub_.add("x.gguf", "<!doctype html>" + std::string(5'000, ' '));
  Client& me = client();
  Downloader downloader(tools(me), {.each = options_});
  const auto id = downloader.begin(hub_.files_endpoint() + "/x.gguf");
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(run(until_it_failed(timers_, downloader, *id)));
  EXPECT_EQ(downloader.find(*id)->error->code, errc::wrong_content);
  EXPECT_THAT(downloader.find(*id)->error->message, HasSubstr("/x.gguf' is not a GGUF file"));
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "hub"))
    EXPECT_TRUE(entry.is_directory() || entry.path().extension() == ".lock") << entry.path();
}

TEST_F(Downloading, ATokenThatIsWrittenToItsFileLaterCounts) {
  hub_.add("model.gguf", "x");
  const fs::path file = folder_ / "token";
  SplitMix random{7};
  CurlLoop curl(loop_.executor(), timers_, {.proxy = ""});
  Hub hub(curl, timers_, {.endpoint = hub_.endpoint(), .token_file = file, .cache = folder_ / "hub"}, options_.retries,
          [&random] { return random.next(); });
  auto ask = [](Hub& asked, const fs::path& at) -> async::Task<Result<>> {
    EXPECT_TRUE(co_await asked.list("org/repo", "main"));
    EXPECT_EQ(asked.token_for(asked.settings().endpoint + "/x"), "");
    std::ofstream(at) << "good\n";
    EXPECT_TRUE(co_await asked.list("org/repo", "main"));
    EXPECT_EQ(asked.token_for(asked.settings().endpoint + "/x"), "good");
    co_return Result<>();
  };
  ASSERT_TRUE(run(ask(hub, file)));
}

TEST(CacheLayout, RemovesOnlyWhatNobodyElseRefersTo) {
  models::TempDir folder;
  const RepoFolder repo(folder.path(), "org/repo");
  EXPECT_EQ(repo.root().filename(), "models--org--repo");
  fs::create_directories(repo.root() / "blobs");
  for (const char* oid : {"aa", "bb"}) std::ofstream(repo.blob(oid)) << "12345";
  ASSERT_TRUE(link_file(repo, "c1", "x/a.gguf", "aa"));
  ASSERT_TRUE(link_file(repo, "c1", "x/b.gguf", "bb"));
  ASSERT_TRUE(link_file(repo, "c2", "same.gguf", "bb"));
  ASSERT_TRUE(link_file(repo, "c2", "same.gguf", "bb"));
  ASSERT_TRUE(write_ref(repo, "refs/pr/1", "c2"));
  EXPECT_EQ(read_ref(repo, "refs/pr/1"), "c2");
  EXPECT_EQ(contents(repo.snapshot("c1") / "x/a.gguf"), "12345");
  const std::vector<std::string> paths{"x/a.gguf", "x/b.gguf", "never.gguf"};
  const auto removed = remove_files(repo, paths);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->freed, 5u);
  EXPECT_FALSE(fs::exists(repo.blob("aa")));
  EXPECT_TRUE(fs::exists(repo.blob("bb")));
  EXPECT_FALSE(fs::exists(repo.snapshot("c1")));
  EXPECT_EQ(contents(repo.snapshot("c2") / "same.gguf"), "12345");
}

TEST(CacheLayout, RemovesWhatAWriterLeftThatWasKilled) {
  models::TempDir folder;
  const RepoFolder repo(folder.path(), "org/repo");
  fs::create_directories(repo.root() / "blobs");
  std::ofstream(repo.blob("aa")) << "12345";
  ASSERT_TRUE(link_file(repo, "c1", "a.gguf", "aa"));
  const fs::path old = repo.snapshot("c1") / ".corral-1-1", fresh = repo.snapshot("c1") / ".corral-1-2";
  for (const fs::path& path : {old, fresh}) fs::create_symlink("../../blobs/aa", path);
  const timespec long_ago[2] = {{.tv_sec = 1'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), long_ago, AT_SYMLINK_NOFOLLOW), 0);
  ASSERT_TRUE(link_file(repo, "c1", "b.gguf", "aa"));
  EXPECT_FALSE(fs::is_symlink(old));
  EXPECT_TRUE(fs::is_symlink(fresh)) << "somebody may be about to name it";
}

TEST(Locks, HoldOffOthersUntilTheyGo) {
  models::TempDir folder;
  const fs::path path = folder / ".locks/x/y.lock";
  auto mine = BlobLock::try_take(path);
  ASSERT_TRUE(mine && *mine);
  auto other = BlobLock::try_take(path);
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other);
  mine->reset();
  other = BlobLock::try_take(path);
  EXPECT_TRUE(other && *other);
}

TEST(Settings, ComeFromTheVariablesOfTheHubsTools) {
  models::TempDir folder;
  std::ofstream(folder / "token") << "  from-file\n";
  std::map<std::string, std::string, std::less<>> variables{{"HOME", "/home/x"}, {"HF_HOME", folder.path()}};
  const auto read = [&] {
    return hub_settings([&](std::string_view name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  EXPECT_EQ(read().endpoint, "https://huggingface.co");
  EXPECT_EQ(read().token, "from-file");
  EXPECT_EQ(read().cache, folder / "hub");
  EXPECT_FALSE(read().offline);
  variables["HF_ENDPOINT"] = "https://mirror/x/";
  variables["HF_TOKEN"] = "direct";
  variables["HF_HUB_OFFLINE"] = "1";
  variables["HF_HUB_CACHE"] = "/elsewhere";
  EXPECT_EQ(read().endpoint, "https://mirror/x");
  EXPECT_EQ(read().token, "direct");
  EXPECT_EQ(read().cache, "/elsewhere");
  EXPECT_TRUE(read().offline);
  EXPECT_EQ(
      offline_error(read()).message,
      "downloads are disabled: HF_HUB_OFFLINE is set for the server process. Start the server without HF_HUB_OFFLINE");
  variables["HF_HUB_OFFLINE"] = "0";
  variables["TRANSFORMERS_OFFLINE"] = "1";
  EXPECT_EQ(read().offline_variable, "TRANSFORMERS_OFFLINE");
  variables["HF_TOKEN"] = "two\r\nlines";
  EXPECT_EQ(read().token, "from-file");
  variables["HF_TOKEN_PATH"] = "${FOLDER}/other";
  variables["FOLDER"] = folder.path();
  std::ofstream(folder / "other") << "other-file";
  EXPECT_EQ(read().token_file, folder / "other");
  EXPECT_EQ(read().token, "other-file");
}

TEST(FreeBytes, AreThoseOfTheDiskOnWhichAFolderWillBe) {
  models::TempDir folder;
  EXPECT_GT(free_bytes(folder / "not" / "yet"), 0u);
  EXPECT_GT(free_bytes("not-yet/there"), 0u);
  EXPECT_GT(free_bytes("not-yet"), 0u);
}

}  // namespace
}  // namespace corral::downloads
