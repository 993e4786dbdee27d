#include "engine/kv/parked_store.h"

#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include "engine/kv/parked_test_support.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using test::bytes_of;
using test::parked;
using Tokens = std::vector<Token>;

constexpr std::uint64_t kPlenty = 1 << 20;

// What the entry of one token list takes of the memory.
constexpr std::uint64_t cost(std::size_t tokens, std::size_t bytes) { return tokens * sizeof(Token) + bytes; }

TEST(ParkedStore, FindsTheLongestBeginning) {
  ParkedStore store({.memory_bytes = kPlenty});
  EXPECT_TRUE(store.put(parked({1, 2, 3})));
  EXPECT_TRUE(store.put(parked({1, 2, 4, 5})));
  const auto hit = store.find(Tokens{1, 2, 4, 9}, 1).hit;
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->length, 3u);
  EXPECT_EQ(hit->parked->tokens, (Tokens{1, 2, 4, 5}));
  EXPECT_EQ(hit->parked->bytes, bytes_of(hit->parked->tokens, 100));
  EXPECT_FALSE(store.find(Tokens{1, 2, 4, 9}, 4).hit);
  EXPECT_FALSE(store.find(Tokens{7}, 0).hit);
  EXPECT_EQ(store.stats().hits, 1u);
  EXPECT_EQ(store.stats().misses, 2u);
}

TEST(ParkedStore, ALongerEntryReplacesItsBeginnings) {
  ParkedStore store({.memory_bytes = kPlenty});
  store.put(parked({1, 2}));
  store.put(parked({1, 2, 3}));
  store.put(parked({1, 9}));
  store.put(parked({1, 2, 3, 4}));
  EXPECT_EQ(store.stats().entries, 2u);
  EXPECT_EQ(store.stats().memory_bytes, cost(4, 100) + cost(2, 100));
  EXPECT_TRUE(store.put(parked({1, 2, 3})));  // covered
  EXPECT_EQ(store.stats().entries, 2u);
  EXPECT_EQ(store.find(Tokens{1, 2, 3}, 1).hit->parked->tokens.size(), 4u);
}

TEST(ParkedStore, EntriesThatCannotBeCutMatchAsAWholeOnly) {
  ParkedStore store({.memory_bytes = kPlenty, .whole_only = true});
  store.put(parked({1, 2}));
  store.put(parked({1, 2, 3, 4}));
  store.put(parked({1, 2, 3, 4}));
  EXPECT_EQ(store.stats().entries, 2u);
  EXPECT_EQ(store.find(Tokens{1, 2, 3}, 1).hit->parked->tokens, (Tokens{1, 2}));
  EXPECT_EQ(store.find(Tokens{1, 2, 3, 4, 5}, 1).hit->parked->tokens, (Tokens{1, 2, 3, 4}));
  EXPECT_FALSE(store.find(Tokens{1}, 1).hit);
}

TEST(ParkedStore, OfEquallyLongMatchesTheShortestEntryIsTaken) {
  ParkedStore store({.memory_bytes = kPlenty});
  store.put(parked({1, 2, 3, 4, 5}));
  store.put(parked({1, 2, 8}));
  store.put(parked({1, 2, 7, 7, 7}));
  EXPECT_EQ(store.find(Tokens{1, 2, 9}, 1).hit->parked->tokens, (Tokens{1, 2, 8}));
}

TEST(ParkedStore, TheLeastRecentlyUsedGoesFirst) {
  ParkedStore store({.memory_bytes = 3 * cost(2, 100)});
  store.put(parked({1, 1}));
  store.put(parked({2, 2}));
  store.put(parked({3, 3}));
  const auto held = store.find(Tokens{1, 1}, 1).hit;
  store.put(parked({4, 4}));
  EXPECT_FALSE(store.find(Tokens{2, 2}, 1).hit);
  EXPECT_TRUE(store.find(Tokens{1, 1}, 1).hit);
  EXPECT_TRUE(store.find(Tokens{3, 3}, 1).hit);
  EXPECT_EQ(store.stats().evictions, 1u);
  store.put(parked({5, 5}, 316));  // all the memory there is
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_EQ(store.stats().memory_bytes, 3 * cost(2, 100));
  EXPECT_EQ(held->parked->bytes, bytes_of(Tokens{1, 1}, 100));  // whole for as long as it's held
}

TEST(ParkedStore, AnEntryThatNeverFitsIsRefusedAndReplacesNothing) {
  ParkedStore store({.memory_bytes = cost(2, 100)});
  EXPECT_TRUE(store.put(parked({1, 2})));
  EXPECT_FALSE(store.put(parked({1, 2, 3})));
  EXPECT_FALSE(store.put(parked({})));
  EXPECT_TRUE(store.find(Tokens{1, 2}, 2).hit);
}

TEST(ParkedStore, ForgetsWhatIsErased) {
  ParkedStore store({.memory_bytes = kPlenty});
  store.put(parked({1, 2}));
  const auto hit = store.find(Tokens{1, 2}, 1).hit;
  store.erase(hit->id);
  store.erase(hit->id);
  EXPECT_FALSE(store.find(Tokens{1, 2}, 1).hit);
  EXPECT_EQ(store.stats().memory_bytes, 0u);
}

TEST(ParkedStore, WhatIsOnesOwnIsFoundByItsIdAlone) {
  ParkedStore store({.memory_bytes = kPlenty});
  const auto id = store.put_own(parked({1, 2, 3}), 0);
  ASSERT_TRUE(id);
  EXPECT_FALSE(store.find(Tokens{1, 2, 3}, 1).hit);
  EXPECT_FALSE(store.covers(Tokens{1, 2}));
  EXPECT_EQ(store.own(*id, Tokens{1, 2, 3, 4})->length, 3u);
  EXPECT_EQ(store.own(*id, Tokens{1, 2, 7})->length, 2u);
  EXPECT_FALSE(store.own(*id, Tokens{7}));
  EXPECT_EQ(store.stats().entries, 1u);
  store.put(parked({1, 2, 3}));
  store.put(parked({1, 2, 3, 4}));
  EXPECT_EQ(store.stats().entries, 2u) << "it is replaced by nobody's longer one";
  store.erase(*id);
  EXPECT_FALSE(store.own(*id, Tokens{1, 2, 3}));
  EXPECT_EQ(store.stats().memory_bytes, cost(4, 100));
}

TEST(ParkedStore, AnOwnEntryTakesThePlaceOfTheFormerOneIfItSaysMore) {
  ParkedStore store({.memory_bytes = kPlenty});
  const auto first = store.put_own(parked({1, 2, 3}), 0);
  EXPECT_EQ(store.put_own(parked({1, 2}), *first), first);
  const auto other = store.put_own(parked({1, 5}), *first);
  EXPECT_NE(other, first);
  const auto longer = store.put_own(parked({1, 5, 6}), *other);
  EXPECT_NE(longer, other);
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_EQ(store.own(*longer, Tokens{1, 5, 6})->parked->bytes, bytes_of(Tokens{1, 5, 6}, 100));
}

TEST(ParkedStore, OwnEntriesLeaveLikeOthers) {
  ParkedStore store({.memory_bytes = 2 * cost(2, 100)});
  EXPECT_FALSE(store.put_own(parked({1, 1}, kPlenty), 0));
  const auto id = store.put_own(parked({1, 1}), 0);
  store.put(parked({2, 2}));
  store.own(*id, Tokens{1, 1});
  store.put(parked({3, 3}));
  EXPECT_FALSE(store.find(Tokens{2, 2}, 1).hit);
  EXPECT_TRUE(store.own(*id, Tokens{1, 1}));
  store.put(parked({4, 4}));
  store.put(parked({5, 5}));
  EXPECT_FALSE(store.own(*id, Tokens{1, 1}));
  EXPECT_NE(store.put_own(parked({1, 1, 1}), *id), id);
}

TEST(ParkedStore, OwnEntriesThatCannotBeCutMatchAsAWholeOnly) {
  ParkedStore store({.memory_bytes = kPlenty, .whole_only = true});
  const auto id = store.put_own(parked({1, 2}), 0);
  EXPECT_FALSE(store.own(*id, Tokens{1, 3}));
  EXPECT_TRUE(store.own(*id, Tokens{1, 2, 3}));
  EXPECT_EQ(store.put_own(parked({1, 2}), *id), id);
  const auto shorter = store.put_own(parked({1}), *id);
  EXPECT_TRUE(store.own(*shorter, Tokens{1, 3})) << "of no use to what was cut is the longer one";
}

TEST(ParkedStore, WithoutAFolderNothingIsSaved) {
  ParkedStore store({.memory_bytes = kPlenty});
  store.put(parked({1, 2}));
  EXPECT_TRUE(store.open());
  EXPECT_EQ(store.save().value().written, 0u);
}

class ParkedStoreFolderTest : public test::ParkFolderTest {
 protected:
  static constexpr const char* kFingerprint = "model|f16|0.5.0";

  ParkedStoreOptions options(std::uint64_t folder_bytes = kPlenty, std::string fingerprint = kFingerprint) const {
    return {.memory_bytes = kPlenty,
            .whole_only = false,
            .folder = folder_,
            .fingerprint = std::move(fingerprint),
            .folder_bytes = folder_bytes,
            .disk = disk_};
  }
  std::optional<ParkedStore::Hit> best(ParkedStore& store, const Tokens& wanted, std::uint32_t least) const {
    return test::best(store, *disk_, wanted, least);
  }
  static std::size_t save(ParkedStore& store) {
    const auto saved = store.save();
    EXPECT_TRUE(saved) << saved.error().message;
    return saved ? saved->written : 0;
  }
  void save(std::initializer_list<Tokens> lists) {
    ParkedStore store(options());
    for (const Tokens& tokens : lists) store.put(parked(tokens));
    EXPECT_EQ(save(store), lists.size());
  }
  fs::path file_of(const Tokens& tokens) const { return folder_ / parked_name(kFingerprint, tokens); }
  static std::uint64_t file_bytes(std::size_t tokens) {
    return parked_file_bytes(kFingerprint, parked(Tokens(tokens)));
  }

  const std::shared_ptr<test::HeldExecutor> disk_ = std::make_shared<test::HeldExecutor>();
};

TEST_F(ParkedStoreFolderTest, OutlivesTheStore) {
  save({{1, 2, 3}, {4, 5}});
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.stats().entries, 2u);
  EXPECT_EQ(store.stats().on_disk_only, 2u);
  EXPECT_EQ(store.stats().memory_bytes, 0u);
  EXPECT_EQ(store.stats().disk_bytes, file_bytes(3) + file_bytes(2));
  const auto hit = best(store, Tokens{1, 2, 9}, 1);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->length, 2u);
  EXPECT_EQ(hit->parked->bytes, bytes_of(Tokens{1, 2, 3}, 100));
  EXPECT_TRUE(best(store, Tokens{1, 2}, 1));  // from memory now
  EXPECT_EQ(store.stats().loads, 1u);
  EXPECT_EQ(store.stats().hits, 2u);
  EXPECT_EQ(store.stats().memory_bytes, cost(3, 100));
  EXPECT_EQ(save(store), 0u);
}

TEST_F(ParkedStoreFolderTest, MakesItsFolderForItsOwnerOnly) {
  fs::remove(folder_);
  save({{1, 2}});
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(ParkedStoreFolderTest, AFolderThatOthersMayWriteIntoIsNotUsed) {
  save({{1, 2}});
  fs::permissions(folder_, fs::perms::group_write | fs::perms::others_write, fs::perm_options::add);
  ParkedStore store(options());
  EXPECT_EQ(store.open().error().code, errc::park_failed);
  EXPECT_FALSE(best(store, Tokens{1, 2}, 1));
  store.put(parked({4, 5}));
  EXPECT_EQ(store.save().error().code, errc::park_failed);
  EXPECT_TRUE(best(store, Tokens{4, 5}, 1)) << "what is in memory stays there";
}

TEST_F(ParkedStoreFolderTest, AFolderThatIsAFileIsNotUsed) {
  fs::remove(folder_);
  std::ofstream(folder_) << "something";
  EXPECT_EQ(ParkedStore(options()).open().error().code, errc::park_failed);
}

TEST_F(ParkedStoreFolderTest, WhatIsSavedNeedNotStayInMemory) {
  ParkedStore store(options());
  store.put(parked({1, 2}));
  EXPECT_EQ(store.let_go_of_saved(), 0u) << "there is no file yet";
  EXPECT_EQ(store.stats().disk_bytes, 0u);
  save(store);
  EXPECT_EQ(store.stats().disk_bytes, file_bytes(2));
  store.put(parked({7, 8, 9}));
  EXPECT_EQ(store.let_go_of_saved(), cost(2, 100));
  EXPECT_EQ(store.stats().memory_bytes, cost(3, 100));
  EXPECT_TRUE(best(store, Tokens{1, 2}, 2));
  EXPECT_EQ(store.stats().loads, 1u);
}

TEST_F(ParkedStoreFolderTest, SavesOnlyWhatIsNew) {
  ParkedStore store(options());
  store.put(parked({1, 1}));
  EXPECT_EQ(save(store), 1u);
  store.put(parked({2, 2}));
  EXPECT_EQ(save(store), 1u);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(ParkedStoreFolderTest, TheFileOfAReplacedEntryGoes) {
  ParkedStore store(options());
  store.put(parked({1, 1}));
  save(store);
  store.put(parked({1, 1, 1}));
  EXPECT_EQ(store.save()->removed, 1u);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({1, 1, 1})));
}

TEST_F(ParkedStoreFolderTest, AReplacedFileThatIsFoundAgainStays) {
  ParkedStore store(options());
  store.put(parked({1, 1}));
  save(store);
  store.put(parked({1, 1, 1}));
  store.erase(best(store, Tokens{1, 1, 1}, 1)->id);
  ASSERT_TRUE(store.open());
  save(store);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({1, 1})));
  EXPECT_TRUE(best(store, Tokens{1, 1}, 2));
}

TEST_F(ParkedStoreFolderTest, AFileThatALongerOneCoversIsNotTakenOver) {
  save({{1, 1, 1}});
  ASSERT_TRUE(write_parked(file_of({1, 1}), kFingerprint, parked({1, 1})));
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_EQ(best(store, Tokens{1, 1}, 1)->parked->tokens.size(), 3u);
  save(store);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({1, 1, 1})));
}

TEST_F(ParkedStoreFolderTest, AnEvictedEntryStaysOnDisk) {
  ParkedStoreOptions small = options();
  small.memory_bytes = file_bytes(2);
  ParkedStore store(small);
  store.put(parked({1, 1}));
  save(store);
  store.put(parked({2, 2}));
  EXPECT_EQ(store.stats().on_disk_only, 1u);
  EXPECT_EQ(best(store, Tokens{1, 1}, 1)->parked->bytes, bytes_of(Tokens{1, 1}, 100));
  EXPECT_EQ(store.stats().evictions, 2u);  // the other wasn't saved
  EXPECT_FALSE(best(store, Tokens{2, 2}, 1));
}

TEST_F(ParkedStoreFolderTest, WhatIsErasedLosesItsFileWithTheNextSave) {
  save({{1, 2}});
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  store.erase(best(store, Tokens{1, 2}, 1)->id);
  EXPECT_EQ(store.save()->removed, 1u);
  EXPECT_TRUE(files().empty());
}

TEST_F(ParkedStoreFolderTest, DamagedAndForeignVersionsAreRemovedWhenOpened) {
  save({{1, 1}, {2, 2}, {3, 3}, {4, 4}});
  fs::resize_file(file_of({1, 1}), file_bytes(2) - 1);
  flip(file_of({2, 2}), 50);  // in the fingerprint
  flip(file_of({3, 3}), 8);   // the version
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({4, 4})));
}

TEST_F(ParkedStoreFolderTest, ADamagedPayloadGivesWayToTheNextBest) {
  save({{1, 2, 3, 4}, {1, 2, 9}});
  flip(file_of({1, 2, 3, 4}), file_bytes(4) - 1);
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.stats().entries, 2u);
  const auto hit = best(store, Tokens{1, 2, 3, 4}, 1);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->parked->tokens, (Tokens{1, 2, 9}));
  EXPECT_EQ(hit->length, 2u);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({1, 2, 9})));
}

TEST_F(ParkedStoreFolderTest, AFileThatVanishedIsAMiss) {
  save({{1, 2}});
  ParkedStore store(options());
  ASSERT_TRUE(store.open());
  fs::remove(file_of({1, 2}));
  EXPECT_FALSE(best(store, Tokens{1, 2}, 1));
  EXPECT_EQ(store.stats().entries, 0u);
}

TEST_F(ParkedStoreFolderTest, AFileThatVanishedIsWrittenAgain) {
  ParkedStore store(options());
  store.put(parked({1, 2}));
  save(store);
  fs::remove(file_of({1, 2}));
  EXPECT_EQ(save(store), 1u);
}

TEST_F(ParkedStoreFolderTest, OtherFingerprintsAreLeftAlone) {
  save({{1, 2}});
  ParkedStore other(options(kPlenty, "another model"));
  ASSERT_TRUE(other.open());
  EXPECT_FALSE(best(other, Tokens{1, 2}, 1));
  other.put(parked({1, 2}));
  EXPECT_EQ(save(other), 1u);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(ParkedStoreFolderTest, OtherFingerprintsCountAndTheOldestGoFirst) {
  save({{1, 1}, {2, 2}, {3, 3}});
  age(file_of({1, 1}), hours(1));
  age(file_of({2, 2}), hours(3));
  age(file_of({3, 3}), hours(2));
  ParkedStore other(options(3 * file_bytes(2), "another"));  // a shorter fingerprint: its file is a little smaller
  other.put(parked({1, 1}));
  const auto saved = other.save();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->written, 1u);
  EXPECT_EQ(saved->removed, 1u);
  EXPECT_FALSE(fs::exists(file_of({2, 2})));
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(ParkedStoreFolderTest, TheMostRecentlyUsedEntriesAreSaved) {
  ParkedStore store(options(2 * file_bytes(2)));
  store.put(parked({1, 1}));
  store.put(parked({2, 2}));
  store.put(parked({3, 3}));
  best(store, Tokens{1, 1}, 1);
  EXPECT_EQ(save(store), 2u);
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre(file_of({1, 1}), file_of({3, 3})));
  EXPECT_LE(fs::last_write_time(file_of({3, 3})), fs::last_write_time(file_of({1, 1})));
  EXPECT_LE(fs::last_write_time(file_of({1, 1})), fs::file_time_type::clock::now());
  EXPECT_EQ(store.stats().entries, 3u);  // in memory there's room
}

TEST_F(ParkedStoreFolderTest, AHitMakesAFileYoung) {
  save({{1, 1}, {2, 2}});
  age(file_of({1, 1}), hours(5));
  age(file_of({2, 2}), hours(4));
  ParkedStore store(options(file_bytes(2)));
  ASSERT_TRUE(store.open());
  EXPECT_TRUE(best(store, Tokens{1, 1}, 1));
  EXPECT_GT(fs::last_write_time(file_of({1, 1})), fs::last_write_time(file_of({2, 2})));
  EXPECT_EQ(store.save()->removed, 1u);
  EXPECT_THAT(files(), ::testing::ElementsAre(file_of({1, 1})));
  EXPECT_EQ(store.stats().entries, 1u);  // the other was nowhere else
}

TEST_F(ParkedStoreFolderTest, AFolderThatCannotBeMadeLosesNothing) {
  std::ofstream(folder_ / "file") << "x";
  ParkedStoreOptions below = options();
  below.folder = folder_ / "file" / "below";
  ParkedStore store(below);
  EXPECT_EQ(store.open().error().code, errc::park_failed);
  store.put(parked({1, 2}));
  EXPECT_EQ(store.save().error().code, errc::park_failed);
  EXPECT_TRUE(best(store, Tokens{1, 2}, 1));
}

// Workers that park, restore and save at the same time, with room for a part of it only.
TEST_F(ParkedStoreFolderTest, ManyThreads) {
  ParkedStoreOptions tight = options(8 * file_bytes(6));
  tight.memory_bytes = 6 * cost(6, 100);
  tight.disk = std::make_shared<BackgroundThread>();
  ParkedStore store(tight);
  std::vector<std::jthread> workers;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    workers.emplace_back([&store, seed] {
      std::mt19937 random(seed);
      for (int step = 0; step < 400; ++step) {
        Tokens tokens(1 + random() % 6);
        for (Token& token : tokens) token = static_cast<Token>(random() % 3);
        switch (random() % 8) {
          case 0:
          case 1:
          case 2:
            EXPECT_TRUE(store.put(parked(tokens)));
            break;
          case 3:
            if (const auto hit = store.find(tokens, 1).hit) store.erase(hit->id);
            break;
          case 4:
            EXPECT_TRUE(step % 4 == 0 ? store.open().has_value() : store.save().has_value());
            break;
          default:
            if (const auto hit = store.find(tokens, 1).hit) {
              const Tokens& theirs = hit->parked->tokens;
              EXPECT_GE(hit->length, 1u);
              EXPECT_GE(common_prefix(theirs, tokens), hit->length);
              EXPECT_EQ(hit->parked->bytes, bytes_of(theirs, 100));
            }
        }
      }
    });
  }
  workers.clear();
  EXPECT_LE(store.stats().memory_bytes, tight.memory_bytes);
  ASSERT_TRUE(store.save());
  std::uint64_t on_disk = 0;
  for (const fs::path& file : files()) on_disk += fs::file_size(file);
  EXPECT_LE(on_disk, tight.folder_bytes);
}

}  // namespace
}  // namespace corral::engine
