#include "engine/sample/sampler_pool.h"

#include <atomic>
#include <latch>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

TEST(SamplerPool, EachJobIsDoneOnceWhateverTheNumbers) {
  SamplerPool pool;
  for (std::uint32_t threads = 0; threads < 5; ++threads) {
    for (const std::uint32_t count : {0u, 1u, 2u, 3u, 7u, 100u}) {
      std::vector<std::atomic<int>> done(count);
      pool.run(count, threads, [&](std::uint32_t i) { ++done[i]; });
      for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i << " of " << count << ", " << threads;
    }
  }
}

// Each waits for the others: alone none would return.
TEST(SamplerPool, JobsGoSideBySide) {
  SamplerPool pool;
  for (int round = 0; round < 50; ++round) {
    std::latch together(3);
    pool.run(3, 3, [&](std::uint32_t) { together.arrive_and_wait(); });
  }
}

TEST(SamplerPool, NoMoreThreadsThanItMayHave) {
  SamplerPool pool;
  pool.run(8, 4, [](std::uint32_t) {});
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int round = 0; round < 50; ++round) {
    threads.clear();
    pool.run(20, 2, [&](std::uint32_t) {
      const std::scoped_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_LE(threads.size(), 2u);
  }
  threads.clear();
  pool.run(20, 1, [&](std::uint32_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

}  // namespace
}  // namespace corral::engine
