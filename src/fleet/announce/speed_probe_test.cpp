#include "fleet/announce/speed_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpeedProbe, ReadsWhatTheChildSays) {
  EXPECT_EQ(parse_speed("q8_0 8000000000"), (mesh::WeightSpeed{"q8_0", 8'000'000'000}));
  for (const auto* line :
       {"", " ", "q8_0", "q8_0 ", " 7", "q8_0 0", "q8_0 -1", "q8_0 7x", "q8_0  7", "q8_0 99999999999999999999999999"}) {
    EXPECT_EQ(parse_speed(line), std::nullopt) << line;
  }
}

class SpeedProbeTest : public testing::Test {
 protected:
  std::vector<mesh::WeightSpeed> measured(std::function<void(proc::FakeProcess&)> act) {
    spawner_.script = [act = std::move(act)](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      act(*process);
      co_return;
    };
    return async::run_blocking(loop_, measure_speeds({spawner_, timers_, "/bin/corral", 3}));
  }
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
};

TEST_F(SpeedProbeTest, TellsWhatAChildHasMeasured) {
  const auto speeds = measured([](auto& process) {
    process.print("q8_0 8000");
    process.print("what is this");
    process.print("f16 9000");
    process.exit(0);
  });
  EXPECT_THAT(speeds, ElementsAre(mesh::WeightSpeed{"q8_0", 8000}, mesh::WeightSpeed{"f16", 9000}));
  EXPECT_THAT(spawner_.processes()[0]->spec().argv, ElementsAre("/bin/corral", "measure-speed", "3"));
}

TEST_F(SpeedProbeTest, AChildThatFailsHasMeasuredNothing) {
  EXPECT_THAT(measured([](auto& process) {
                process.print("q8_0 8000");
                process.exit(1);
              }),
              IsEmpty());
}

TEST(SpeedProbe, TheFasterOfTwoCounts) {
  EXPECT_THAT(best_of({{"q8_0", 5}, {"f16", 9}}, {{"q4_K", 3}, {"q8_0", 8}}),
              ElementsAre(mesh::WeightSpeed{"q8_0", 8}, mesh::WeightSpeed{"f16", 9}, mesh::WeightSpeed{"q4_K", 3}));
}

// What each measurement finds, in turn; then nothing.
class KeepMeasuring : public testing::Test {
 protected:
  ~KeepMeasuring() override {
    tasks_.cancel();
    poll();
  }
  void begin(std::vector<std::uint64_t> finds) {
    finds_ = std::move(finds);
    const auto measure = [this] { return measured(); };
    const auto report = [this](const std::vector<mesh::WeightSpeed>& speeds) {
      reported_.push_back(speeds.front().bytes_per_second);
    };
    tasks_.spawn("measuring", keep_measuring(timers_, measure, report));
    poll();
  }
  async::Task<std::vector<mesh::WeightSpeed>> measured() {
    const auto at = static_cast<std::size_t>(tries_++);
    std::vector<mesh::WeightSpeed> found;
    if (at < finds_.size() && finds_[at] > 0) found.push_back({"q8_0", finds_[at]});
    co_return found;
  }
  void pass(Millis time) {
    timers_.advance(time);
    poll();
  }
  void poll() {
    loop_.context().restart();
    loop_.context().poll();
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  std::vector<std::uint64_t> finds_, reported_;
  int tries_ = 0;
  async::TaskGroup tasks_{loop_.executor()};
};

TEST_F(KeepMeasuring, TheBestOfTwoIsToldAndThenNothingIsMeasured) {
  begin({5, 8, 9});
  EXPECT_THAT(reported_, ElementsAre(5));
  pass(Millis(60'000));
  EXPECT_THAT(reported_, ElementsAre(5, 8));
  pass(Millis(86'400'000));
  EXPECT_EQ(tries_, 2);
  EXPECT_EQ(tasks_.running(), 0u);
}

TEST_F(KeepMeasuring, WhatWasBusyTheSecondTimeKeepsTheFirst) {
  begin({8, 5});
  pass(Millis(60'000));
  EXPECT_THAT(reported_, ElementsAre(8, 8));
}

TEST_F(KeepMeasuring, AFailureIsTriedAgainLaterAndLater) {
  begin({0, 0, 0, 7, 9});
  pass(Millis(60'000));
  EXPECT_EQ(tries_, 2);
  pass(Millis(60'000));
  EXPECT_EQ(tries_, 2);
  pass(Millis(60'000));
  EXPECT_EQ(tries_, 3);
  pass(Millis(240'000));
  EXPECT_THAT(reported_, ElementsAre(7));
  pass(Millis(60'000));
  EXPECT_THAT(reported_, ElementsAre(7, 9));
}

TEST_F(KeepMeasuring, ItGivesUpAtLast) {
  begin({});
  for (int hours = 0; hours < 48; ++hours) pass(Millis(3'600'000));
  EXPECT_EQ(tries_, 10);
  EXPECT_EQ(tasks_.running(), 0u);
}

}  // namespace
}  // namespace corral::fleet
