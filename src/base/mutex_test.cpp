#include "base/mutex.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace corral {
namespace {

class Counter {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  int count() const {
    const MutexLock lock(mutex_);
    return count_;
  }
  void wait_for_count(int count) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this, count]() REQUIRES(mutex_) { return count_ >= count; });
  }
  bool reaches(int count, std::chrono::milliseconds time) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, time, [this, count]() REQUIRES(mutex_) { return count_ >= count; });
  }
  bool reaches(int count, std::chrono::steady_clock::time_point end) {
    MutexLock lock(mutex_);
    return changed_.wait_until(lock, end, [this, count]() REQUIRES(mutex_) { return count_ >= count; });
  }
  // Another thread can add while the lock is open.
  int count_after_another_thread_has_added() {
    MutexLock lock(mutex_);
    lock.unlock();
    std::thread([this] { add(); }).join();
    lock.lock();
    return count_;
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST(MutexTest, OneThreadAtATimeHasTheLock) {
  Counter counter;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int k = 0; k < 1000; ++k) counter.add();
    });
  }
  threads.clear();
  EXPECT_EQ(counter.count(), 4000);
}

TEST(MutexTest, ALockCanBeOpenedAndClosed) {
  Counter counter;
  EXPECT_EQ(counter.count_after_another_thread_has_added(), 1);
  EXPECT_EQ(counter.count(), 1);
}

TEST(MutexTest, AWaitEndsWithItsPredicate) {
  Counter counter;
  const std::jthread other([&counter] {
    for (int k = 0; k < 3; ++k) counter.add();
  });
  counter.wait_for_count(3);
  EXPECT_EQ(counter.count(), 3);
}

TEST(MutexTest, AWaitWithALimitTellsWhetherThePredicateHolds) {
  using namespace std::chrono_literals;
  Counter counter;
  counter.add();
  EXPECT_TRUE(counter.reaches(1, 0ms));
  EXPECT_FALSE(counter.reaches(2, 1ms));
  EXPECT_TRUE(counter.reaches(1, std::chrono::steady_clock::now()));
  EXPECT_FALSE(counter.reaches(2, std::chrono::steady_clock::now()));
}

TEST(SharedMutexTest, ReadersShareAndAWriterIsAlone) {
  SharedMutex mutex;
  int value = 0;
  {
    const SharedLock here(mutex);
    int seen = -1;
    std::thread([&] {
      const SharedLock there(mutex);
      seen = value;
    }).join();
    EXPECT_EQ(seen, 0);
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        const ExclusiveLock lock(mutex);
        ++value;
      }
    });
  }
  threads.clear();
  const SharedLock lock(mutex);
  EXPECT_EQ(value, 4000);
}

}  // namespace
}  // namespace corral
