#include "engine/sample/sample_team.h"

#include <atomic>
#include <latch>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

TEST(SampleTeam, EachJobIsDoneOnceWhateverTheNumbers) {
  SampleTeam team;
  for (std::uint32_t threads = 0; threads < 5; ++threads) {
    for (const std::uint32_t count : {0u, 1u, 2u, 3u, 7u, 100u}) {
      std::vector<std::atomic<int>> done(count);
      team.run(count, threads, [&](std::uint32_t i) { ++done[i]; });
      for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i << " of " << count << ", " << threads;
    }
  }
}

// Each waits for the others: alone none would return.
TEST(SampleTeam, JobsGoSideBySide) {
  SampleTeam team;
  for (int round = 0; round < 50; ++round) {
    std::latch together(3);
    team.run(3, 3, [&](std::uint32_t) { together.arrive_and_wait(); });
  }
}

TEST(SampleTeam, NoMoreThreadsThanItMayHave) {
  SampleTeam team;
  team.run(8, 4, [](std::uint32_t) {});
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int round = 0; round < 50; ++round) {
    threads.clear();
    team.run(20, 2, [&](std::uint32_t) {
      const std::scoped_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_LE(threads.size(), 2u);
  }
  threads.clear();
  team.run(20, 1, [&](std::uint32_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

}  // namespace
}  // namespace corral::engine
