// Parked KV that is in a file only: who looks for it is told that it comes, and a background task reads it.
#include <gmock/gmock.h>

#include "engine/kv/parked_store.h"
#include "engine/kv/parked_test_support.h"
#include "engine/test_held_chores.h"

namespace corral::engine {
namespace {

using test::bytes_of;
using test::parked;
using Tokens = std::vector<Token>;

class ParkedAside : public test::ParkFolderTest {
 protected:
  static constexpr const char* kFingerprint = "model|f16|0.5.0";

  ParkedStoreOptions options() const {
    return {.memory_bytes = 1 << 20,
            .whole_only = false,
            .folder = folder_,
            .fingerprint = kFingerprint,
            .folder_bytes = 1 << 20};
  }
  void save(std::initializer_list<Tokens> lists) {
    ParkedStore store(options());
    for (const Tokens& tokens : lists) store.put(parked(tokens));
    EXPECT_TRUE(store.save());
  }
};

TEST_F(ParkedAside, WhoLooksForAnEntryDoesNotWaitForItsFile) {
  save({{1, 2, 3}, {4, 5}});
  const auto executor = std::make_shared<test::HeldExecutor>();
  ParkedStoreOptions with_chores = options();
  with_chores.disk = with_chores.executor = executor;
  ParkedStore store(with_chores);
  ASSERT_TRUE(store.open());
  int notified = 0;
  store.when_read([&] { ++notified; });
  const Tokens wanted = {1, 2, 9};
  const auto asked = store.find(wanted, 1);
  EXPECT_TRUE(asked.coming && asked.begun && !asked.hit);
  const auto again = store.find(wanted, 1);
  EXPECT_TRUE(again.coming && !again.begun) << "it is on its way";
  EXPECT_FALSE(store.find(wanted, 1, ParkedStore::Files::ignored).coming) << "of what is in memory";
  EXPECT_EQ(store.stats().loads, 0u);
  executor->work();
  EXPECT_EQ(notified, 1);
  const auto found = store.find(wanted, 1);
  ASSERT_TRUE(found.hit);
  EXPECT_EQ(found.hit->length, 2u);
  EXPECT_EQ(found.hit->parked->bytes, bytes_of(Tokens{1, 2, 3}, 100));
  EXPECT_EQ(store.stats().loads, 1u);

  executor->takes = false;
  const auto nothing = store.find(Tokens{4, 5}, 1);
  EXPECT_FALSE(nothing.hit || nothing.coming) << "without a thread it isn't read";
  EXPECT_EQ(store.stats().on_disk_only, 1u) << "but may be another time";
}

TEST_F(ParkedAside, WhatAChoreCannotReadIsForgotten) {
  save({{1, 2, 3}, {4, 5}});
  const auto executor = std::make_shared<test::HeldExecutor>();
  ParkedStoreOptions with_chores = options();
  with_chores.disk = with_chores.executor = executor;
  {
    ParkedStore store(with_chores);
    ASSERT_TRUE(store.open());
    EXPECT_TRUE(store.find(Tokens{1, 2}, 1).coming);
    flip(folder_ / parked_name(kFingerprint, Tokens{1, 2, 3}), parked_file_bytes(kFingerprint, parked({1, 2, 3})) - 1);
    executor->work();
    const auto found = store.find(Tokens{1, 2}, 1);
    EXPECT_FALSE(found.hit || found.coming);
    EXPECT_TRUE(store.find(Tokens{4, 5}, 1).coming);
  }
  executor->work();  // the store has gone
}

TEST_F(ParkedAside, AFileThatMemoryHasNoRoomForIsNotRead) {
  save({{1, 2, 3}});
  ParkedStoreOptions small = options();
  small.disk = small.executor = std::make_shared<test::HeldExecutor>();
  small.memory_bytes = 3 * sizeof(Token) + 50;
  ParkedStore store(small);
  ASSERT_TRUE(store.open());
  EXPECT_FALSE(store.find(Tokens{1, 2}, 1).coming);
}

}  // namespace
}  // namespace corral::engine
