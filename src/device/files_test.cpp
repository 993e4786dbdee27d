// What is read from /proc: RAM, processes.
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "device/files_for_tests.h"
#include "device/process_memory.h"
#include "device/process_work.h"
#include "device/ram.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1ull << 30;

const std::uint64_t kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

using RamTest = FilesForTests;

TEST_F(RamTest, IsWhatTheMachineHas) {
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n");
  EXPECT_EQ(read_ram({.root = root_}), (MemoryPool{"ram", "RAM", PoolKind::ram, 8 * kGiB, 6 * kGiB}));
}

TEST_F(RamTest, LimitLeavesWhatOurProcessesDoNotUse) {
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n");
  const auto pid = std::to_string(::getpid());
  write("proc/" + pid + "/statm", std::to_string(1000 * kMiB / kPage) + " " + std::to_string(300 * kMiB / kPage) + " " +
                                      std::to_string(100 * kMiB / kPage) + " 1 0 1 0\n");
  write("proc/" + pid + "/task/" + pid + "/children", "71 ");
  write("proc/71/statm",
        std::to_string(500 * kMiB / kPage) + " " + std::to_string(400 * kMiB / kPage) + " 0 1 0 1 0\n");
  const auto limited = read_ram({.root = root_, .limit = kGiB});
  EXPECT_EQ(limited.total, kGiB);
  EXPECT_EQ(limited.available, kGiB - 600 * kMiB);
  EXPECT_EQ(read_ram({.root = root_, .limit = 500 * kMiB}).available, 0u) << "used up and more";
  EXPECT_EQ(read_ram({.root = root_, .limit = 7 * kGiB}).available, 6 * kGiB) << "the machine has less";
  EXPECT_EQ(read_ram({.root = root_, .limit = 9 * kGiB}).total, 8 * kGiB) << "a limit above the machine is none";
}

TEST_F(RamTest, LimitHoldsWhereTheMachineIsUnknown) {
  EXPECT_EQ(read_ram({.root = root_}).total, 0u);
  EXPECT_EQ(read_ram({.root = root_, .limit = kGiB}), (MemoryPool{"ram", "RAM", PoolKind::ram, kGiB, kGiB}));
}

using ProcessMemoryTest = FilesForTests;

TEST_F(ProcessMemoryTest, AddsDescendantsOfEveryThread) {
  const auto statm = [](std::uint64_t resident, std::uint64_t shared) {
    return "999999 " + std::to_string(resident) + " " + std::to_string(shared) + " 0 0 0 0\n";
  };
  write("proc/10/statm", statm(5, 1));
  write("proc/10/task/10/children", "20 21 ");
  write("proc/10/task/11/children", "22 ");
  write("proc/20/statm", statm(7, 2));
  write("proc/20/task/20/children", "30 ");
  write("proc/22/statm", statm(2, 3));
  write("proc/30/statm", statm(100, 50));
  const auto sum = tree_memory(10, root_);  // 21 has ended meanwhile
  EXPECT_EQ(sum.resident, 114 * kPage);
  EXPECT_EQ(sum.own, 59 * kPage);
  EXPECT_EQ(process_memory(10, root_).resident, 5 * kPage);
  EXPECT_EQ(process_memory(99, root_).resident, 0u);
  EXPECT_EQ(first_child(10, root_), 20);
  EXPECT_EQ(first_child(11, root_), 0);
  EXPECT_EQ(first_child(22, root_), 0);
  write("proc/10/statm", "junk\n");
  EXPECT_EQ(process_memory(10, root_).resident, 0u);
}

TEST_F(ProcessMemoryTest, ProportionalShare) {
  write("proc/10/smaps_rollup",
        "55d0-7ffd ---p 00000000 00:00 0  [rollup]\nRss:  2048 kB\nPss:   1500 kB\nPss_Anon: 1 kB\n");
  EXPECT_EQ(proportional_bytes(10, root_), 1500 * 1024u);
  EXPECT_EQ(proportional_bytes(11, root_), 0u);
}

using ProcessWorkTest = FilesForTests;

TEST_F(ProcessWorkTest, IsTimeAndFaultsWhateverTheProgramIsCalled) {
  write("proc/10/stat", "10 (a ) R 1 (b) S 1 10 10 0 -1 4194560 700 9999 20 9999 50 6 9999 9999 20 0 8 0 1 2 3\n");
  EXPECT_EQ(process_work(10, root_), 776u);
  EXPECT_EQ(process_work(11, root_), 0u);
  write("proc/10/stat", "junk\n");
  EXPECT_EQ(process_work(10, root_), 0u);
}

TEST(ProcessWork, OfThisProcessGrowsWithWhatItTouches) {
  const auto before = process_work(::getpid());
  std::vector<char> memory(64 * kMiB, 'x');
  EXPECT_GT(process_work(::getpid()), before) << memory.back();
}

TEST(ProcessMemory, OfThisProcessGrowsWithWhatItTouches) {
  const auto before = process_memory(::getpid());
  const auto tree = tree_memory(::getpid());
  constexpr std::size_t kBytes = 64 * kMiB;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_GE(process_memory(::getpid()).own, before.own + kBytes / 2);
  EXPECT_GE(tree_memory(::getpid()).own, tree.own + kBytes / 2);
  EXPECT_GE(proportional_bytes(::getpid()), kBytes);
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace corral::device
