#include "fleet/base/free_disk.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "async/loop.h"

namespace corral::fleet {
namespace {

class FreeDiskTest : public testing::Test {
 protected:
  static constexpr Millis kShort{20}, kLong{60'000};
  std::uint64_t ask(FreeDisk& of) { return async::run_blocking(loop_, of.bytes()); }
  ~FreeDiskTest() override {
    for (auto* one : {&free_, &hasty_}) async::run_blocking(loop_, one->stop());
    disk_.finish();  // what hangs uses what is asked
  }
  std::uint64_t answer() {
    ++asked_;
    if (hangs_) wakes_.wait();
    return answer_;
  }

  std::promise<void> wake_;
  const std::shared_future<void> wakes_ = wake_.get_future().share();
  std::atomic<bool> hangs_ = false;
  std::atomic<int> asked_ = 0;
  std::atomic<std::uint64_t> answer_ = 7;
  async::Loop loop_;
  async::SystemTimers timers_;
  async::ThreadPool disk_{1};
  FreeDisk free_{loop_.executor(), disk_, timers_, [this] { return answer(); }, kLong};
  FreeDisk hasty_{loop_.executor(), disk_, timers_, [this] { return answer(); }, kShort};
};

TEST_F(FreeDiskTest, ItIsAskedEachTime) {
  EXPECT_EQ(ask(free_), 7u);
  answer_ = 8;
  EXPECT_EQ(ask(free_), 8u);
}

TEST_F(FreeDiskTest, ADiskThatHangsHoldsNobodyUpAndIsAskedOnce) {
  while (ask(hasty_) != 7) {
  }
  const int before = asked_;
  hangs_ = true;
  answer_ = 9;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(hasty_), 7u) << "as it was known";
  EXPECT_LE(asked_, before + 1);
  hangs_ = false;
  wake_.set_value();
  while (ask(hasty_) != 9) {
  }
}

TEST_F(FreeDiskTest, WhoEndsWaitsForNoDisk) {
  hangs_ = true;
  EXPECT_EQ(ask(hasty_), 0u);
  async::run_blocking(loop_, hasty_.stop());
  wake_.set_value();
}

}  // namespace
}  // namespace corral::fleet
