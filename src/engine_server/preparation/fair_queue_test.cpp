#include "engine_server/preparation/fair_queue.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace corral::engine_server {
namespace {

using ::testing::ElementsAre;

FairQueue::Ticket enter(FairQueue& queue, const std::string& client, std::uint64_t bytes = 1, Lane lane = Lane::heavy) {
  const auto ticket = queue.enter(lane, client, bytes);
  EXPECT_TRUE(ticket);
  return ticket.value_or(0);
}

std::vector<FairQueue::Ticket> order(FairQueue& queue, Lane lane = Lane::heavy) {
  std::vector<FairQueue::Ticket> all;
  while (const auto next = queue.next(lane)) all.push_back(*next);
  return all;
}

// One client's many used to stand before everybody else's.
TEST(FairQueue, ClientsTakeTurns) {
  FairQueue queue({});
  const auto a1 = enter(queue, "a"), a2 = enter(queue, "a"), a3 = enter(queue, "a");
  const auto b1 = enter(queue, "b"), c1 = enter(queue, "c"), b2 = enter(queue, "b");
  EXPECT_THAT(order(queue), ElementsAre(a1, b1, c1, a2, b2, a3));
}

TEST(FairQueue, WhoComesNewWaitsForOneJobOfEachOther) {
  FairQueue queue({});
  for (int i = 0; i < 10; ++i) enter(queue, "a");
  for (int i = 0; i < 10; ++i) enter(queue, "b");
  queue.next(Lane::heavy);
  const auto late = enter(queue, "c");
  queue.next(Lane::heavy);
  queue.next(Lane::heavy);
  EXPECT_EQ(queue.next(Lane::heavy), late);
}

TEST(FairQueue, OfAClientsHeavyJobsSmallerAndOlderComeFirst) {
  FairQueue queue({});
  const auto large = enter(queue, "a", 8 << 20), small = enter(queue, "a", 1000), later = enter(queue, "a", 1000);
  EXPECT_THAT(order(queue), ElementsAre(small, later, large));
  const auto first = enter(queue, "a", 1 << 20);
  for (int i = 0; i < 5; ++i) enter(queue, "a", 0);
  auto all = order(queue);
  EXPECT_EQ(std::ranges::find(all, first) - all.begin(), 3);  // in time it comes, however many small ones come
}

TEST(FairQueue, QuickJobsComeInTheirOrder) {
  FairQueue queue({});
  const auto large = enter(queue, "a", 60'000, Lane::quick), small = enter(queue, "a", 10, Lane::quick);
  const auto heavy = enter(queue, "a", 1, Lane::heavy);
  EXPECT_TRUE(queue.waits(Lane::quick));
  EXPECT_THAT(order(queue, Lane::quick), ElementsAre(large, small));
  EXPECT_FALSE(queue.waits(Lane::quick));
  EXPECT_THAT(order(queue, Lane::heavy), ElementsAre(heavy));
}

TEST(FairQueue, WhoLeavesIsForgotten) {
  FairQueue queue({});
  const auto gone = enter(queue, "a", 5), stays = enter(queue, "b", 7), runs = enter(queue, "c", 9);
  EXPECT_TRUE(queue.leave(gone));
  EXPECT_FALSE(queue.leave(gone));
  EXPECT_EQ(queue.next(Lane::heavy), stays);
  EXPECT_EQ(queue.next(Lane::heavy), runs);
  EXPECT_FALSE(queue.next(Lane::heavy));
  EXPECT_EQ(queue.numbers().jobs, 2u);
  EXPECT_EQ(queue.numbers().bytes, 16u);
  queue.leave(runs);
  queue.leave(stays);
  EXPECT_EQ(queue.numbers().jobs, 0u);
  EXPECT_EQ(queue.numbers().bytes, 0u);
}

// One client's 1,024 jobs used to fill the queue for everybody.
TEST(FairQueue, ThereIsAlwaysRoomForAnotherClient) {
  FairQueue queue({.jobs = 12, .bytes = 1000});
  const auto fill = [&](const std::string& client) {
    int taken = 0;
    while (true) {
      const auto ticket = queue.enter(Lane::heavy, client, 1);
      if (!ticket) {
        EXPECT_TRUE(ticket.error().share);
        EXPECT_EQ(ticket.error().held.jobs, static_cast<std::size_t>(taken));
        return taken;
      }
      ++taken;
    }
  };
  EXPECT_EQ(fill("a"), 6);
  EXPECT_EQ(fill("b"), 3);
  EXPECT_EQ(fill("c"), 2);
  enter(queue, "d");
  const auto full = queue.enter(Lane::heavy, "e", 1);
  ASSERT_FALSE(full);
  EXPECT_FALSE(full.error().share);
  EXPECT_EQ(full.error().held.jobs, 12u);
}

TEST(FairQueue, BytesAreSharedToo) {
  FairQueue queue({.jobs = 100, .bytes = 100});
  enter(queue, "a", 500);  // the first of all is taken however large
  EXPECT_FALSE(queue.enter(Lane::heavy, "b", 1));
  queue.leave(*queue.next(Lane::heavy));
  enter(queue, "a", 30);
  enter(queue, "a", 20);
  const auto mine = queue.enter(Lane::heavy, "a", 1);
  ASSERT_FALSE(mine);
  EXPECT_TRUE(mine.error().share);
  EXPECT_EQ(mine.error().held.bytes, 50u);
  enter(queue, "b", 50);
}

TEST(FairQueue, NothingIsLostInAnyOrder) {
  std::mt19937 random(5);
  FairQueue queue({.jobs = 40, .bytes = 4000});
  std::vector<FairQueue::Ticket> held;
  std::uint64_t bytes = 0;
  std::map<FairQueue::Ticket, std::uint64_t> sizes;
  for (int step = 0; step < 200'000; ++step) {
    const auto lane = random() % 2 ? Lane::quick : Lane::heavy;
    switch (random() % 3) {
      case 0: {
        const std::uint64_t size = random() % 200;
        if (const auto ticket = queue.enter(lane, std::string(1, static_cast<char>('a' + random() % 6)), size)) {
          held.push_back(*ticket);
          sizes[*ticket] = size;
          bytes += size;
        }
        break;
      }
      case 1:
        queue.next(lane);
        break;
      default:
        if (held.empty()) break;
        const auto at = random() % held.size();
        ASSERT_TRUE(queue.leave(held[at]));
        bytes -= sizes[held[at]];
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_EQ(queue.numbers().jobs, held.size());
    ASSERT_EQ(queue.numbers().bytes, bytes);
    ASSERT_LE(held.size(), 40u);
  }
}

}  // namespace
}  // namespace corral::engine_server
