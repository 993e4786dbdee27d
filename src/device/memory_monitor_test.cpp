#include "device/memory_monitor.h"

#include "async/loop.h"
#include "device/either_source.h"
#include "device/files_for_tests.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

// GPUs that are played: answers as told, or not at all.
class PlayedSource final : public PoolSource {
 public:
  struct Play {
    Result<MemoryPools> answer;
    bool hangs = false;
    unsigned asked = 0;
    async::Event released;
    explicit Play(async::Executor executor)
        : answer(MemoryPools{{"gpu0", "played", PoolKind::gpu, 8, 5}}), released(executor) {}
  };
  explicit PlayedSource(Play& play) : play_(play) {}
  std::string_view name() const override { return "played"; }
  async::Task<Result<MemoryPools>> sample() override {
    ++play_.asked;
    if (play_.hangs) co_await play_.released.wait();
    co_return play_.answer;
  }

 private:
  Play& play_;
};

class MemoryMonitorTest : public FilesForTests {
 protected:
  MemoryMonitorTest() {
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n");
    PoolSources sources;
    sources.push_back(std::make_unique<PlayedSource>(play_));
    monitor_.emplace(
        loop_.executor(), timers_,
        MemoryMonitorOptions{.ram = {.root = root_}, .first_pause = Millis(1'000), .last_pause = Millis(4'000)},
        std::move(sources));
  }
  ~MemoryMonitorTest() override { async::run_blocking(loop_, monitor_->stop()); }

  // What runs gets as far as it can.
  void settle() {
    loop_.context().restart();
    loop_.context().poll();
  }
  void pass(Millis time) {
    timers_.advance(time);
    settle();
  }
  // "ram gpu0", or "" when there is none yet.
  static std::string ids(const MemoryPools& pools) {
    std::string text;
    for (const auto& pool : pools) text += (text.empty() ? "" : " ") + pool.id;
    return text;
  }
  std::string sampled() {
    auto pools = async::run_blocking(loop_, monitor_->sample());
    return ids(pools);
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  PlayedSource::Play play_{loop_.executor()};
  std::optional<MemoryMonitor> monitor_;
};

TEST_F(MemoryMonitorTest, SamplesRamAndGpus) {
  const auto pools = async::run_blocking(loop_, monitor_->sample());
  ASSERT_EQ(ids(pools), "ram gpu0");
  EXPECT_EQ(pools[0].available, 6 * kGiB);
  EXPECT_EQ(pools[1].available, 5u);
  EXPECT_EQ(monitor_->ram(), pools[0]);
}

// A GPU that wakes up takes longer than a sample waits.
TEST_F(MemoryMonitorTest, TheFirstAnswerOfASlowDriverIsWaitedFor) {
  play_.hangs = true;
  bool answered = false;
  async::TaskGroup asking(loop_.executor());
  asking.spawn("first answers", [](MemoryMonitor& monitor, bool& finished) -> async::Task<void> {
    co_await monitor.first_answers();
    finished = true;
  }(*monitor_, answered));
  pass(Millis(5'000));
  EXPECT_FALSE(answered);
  play_.released.set();
  settle();
  EXPECT_TRUE(answered);
  play_.released.reset();
  play_.hangs = false;
  EXPECT_EQ(sampled(), "ram gpu0");
  // Once is enough.
  play_.hangs = true;
  async::run_blocking(loop_, monitor_->first_answers());
  play_.released.set();
  async::run_blocking(loop_, asking.join());
}

TEST_F(MemoryMonitorTest, AFailureIsAnAnswerToo) {
  play_.answer = fail(errc::failed, "a bad day");
  async::run_blocking(loop_, monitor_->first_answers());
  EXPECT_EQ(play_.asked, 1u);
}

TEST_F(MemoryMonitorTest, FailedGpusAreAskedAgainAfterGrowingPauses) {
  EXPECT_EQ(sampled(), "ram gpu0");
  play_.answer = fail(errc::failed, "GPU is lost");
  EXPECT_EQ(sampled(), "ram");
  for (const int pause : {1'000, 2'000, 4'000, 4'000}) {
    const auto asked = play_.asked;
    pass(Millis(pause - 1));
    EXPECT_EQ(sampled(), "ram");
    EXPECT_EQ(play_.asked, asked) << "within a pause of " << pause;
    pass(Millis(1));
    EXPECT_EQ(sampled(), "ram");
    EXPECT_EQ(play_.asked, asked + 1);
  }
  play_.answer = MemoryPools{{"gpu0", "played", PoolKind::gpu, 8, 5}};
  pass(Millis(4'000));
  EXPECT_EQ(sampled(), "ram gpu0");
  play_.answer = fail(errc::malformed, "junk");
  EXPECT_EQ(sampled(), "ram");
  pass(Millis(1'000));
  play_.answer = MemoryPools{};
  EXPECT_EQ(sampled(), "ram") << "after a success the first pause is short again";
}

TEST_F(MemoryMonitorTest, AbsentGpusAreLookedForSeldom) {
  play_.answer = fail(errc::absent, "none");
  EXPECT_EQ(sampled(), "ram");
  pass(Millis(3'999));
  EXPECT_EQ(sampled(), "ram");
  EXPECT_EQ(play_.asked, 1u);
  pass(Millis(1));
  EXPECT_EQ(sampled(), "ram");
  EXPECT_EQ(play_.asked, 2u);
}

TEST_F(MemoryMonitorTest, GpusThatAreLateHoldNobodyUp) {
  EXPECT_EQ(sampled(), "ram gpu0");
  play_.hangs = true;
  play_.answer = MemoryPools{{"gpu0", "played", PoolKind::gpu, 8, 1}};
  std::vector<MemoryPools> got;
  async::TaskGroup group(loop_.executor());
  auto sample = [&]() -> async::Task<void> { got.push_back(co_await monitor_->sample()); };
  group.spawn("first", sample());
  group.spawn("second", sample());
  settle();
  EXPECT_EQ(play_.asked, 2u) << "one question for both";
  EXPECT_TRUE(got.empty());
  pass(Millis(250));
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(ids(got[0]), "ram gpu0");
  EXPECT_EQ(got[0][1].available, 5u) << "its last answer";
  play_.released.set();
  settle();
  play_.hangs = false;
  EXPECT_EQ(async::run_blocking(loop_, monitor_->sample())[1].available, 1u);
}

TEST_F(MemoryMonitorTest, WatchesWhileToldTo) {
  std::vector<std::string> seen;
  const auto look = [&](const MemoryPools& pools) { seen.push_back(ids(pools)); };
  EXPECT_FALSE(monitor_->watching());
  monitor_->watch(Millis(500), look);
  settle();
  EXPECT_TRUE(monitor_->watching());
  ASSERT_EQ(seen, (std::vector<std::string>{"ram gpu0"}));
  pass(Millis(499));
  EXPECT_EQ(seen.size(), 1u);
  pass(Millis(1));
  EXPECT_EQ(seen.size(), 2u);
  play_.answer = fail(errc::failed, "GPU is lost");
  pass(Millis(500));
  EXPECT_EQ(seen.back(), "ram");
  monitor_->unwatch();
  settle();
  EXPECT_FALSE(monitor_->watching());
  EXPECT_EQ(timers_.sleepers(), 0u) << "nothing runs";
  const auto asked = play_.asked;
  pass(Millis(60'000));
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(play_.asked, asked);
}

TEST_F(MemoryMonitorTest, WatcherMayEndOrReplaceTheWatch) {
  unsigned first = 0, second = 0;
  monitor_->watch(Millis(500), [&](const MemoryPools&) {
    ++first;
    monitor_->watch(Millis(100), [&](const MemoryPools&) {
      if (++second == 2) monitor_->unwatch();
    });
  });
  settle();
  for (int i = 0; i < 10; ++i) pass(Millis(100));
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 2u);
  EXPECT_EQ(timers_.sleepers(), 0u);
}

class EitherSourceTest : public testing::Test {
 protected:
  // "first", "second", or the cause.
  std::string asked(std::optional<errc> first, std::optional<errc> second) {
    const auto make = [&](PlayedSource::Play& play, const char* id, std::optional<errc> cause) {
      play.answer = cause ? Result<MemoryPools>(fail(*cause, id)) : MemoryPools{{id, "", PoolKind::gpu, 1, 1}};
      return std::make_unique<PlayedSource>(play);
    };
    PlayedSource::Play one(loop_.executor()), two(loop_.executor());
    EitherSource source(make(one, "first", first), make(two, "second", second));
    const auto pools = async::run_blocking(loop_, source.sample());
    return pools ? pools->front().id : pools.error().message + " fails";
  }
  async::Loop loop_;
};

TEST_F(EitherSourceTest, TakesTheSecondWhenTheFirstFails) {
  EXPECT_EQ(asked({}, {}), "first");
  EXPECT_EQ(asked(errc::absent, {}), "second");
  EXPECT_EQ(asked(errc::hangs, {}), "second");
  EXPECT_EQ(asked(errc::failed, errc::absent), "first fails");
  EXPECT_EQ(asked(errc::failed, errc::failed), "second fails");
  EXPECT_EQ(asked(errc::absent, errc::failed), "second fails");
}

}  // namespace
}  // namespace corral::device
