#include "device/nvidia_smi.h"

#include <fstream>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "proc/fake_spawner.h"
#include "proc/process_test_support.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(NvidiaSmiOutput, OneLineForEachGpu) {
  const auto pools = parse_nvidia_smi(
      "0, NVIDIA H100 80GB HBM3, 81559, 0, 81008\n"
      "1, NVIDIA GeForce RTX 3090, 24576, 1433, 22818\n");
  ASSERT_TRUE(pools);
  EXPECT_EQ(*pools, (MemoryPools{{"gpu0", "NVIDIA H100 80GB HBM3", PoolKind::gpu, 81559 * kMiB, 81008 * kMiB},
                                 {"gpu1", "NVIDIA GeForce RTX 3090", PoolKind::gpu, 24576 * kMiB, 22818 * kMiB}}));
}

TEST(NvidiaSmiOutput, NameMayHoldCommasAndFreeMayBeMissing) {
  const auto pools = parse_nvidia_smi("10, A name, with a comma, 1000, 400, [N/A]\r\n");
  ASSERT_TRUE(pools);
  EXPECT_EQ(*pools, (MemoryPools{{"gpu10", "A name, with a comma", PoolKind::gpu, 1000 * kMiB, 600 * kMiB}}));
}

// Boards that share the machine's memory, a divided GPU seen from inside a container, a GPU that fell off the bus.
TEST(NvidiaSmiOutput, GpuThatDoesNotTellItsMemoryIsLeftOut) {
  for (const char* line : {
           "0, NVIDIA GB10, [N/A], [N/A], [N/A]",
           "0, Orin (nvgpu), [Not Supported], [Not Supported], [Not Supported]",
           "0, NVIDIA GB10, N/A, N/A, N/A",
           "0, NVIDIA A100-SXM4-80GB, [Insufficient Permissions], [Insufficient Permissions], [Insufficient "
           "Permissions]",
           "0, NVIDIA A100-SXM4-80GB, 81920, [N/A], [N/A]",
           "0, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]",
       }) {
    const auto alone = parse_nvidia_smi(line);
    ASSERT_TRUE(alone) << line;
    EXPECT_TRUE(alone->empty()) << line;
    const auto beside = parse_nvidia_smi(std::string(line) + "\n1, NVIDIA L4, 23034, 4, 22569\n");
    ASSERT_TRUE(beside);
    ASSERT_EQ(beside->size(), 1u) << line;
    EXPECT_EQ(beside->front().id, "gpu1");
  }
}

TEST(NvidiaSmiOutput, WhatIsNoSuchLine) {
  EXPECT_EQ(parse_nvidia_smi("").error().code, errc::absent);
  EXPECT_EQ(parse_nvidia_smi("\n \n").error().code, errc::absent);
  EXPECT_EQ(parse_nvidia_smi("No devices were found\n").error().code, errc::absent);
  for (const char* text : {
           "0, NVIDIA H100 80GB HBM3, 81559, 0",                     // cut off
           "0, NVIDIA H100 80GB HBM3, 81559, 0, ",                   // in the last field
           "0, NVIDIA H100 80GB HBM3, 81559 MiB, 0 MiB, 81008 MiB",  // units
           "index, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]",
           "Field \"memory.free\" is not a valid field to query.",
           "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
           "  MIG 1g.10gb     Device  0: (UUID: MIG-1)",
           "0, NVIDIA H100, -1, 0, -1",
           "0, NVIDIA H100, 99999999999999999999999, 0, 1",
       }) {
    const auto pools = parse_nvidia_smi(text);
    EXPECT_TRUE(!pools && pools.error().code == errc::malformed) << text;
  }
}

class NvidiaSmiTest : public testing::Test {
 protected:
  Result<MemoryPools> sample() {
    NvidiaSmiSource source(timers_, spawner_, {});
    return async::run_blocking(loop_, source.sample());
  }
  void play(std::function<void(proc::FakeProcess&)> what) {
    spawner_.script = [what](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      what(*process);
      co_return;
    };
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
};

TEST_F(NvidiaSmiTest, AsksForWhatItUnderstands) {
  play([](proc::FakeProcess& process) {
    process.print("0, NVIDIA L4, 23034, 4, 22569");
    process.print("a warning", true);
    process.exit(0);
  });
  const auto pools = sample();
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(pools->front().available, 22569 * kMiB);
  const std::vector<std::string> argv{"nvidia-smi", "--query-gpu=index,name,memory.total,memory.used,memory.free",
                                      "--format=csv,noheader,nounits"};
  EXPECT_EQ(spawner_.processes()[0]->spec().argv, argv);
}

TEST_F(NvidiaSmiTest, FailureCarriesItsText) {
  play([](proc::FakeProcess& process) {
    process.print(
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
        "latest NVIDIA driver is installed and running.");
    process.exit(9);
  });
  const auto failed = sample();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::failed);
  EXPECT_TRUE(failed.error().message.starts_with("exited with code 9: NVIDIA-SMI has failed"))
      << failed.error().message;
}

TEST_F(NvidiaSmiTest, ProgramThatIsNotThereIsAbsent) {
  spawner_.next_failure = Error(proc::make_error_code(proc::errc::program_not_found), "not there");
  EXPECT_EQ(sample().error().code, errc::absent);
}

TEST_F(NvidiaSmiTest, ProgramThatHangsIsKilled) {
  play([this](proc::FakeProcess& process) {
    process.print("0, NVIDIA L4, 23034, 4, 22569");
    loop_.post([this] { timers_.advance(Millis(10'000)); });
  });
  EXPECT_EQ(sample().error().code, errc::hangs);
  EXPECT_EQ(spawner_.processes()[0]->signals(), std::vector{SIGKILL});
}

using NvidiaSmiProcessTest = proc::RealProcesses;

TEST_F(NvidiaSmiProcessTest, RealProgram) {
  const auto program = std::filesystem::path(testing::TempDir()) / "corral-nvidia-smi";
  std::ofstream(program) << "#!/bin/sh\necho 0, \"$1\", 10, 4, 6\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  NvidiaSmiSource source(timers, spawner, {.program = program});
  const auto pools = async::run_blocking(loop, source.sample());
  std::filesystem::remove(program);
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(pools->front().available, 6 * kMiB);
}

TEST_F(NvidiaSmiProcessTest, MissingProgram) {
  NvidiaSmiSource source(timers, spawner, {.program = "corral-no-such-program"});
  EXPECT_EQ(async::run_blocking(loop, source.sample()).error().code, errc::absent);
}

}  // namespace
}  // namespace corral::device
