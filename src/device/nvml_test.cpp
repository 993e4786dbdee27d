// The driver's library, through dlopen, in the shape of fake_nvml_main.cpp.
#include "device/nvml.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "base/unique_fd.h"
#include "device/driver_source.h"
#include "proc/exec_mode.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

class NvmlTest : public testing::Test {
 protected:
  ~NvmlTest() override { ::unsetenv("CORRAL_FAKE_NVML"); }
  static void behave(const std::string& how) { ::setenv("CORRAL_FAKE_NVML", how.c_str(), 1); }
  static NvmlOptions library(const char* name) { return {proc::own_program().parent_path() / name}; }

  NvmlProbe probe_{library("libfake_nvml.so")};
};

TEST_F(NvmlTest, TellsEachGpu) {
  const auto pools = probe_.read();
  ASSERT_TRUE(pools) << pools.error().message;
  const MemoryPools expected{
      {"gpu0", "Fake GPU 0", PoolKind::gpu, 80 * kGiB, 70 * kGiB, "00000000:C1:00.0", "GPU-0ab-0"},
      {"gpu1", "Fake GPU 1", PoolKind::gpu, 80 * kGiB, 70 * kGiB, "00000001:C1:00.0", "GPU-0ab-1"}};
  EXPECT_EQ(*pools, expected);
  EXPECT_EQ(probe_.read().value(), expected);
}

TEST_F(NvmlTest, NoLibraryIsNoError) {
  NvmlProbe probe({"libcorral-no-such-library.so.1"});
  EXPECT_EQ(probe.read().error().code, errc::absent);
}

TEST_F(NvmlTest, LibraryWithoutAFunctionIsRefused) {
  NvmlProbe probe(library("libfake_nvml_old.so"));
  EXPECT_EQ(probe.read().error().code, errc::failed);
}

TEST_F(NvmlTest, StartsAnewAfterAFailure) {
  behave("init=9");
  const auto failed = probe_.read();
  EXPECT_EQ(failed.error().code, errc::failed);
  EXPECT_EQ(failed.error().message, "NVML doesn't start: Driver Not Loaded (9)");
  behave("count=999");
  EXPECT_EQ(probe_.read().error().code, errc::failed);
  behave("");
  EXPECT_EQ(probe_.read()->size(), 2u);
}

TEST_F(NvmlTest, LostGpuHidesOnlyItself) {
  behave("memory0=15");
  const auto pools = probe_.read();
  ASSERT_TRUE(pools);
  ASSERT_EQ(pools->size(), 1u);
  EXPECT_EQ(pools->front().id, "gpu1");
  behave("memory0=15,memory1=15");
  EXPECT_EQ(probe_.read().error().message, "NVML can't read the memory of a GPU: GPU is lost (15)");
}

TEST_F(NvmlTest, GpuWithoutMemoryOfItsOwnHasNoPool) {
  behave("memory0=3,memory1=3");
  const auto pools = probe_.read();
  ASSERT_TRUE(pools);
  EXPECT_TRUE(pools->empty());
}

// What real drivers answer on machines in such a state. "" for an answer without pools.
TEST_F(NvmlTest, AnswersOfRealDrivers) {
  struct Case {
    const char* machine;
    const char* behaviour;
    const char* pools;
    const char* error = "";
  };
  constexpr Case kCases[] = {
      {"the kernel module isn't loaded", "init=9", "", "NVML doesn't start: Driver Not Loaded (9)"},
      {"a container without the driver's files", "init=12", "",
       "NVML doesn't start: NVML Shared Library Not Found (12)"},
      {"the driver was updated under a loaded module", "init=18", "",
       "NVML doesn't start: Driver/library version mismatch (18)"},
      {"a container that lost its devices", "init=999", "", "NVML doesn't start: Unknown Error (999)"},
      {"a driver without a GPU", "gpus=0", "", "no NVIDIA GPU"},
      {"memory shared with the CPU, as GB10 and Jetson have it", "gpus=1,memory0=3", ""},
      {"one fell off the bus", "handle0=15", "gpu1"},
      {"one can't be reached", "handle1=999", "gpu0"},
      {"one needs a reset", "memory1=16", "gpu0"},
      {"the only one is lost", "gpus=1,handle0=15", "", "NVML can't read the memory of a GPU: GPU is lost (15)"},
      {"a divided GPU that nobody gave us a part of", "gpus=1,memory0=4", "",
       "NVML can't read the memory of a GPU: Insufficient Permissions (4)"},
      {"a divided GPU in a container with two parts", "gpus=1,mig", "gpu0-mig0 gpu0-mig1"},
  };
  for (const auto& now : kCases) {
    behave(now.behaviour);
    const auto pools = NvmlProbe(library("libfake_nvml.so")).read();
    EXPECT_EQ(pools ? "" : pools.error().message, now.error) << now.machine;
    std::string ids;
    for (const auto& pool : pools.value_or(MemoryPools{})) ids += (ids.empty() ? "" : " ") + pool.id;
    EXPECT_EQ(ids, now.pools) << now.machine;
  }
}

TEST_F(NvmlTest, DividedGpuIsSeenAsItsParts) {
  behave("mig");
  const auto pools = probe_.read();
  ASSERT_TRUE(pools);
  ASSERT_EQ(pools->size(), 3u);
  EXPECT_EQ((*pools)[0].id, "gpu0-mig0");
  EXPECT_EQ((*pools)[1].id, "gpu0-mig1");
  EXPECT_EQ((*pools)[2].id, "gpu1");
  EXPECT_EQ((*pools)[1].pci, "00000000:C1:00.0") << "of the whole";
  EXPECT_EQ((*pools)[1].uuid, "MIG-1fe-1") << "its own";
}

// A driver that hangs holds up nobody; when it comes back it is asked again.
TEST_F(NvmlTest, DriverThatHangsIsLeftAlone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  behave("wait=" + std::to_string(reader.get()));
  async::Loop loop;
  async::ManualTimers timers(loop.executor());
  DriverSource source(loop.executor(), timers, "NVIDIA", std::make_unique<NvmlProbe>(library("libfake_nvml.so")),
                      Millis(100));
  auto turn_clock = [&]() -> async::Task<void> {
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers.advance(Millis(100));
  };
  auto ask = [&]() -> async::Task<Result<MemoryPools>> { co_return co_await source.sample(); };
  async::TaskGroup beside(loop.executor());
  beside.spawn("clock", turn_clock());
  EXPECT_EQ(async::run_blocking(loop, ask()).error().code, errc::hangs);
  EXPECT_EQ(async::run_blocking(loop, ask()).error().code, errc::hangs) << "at once, no clock is turned";
  behave("");
  writer.reset();
  auto ask_until_back = [&]() -> async::Task<Result<MemoryPools>> {
    for (;;) {
      auto pools = co_await source.sample();
      if (pools) co_return pools;
      co_await async::asio::post(async::use_task);
    }
  };
  EXPECT_EQ(async::run_blocking(loop, ask_until_back())->size(), 2u);
}

// The owner, the loop with it, may go while the driver still hangs.
TEST_F(NvmlTest, OwnerMayGoWhileTheDriverHangs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  {
    async::Loop loop;
    async::ManualTimers timers(loop.executor());
    DriverThread thread(loop.executor(), timers);
    auto hang = [&]() -> async::Task<std::optional<int>> {
      co_return co_await thread.run(Millis(1), [fd = reader.get()] {
        char byte = 0;
        return static_cast<int>(::read(fd, &byte, 1));
      });
    };
    auto turn_clock = [&]() -> async::Task<void> {
      while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
      timers.advance(Millis(1));
    };
    async::TaskGroup beside(loop.executor());
    beside.spawn("clock", turn_clock());
    EXPECT_EQ(async::run_blocking(loop, hang()), std::nullopt);
    EXPECT_TRUE(thread.busy());
  }
  const UniqueFd writer(ends[1]);  // its end wakes the thread
}

}  // namespace
}  // namespace corral::device
