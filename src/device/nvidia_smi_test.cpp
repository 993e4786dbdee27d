#include "device/nvidia_smi.h"

#include <cctype>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "proc/fake_spawner_for_tests.h"
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

TEST(NvidiaSmiOutput, SaysWhatAGpuIs) {
  const auto pools = parse_nvidia_smi(
      "0, 00000000:C1:00.0, GPU-3f1c2d7e-64f0-9b8a-0f8e-0a6a1c1c1c1c, NVIDIA H100 80GB HBM3, 81559, 0, 81008\n");
  ASSERT_TRUE(pools);
  EXPECT_EQ(*pools, (MemoryPools{{"gpu0", "NVIDIA H100 80GB HBM3", PoolKind::gpu, 81559 * kMiB, 81008 * kMiB,
                                  "00000000:C1:00.0", "GPU-3f1c2d7e-64f0-9b8a-0f8e-0a6a1c1c1c1c"}}));
}

TEST(NvidiaSmiOutput, NameMayHoldCommasAndFreeMayBeMissing) {
  const auto pools = parse_nvidia_smi("10, A name, with a comma, 1000, 400, [N/A]\r\n");
  ASSERT_TRUE(pools);
  EXPECT_EQ(*pools, (MemoryPools{{"gpu10", "A name, with a comma", PoolKind::gpu, 1000 * kMiB, 600 * kMiB}}));
}

// What real drivers print for GPUs without memory of their own, and in trouble. `error`: what is said when such a GPU
// is alone; "" where nothing is wrong.
TEST(NvidiaSmiOutput, GpuThatDoesNotTellItsMemoryIsLeftOut) {
  struct Case {
    const char* line;
    const char* error = "";
  };
  constexpr Case kCases[] = {
      {"0, NVIDIA GB10, [N/A], [N/A], [N/A]"},
      {"0, NVIDIA Thor, [N/A], [N/A], [N/A]"},
      {"0, Orin (nvgpu), [N/A], [N/A], [N/A]"},
      {"0, Orin (nvgpu), [Not Supported], [Not Supported], [Not Supported]"},
      {"0, NVIDIA GB10, N/A, N/A, N/A"},
      {"0, NVIDIA A100-SXM4-80GB, 81920, [N/A], [N/A]"},
      {"0, NVIDIA A100-SXM4-80GB, [Insufficient Permissions], [Insufficient Permissions], [Insufficient Permissions]",
       "can't read the memory of a GPU: [Insufficient Permissions]"},
      {"0, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]",
       "can't read the memory of a GPU: [GPU is lost]"},
      {"0, NVIDIA RTX A4000, [Unknown Error], [Unknown Error], [Unknown Error]",
       "can't read the memory of a GPU: [Unknown Error]"},
      {"0, NVIDIA H100 80GB HBM3, 81559, [GPU requires reset], [GPU requires reset]",
       "can't read the memory of a GPU: [GPU requires reset]"},
  };
  for (const auto& now : kCases) {
    const auto alone = parse_nvidia_smi(now.line);
    EXPECT_EQ(alone ? "" : alone.error().message, now.error) << now.line;
    EXPECT_TRUE(alone ? alone->empty() : alone.error().code == errc::failed) << now.line;
    const auto beside = parse_nvidia_smi(std::string(now.line) + "\n1, NVIDIA L4, 23034, 4, 22569\n");
    ASSERT_TRUE(beside);
    ASSERT_EQ(beside->size(), 1u) << now.line;
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
    process.print("0, 00000000:C1:00.0, GPU-3f1c2d7e, NVIDIA L4, 23034, 4, 22569");
    process.print("a warning", true);
    process.exit(0);
  });
  const auto pools = sample();
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(pools->front().available, 22569 * kMiB);
  const std::vector<std::string> argv{"nvidia-smi",
                                      "--query-gpu=index,pci.bus_id,uuid,name,memory.total,memory.used,memory.free",
                                      "--format=csv,noheader,nounits"};
  EXPECT_EQ(spawner_.processes()[0]->spec().argv, argv);
}

// Output and exit code of the real program on machines in such a state.
TEST_F(NvidiaSmiTest, AnswersOfRealDrivers) {
  struct Case {
    std::vector<const char*> lines;
    int code;
    const char* pools;  // "gpu0:MiB available"
    const char* error = "";
    errc cause = errc::failed;
  };
  const std::vector<Case> cases = {
      {{"0, GeForce GTX TITAN X, 12206, 802, 11404", "1, GeForce GTX TITAN X, 12206, 10032, 2174"},
       0,
       "gpu0:11404 gpu1:2174"},
      {{"0, NVIDIA GeForce GTX 1050 Ti, 4096, 1965, 2131", "1, NVIDIA GeForce RTX 3080 Ti, 16384, 384, 16000"},
       0,
       "gpu0:2131 gpu1:16000"},
      {{"0, NVIDIA GB10, [N/A], [N/A], [N/A]"}, 0, ""},
      // A GPU that fell off the bus: told by a line of its own, or by the number that is missing, with either code.
      {{"Unable to determine the device handle for GPU1: 0000:04:00.0: Unknown Error",
        "0, NVIDIA GeForce RTX 3080, 10240, 1, 10007", "2, NVIDIA GeForce RTX 3080, 10240, 1, 10007"},
       0,
       "gpu0:10007 gpu2:10007"},
      {{"0, NVIDIA GeForce RTX 3080, 10240, 1, 10007",
        "Unable to determine the device handle for GPU1: 0000:04:00.0: Unknown Error"},
       255,
       "gpu0:10007"},
      {{"Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error"},
       255,
       "",
       "exited with code 255: Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error"},
      {{"0, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]"},
       15,
       "",
       "exited with code 15: 0, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]"},
      {{"No devices were found"}, 6, "", "no NVIDIA GPU", errc::absent},
      {{"No devices were found"}, 0, "", "no NVIDIA GPU", errc::absent},
      {{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA "
        "driver is installed and running."},
       9,
       "",
       "exited with code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
       "that the latest NVIDIA driver is installed and running."},
      {{"Failed to initialize NVML: Driver/library version mismatch", "NVML library version: 580.173"},
       18,
       "",
       "exited with code 18: Failed to initialize NVML: Driver/library version mismatch\nNVML library version: "
       "580.173"},
      {{"Failed to initialize NVML: Unknown Error"},
       255,
       "",
       "exited with code 255: Failed to initialize NVML: Unknown Error"},
      {{"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display "
        "Driver is properly installed and present in your system."},
       12,
       "",
       "exited with code 12: NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that "
       "the NVIDIA Display Driver is properly installed and present in your system."},
      {{"Field \"memory.free\" is not a valid field to query."},
       2,
       "",
       "exited with code 2: Field \"memory.free\" is not a valid field to query."},
      {{}, 1, "", "exited with code 1: "},
  };
  for (const bool on_stderr : {false, true}) {
    for (const auto& now : cases) {
      SCOPED_TRACE(now.lines.empty() ? "nothing" : now.lines.front());
      play([&](proc::FakeProcess& process) {
        for (const char* line : now.lines) process.print(line, on_stderr && !std::isdigit(line[0]));
        process.exit(now.code);
      });
      const auto pools = sample();
      std::string listed;
      for (const auto& pool : pools.value_or(MemoryPools{}))
        listed += fmt::format("{}{}:{}", listed.empty() ? "" : " ", pool.id, pool.available / kMiB);
      EXPECT_EQ(listed, now.pools);
      EXPECT_EQ(pools ? "" : pools.error().message, now.error);
      EXPECT_TRUE(pools || pools.error().code == now.cause);
    }
  }
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
