// The store as others use it: what waits is bounded, and files that are broken, locked, full or of another version.
#include "store/store.h"

#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "async/loop.h"
#include "base/log.h"
#include "models/temp_dir_for_tests.h"
#include "store/database.h"
#include "store/schema.h"

namespace corral::store {
namespace {

using testing::HasSubstr;

// The system's, and a clock that can be put forward, on any thread.
class Clock final : public async::Timers {
 public:
  MonoTime now() const override { return system_.now() + ahead_.load(); }
  WallTime wall_now() const override { return system_.wall_now(); }
  async::Task<void> sleep_until(MonoTime when) override { return system_.sleep_until(when); }
  void pass(Millis time) { ahead_ = ahead_.load() + time; }

 private:
  async::SystemTimers system_;
  std::atomic<Millis> ahead_{Millis(0)};
};

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    log::set_level(log::Level::none);
    open();
  }
  void open(std::int64_t max_pages = 0) {
    store.reset();
    store = std::make_unique<Store>(clock, StoreOptions{.file = file, .max_waiting = 8, .max_pages = max_pages});
  }
  template <typename T>
  T wait(async::Task<T> task) {
    async::Loop loop;
    return async::run_blocking(loop, std::move(task));
  }
  static ResponseRow row(std::string id, std::string doc = "{}") {
    return {.id = std::move(id),
            .owner = "ann",
            .created = epoch_millis(std::chrono::system_clock::now()),
            .status = "completed",
            .doc = std::move(doc),
            .input = "[]"};
  }
  Result<> put(std::string id, std::string doc = "{}") {
    return wait(store->put_now(row(std::move(id), std::move(doc))));
  }
  bool has(std::string id) { return wait(store->response("ann", std::move(id))).has_value(); }

  const models::TempDir dir;
  const std::filesystem::path file = dir / "folder" / "kept.sqlite";
  Clock clock;
  std::unique_ptr<Store> store;
};

TEST_F(StoreTest, WhatWasPutOutlivesTheProgramAndIsTheUsersAlone) {
  ASSERT_TRUE(put("r1"));
  for (const auto* beside : {"", "-wal"}) {
    struct stat about{};
    ASSERT_EQ(::stat((file.native() + beside).c_str(), &about), 0) << beside;
    EXPECT_EQ(about.st_mode & 0777, 0600u) << beside;
  }
  EXPECT_TRUE(store->finish_within(Millis(10'000)));
  open();
  EXPECT_TRUE(has("r1"));
}

TEST_F(StoreTest, WhoAsksAfterwardsFindsWhatNobodyWaitedFor) {
  for (int i = 0; i < 100; ++i) {
    auto place = store->reserve();
    while (!place) place = store->reserve();
    store->put(std::move(*place), row(fmt::format("r{}", i)));
  }
  auto asked = wait(store->response("ann", "r99"));
  while (!asked && asked.error().code == errc::busy) asked = wait(store->response("ann", "r99"));
  EXPECT_TRUE(asked);
}

TEST_F(StoreTest, WhatWaitsIsBounded) {
  std::vector<Store::Place> places;
  for (int i = 0; i < 8; ++i) {
    auto place = store->reserve();
    ASSERT_TRUE(place) << place.error().message;
    places.push_back(std::move(*place));
  }
  const auto more = store->reserve();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, errc::busy);
  EXPECT_TRUE(more.error().retry_after);
  EXPECT_EQ(wait(store->response("ann", "r")).error().code, errc::busy);
  places.clear();
  EXPECT_TRUE(store->reserve());
  EXPECT_EQ(store->counts().waiting, 0u);
}

TEST_F(StoreTest, RowsOfActivityAreLostWhereTooManyAreGathered) {
  store = std::make_unique<Store>(clock, StoreOptions{.file = file, .max_waiting = 8, .gather = std::chrono::hours(1)});
  const auto ended = epoch_millis(clock.wall_now());
  for (int i = 0; i < 10; ++i) store->note(ActivityRow{.ended = ended, .request = fmt::format("r{}", i)});
  EXPECT_EQ(store->counts().waiting, 8u);
  EXPECT_EQ(store->counts().lost_activity, 2u);
  // Who asks finds them, though their hour isn't over; and there is room again.
  EXPECT_EQ(wait(store->activity({}))->size(), 8u);
  store->note(ActivityRow{.ended = ended, .request = "r10"});
  EXPECT_EQ(store->counts().lost_activity, 2u);
  EXPECT_TRUE(store->finish_within(Millis(10'000)));
  open();
  EXPECT_EQ(wait(store->activity({}))->size(), 9u) << "the end writes them, too";
}

TEST_F(StoreTest, RowsOfActivityAreWrittenByThemselves) {
  store = std::make_unique<Store>(clock, StoreOptions{.file = file, .gather = Millis(1)});
  for (int i = 0; i < 3; ++i) {
    store->note(ActivityRow{.ended = epoch_millis(clock.wall_now()), .request = "r"});
    while (store->counts().waiting > 0) std::this_thread::yield();
  }
  EXPECT_EQ(wait(store->activity({}))->size(), 3u);
}

TEST_F(StoreTest, RowsOfActivityThatCantBeWrittenAreCounted) {
  store = std::make_unique<Store>(clock, StoreOptions{.file = "/proc/nothing/kept.sqlite", .gather = Millis(1)});
  store->note(ActivityRow{.request = "r"});
  while (store->counts().lost_activity == 0) std::this_thread::yield();
  EXPECT_EQ(store->counts().lost_activity, 1u);
}

// Texts of what is waited for weren't counted.
TEST_F(StoreTest, TextsThatWaitAreBounded) {
  store = std::make_unique<Store>(clock, StoreOptions{.file = file, .max_waiting_bytes = 1'000});
  const std::string large(2'000, 'x');
  EXPECT_EQ(put("r1", large).error().code, errc::busy);
  EXPECT_TRUE(put("r1"));
  const ConversationRow talk{.id = "c1", .owner = "ann", .created = row("c").created};
  EXPECT_EQ(wait(store->create(talk, {{"i1", large}})).error().code, errc::busy);
  ASSERT_TRUE(wait(store->create(talk, {})));
  EXPECT_EQ(wait(store->add("ann", "c1", {{"i1", large}}, {})).error().code, errc::busy);
  EXPECT_EQ(wait(store->set_metadata("ann", "c1", large)).error().code, errc::busy);
  EXPECT_EQ(store->counts().waiting_bytes, 0u);
}

// Once a place and its job counted as two.
TEST_F(StoreTest, WhatIsPutCountsOnce) {
  ASSERT_TRUE(put("r0"));
  std::vector<Store::Place> places;
  for (int i = 0; i < 8; ++i) {
    auto place = store->reserve();
    ASSERT_TRUE(place) << place.error().message;
    places.push_back(std::move(*place));
  }
  for (int i = 0; i < 8; ++i) store->put(std::move(places[static_cast<std::size_t>(i)]), row(fmt::format("r{}", i)));
  EXPECT_LE(store->counts().waiting, 8u);
  EXPECT_TRUE(store->finish_within(Millis(10'000)));
  EXPECT_EQ(store->counts().waiting, 0u);
}

// Nobody could keep or find anything for ten seconds.
TEST_F(StoreTest, WhatCannotBeDoneOnceConcernsNobodyElse) {
  const ConversationRow talk{.id = "c1", .owner = "ann", .created = row("c").created};
  ASSERT_TRUE(wait(store->create(talk, {})));
  EXPECT_FALSE(wait(store->create(talk, {})));
  EXPECT_TRUE(store->reserve());
  EXPECT_TRUE(put("r1"));
  EXPECT_TRUE(wait(store->conversation("ann", "c1")));
}

TEST_F(StoreTest, ABrokenFileIsPutAsideAndANewOneBegun) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << std::string(10'000, 'x');
  EXPECT_TRUE(put("r1"));
  EXPECT_TRUE(has("r1"));
  EXPECT_TRUE(std::filesystem::exists(file.native() + ".broken"));
  EXPECT_EQ(store->counts().failures, 1u);
  EXPECT_TRUE(store->reserve());
}

TEST_F(StoreTest, AFileThatBreaksLaterIsPutAsideToo) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(fmt::format("r{}", i), std::string(5'000, 'x')));
  EXPECT_TRUE(store->finish_within(Millis(10'000)));
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4'096);
    bytes << std::string(100'000, 'z');
  }
  open();
  bool failed = false;
  for (int i = 0; i < 50; ++i) failed = !has(fmt::format("r{}", i)) || failed;
  EXPECT_TRUE(failed);
  EXPECT_TRUE(put("again"));
  EXPECT_TRUE(has("again"));
  EXPECT_TRUE(std::filesystem::exists(file.native() + ".broken"));
}

// The log was deleted, and with it everything that wasn't in the file yet.
TEST_F(StoreTest, TheLogOfABrokenFileIsPutAsideWithIt) {
  const std::filesystem::path left = dir / "kept.sqlite";
  {
    Database made(dir / "made.sqlite");
    migrate(made);
    for (int i = 0; i < 50; ++i) {
      made.run(
          "INSERT INTO responses(id, owner, used, status, previous, doc, input, bytes) VALUES "
          "(?, 'ann', 9000000000000, 'completed', '', ?, '[]', 600)",
          fmt::format("r{}", i), std::string(5'000, 'x'));
    }
    made.run("PRAGMA wal_checkpoint(TRUNCATE)");
    made.run("UPDATE responses SET doc = ? WHERE id = 'r7'", std::string(5'000, 'y'));
    // As a killed program leaves them.
    for (const std::string beside : {"", "-wal"})
      std::filesystem::copy_file((dir / "made.sqlite").native() + beside, left.native() + beside);
  }
  {
    std::fstream bytes(left, std::ios::in | std::ios::out | std::ios::binary);
    bytes << std::string(4'096, 'z');
  }
  const auto size = std::filesystem::file_size(left.native() + "-wal");
  ASSERT_GT(size, 5'000u);
  store = std::make_unique<Store>(clock, StoreOptions{.file = left});
  EXPECT_TRUE(put("again"));
  EXPECT_FALSE(has("r7"));
  ASSERT_TRUE(std::filesystem::exists(left.native() + ".broken"));
  ASSERT_TRUE(std::filesystem::exists(left.native() + ".broken-wal"));
  EXPECT_EQ(std::filesystem::file_size(left.native() + ".broken-wal"), size);
}

TEST_F(StoreTest, AFileThatSomebodyElseHasIsTriedAgain) {
  std::filesystem::create_directories(file.parent_path());
  {
    Database other(file);
    const auto done = put("r1");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::unavailable);
    EXPECT_THAT(done.error().message, HasSubstr("locked"));
    EXPECT_EQ(store->reserve().error().code, errc::unavailable);
  }
  EXPECT_EQ(store->reserve().error().code, errc::unavailable);
  clock.pass(Millis(10'001));
  EXPECT_TRUE(store->reserve());
  EXPECT_TRUE(put("r1"));
}

TEST_F(StoreTest, AFolderThatCantBeWrittenIsToldAndNothingElse) {
  store = std::make_unique<Store>(clock, StoreOptions{.file = "/proc/nothing/kept.sqlite"});
  EXPECT_EQ(put("r1").error().code, errc::unavailable);
  store->note(ActivityRow{.request = "r"});
  EXPECT_EQ(wait(store->activity({})).error().code, errc::unavailable);
}

TEST_F(StoreTest, AFullDiskIsToldAndWhatIsThereCanBeRead) {
  ASSERT_TRUE(put("r1"));
  open(40);
  Result<> done;
  for (int i = 0; i < 100 && done; ++i) done = put(fmt::format("more{}", i), std::string(5'000, 'x'));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::unavailable);
  EXPECT_THAT(done.error().message, HasSubstr("full"));
  EXPECT_EQ(store->reserve().error().code, errc::unavailable);
  EXPECT_TRUE(has("r1"));
  EXPECT_FALSE(std::filesystem::exists(file.native() + ".broken"));
  EXPECT_TRUE(wait(store->erase_response("ann", "more0")));
  EXPECT_TRUE(wait(store->erase_response("ann", "more1")));
  clock.pass(Millis(10'001));
  EXPECT_TRUE(store->reserve());
  EXPECT_TRUE(put("r2"));
}

TEST_F(StoreTest, AnOlderFileIsBroughtToTheLatestVersion) {
  std::filesystem::create_directories(file.parent_path());
  {
    Database old(file);
    migrate(old);
    old.run("DROP TABLE activity");
    old.run("DROP TABLE captures");
    old.run(
        "INSERT INTO responses(id, owner, used, status, previous, doc, input, bytes) VALUES "
        "('r1', 'ann', 9000000000000, 'completed', '', '{}', '[]', 600)");
    old.run("PRAGMA user_version = 1");
  }
  EXPECT_TRUE(has("r1"));
  store->note(ActivityRow{.ended = epoch_millis(clock.wall_now()), .request = "r"});
  EXPECT_EQ(wait(store->activity({}))->size(), 1u);
}

TEST_F(StoreTest, ANewerFileIsLeftAsItIs) {
  std::filesystem::create_directories(file.parent_path());
  {
    Database newer(file);
    newer.run("PRAGMA user_version = 99");
  }
  EXPECT_THAT(put("r1").error().message, HasSubstr("made by a newer program"));
  EXPECT_FALSE(std::filesystem::exists(file.native() + ".broken"));
}

}  // namespace
}  // namespace corral::store
