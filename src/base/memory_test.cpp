#include <fstream>

#include <gtest/gtest.h>

#include "base/host_memory.h"
#include "base/memory_estimate.h"

namespace corral {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

// Half of the weights repacked: 2 GiB of file stay mapped, 1 of them in use.
MemoryEstimate some_estimate() {
  MemoryEstimate estimate;
  estimate.devices = {{"cpu", 2 * kGiB, 3 * kGiB, kGiB, 0}, {"cuda0", 4 * kGiB, kGiB, kGiB, 8 * kGiB}};
  estimate.in_place = kGiB;
  estimate.mapped = 2 * kGiB;
  estimate.process = kGiB / 2;
  return estimate;
}

TEST(MemoryEstimate, FilePagesAreResidentButNeedNotFit) {
  const MemoryEstimate estimate = some_estimate();
  EXPECT_EQ(estimate.total(), 12 * kGiB + kGiB / 2);
  EXPECT_EQ(estimate.resident(), 7 * kGiB + kGiB / 2);
  EXPECT_EQ(estimate.unreclaimable(), 5 * kGiB + kGiB / 2);
}

// The difference wrapped around, and the model needed 16 EiB.
TEST(MemoryEstimate, MoreInPlaceThanTheHostHasCountsAsNoBuffers) {
  MemoryEstimate estimate = some_estimate();
  estimate.in_place = 7 * kGiB;
  EXPECT_EQ(estimate.unreclaimable(), estimate.process);
  EXPECT_EQ(estimate.resident(), estimate.mapped + estimate.process);
  estimate.devices.clear();
  EXPECT_EQ(estimate.unreclaimable(), estimate.process);
}

TEST(MemoryEstimate, NeverFitsNamesEachDeviceWithNeedAndHave) {
  MemoryEstimate estimate = some_estimate();
  EXPECT_TRUE(never_fits(estimate, 6 * kGiB).empty());
  EXPECT_TRUE(never_fits(estimate, 0).empty()) << "a total that isn't known refuses nothing";
  const auto host = never_fits(estimate, 5 * kGiB);
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0].device, "cpu");
  EXPECT_EQ(host[0].need, estimate.unreclaimable());
  EXPECT_EQ(host[0].have, 5 * kGiB);
  EXPECT_EQ(in_words(host), "needs 5.5 GiB on cpu, which has 5.0 GiB");
  estimate.devices[1].kv = 4 * kGiB;
  const auto both = never_fits(estimate, kGiB);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].device, "cuda0");
  EXPECT_EQ(both[1].need, 9 * kGiB);
  EXPECT_EQ(both[1].have, 8 * kGiB);
}

TEST(MemoryEstimate, NeedsAreToldOfEachDeviceThatIsKnown) {
  MemoryEstimate estimate = some_estimate();
  const auto known = needs_of(estimate, kGiB / 2);
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].need, estimate.unreclaimable());
  EXPECT_EQ(known[0].have, kGiB / 2);
  EXPECT_EQ(known[1].need, estimate.devices[1].total());
  EXPECT_EQ(in_words({known[0]}, MemoryScope::free), "needs 5.5 GiB on cpu, which has 512 MiB free");
  EXPECT_EQ(needs_of(estimate, 0).size(), 2u) << "nothing is something that is known";
  estimate.devices[1].have = 0;
  EXPECT_TRUE(needs_of(estimate, std::nullopt).empty());
}

// A made-up /proc and /sys.
class HostMemoryTest : public testing::Test {
 protected:
  HostMemoryTest() {
    std::filesystem::remove_all(root_);
    write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:  1 kB\nMemAvailable:    6291456 kB\n");
  }
  ~HostMemoryTest() override { std::filesystem::remove_all(root_); }
  void write(const std::filesystem::path& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("corral-host-memory-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(HostMemoryTest, IsTheMachinesWithoutAnyLimit) {
  EXPECT_EQ(read_host_memory(root_).total, 8 * kGiB);
  EXPECT_EQ(read_host_memory(root_).available, 6 * kGiB);
  write("proc/self/cgroup", "0::/user.slice\n");
  write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(read_host_memory(root_).total, 8 * kGiB);
}

TEST_F(HostMemoryTest, LimitOfAGroupAboveOursCountsAndItsFilePagesAreFree) {
  write("proc/self/cgroup", "0::/user.slice/corral.service\n");
  write("sys/fs/cgroup/user.slice/corral.service/memory.max", "max\n");
  write("sys/fs/cgroup/user.slice/memory.max", std::to_string(4 * kGiB));
  write("sys/fs/cgroup/user.slice/memory.current", std::to_string(3 * kGiB));
  write("sys/fs/cgroup/user.slice/memory.stat",
        "anon 5\ninactive_file " + std::to_string(kGiB) + "\nactive_file " + std::to_string(kGiB) + "\n");
  const HostMemory memory = read_host_memory(root_);
  EXPECT_EQ(memory.total, 4 * kGiB);
  EXPECT_EQ(memory.available, 3 * kGiB);
}

TEST_F(HostMemoryTest, WiderLimitAboveThatOthersUseUpCountsToo) {
  write("proc/self/cgroup", "0::/user.slice/corral.service\n");
  write("sys/fs/cgroup/user.slice/corral.service/memory.max", std::to_string(2 * kGiB));
  write("sys/fs/cgroup/user.slice/corral.service/memory.current", std::to_string(kGiB));
  write("sys/fs/cgroup/user.slice/memory.max", std::to_string(4 * kGiB));
  write("sys/fs/cgroup/user.slice/memory.current", std::to_string(4 * kGiB - kGiB / 4));
  EXPECT_EQ(read_host_memory(root_).total, 2 * kGiB);
  EXPECT_EQ(read_host_memory(root_).available, kGiB / 4);
}

TEST_F(HostMemoryTest, ContainerWhoseGroupIsTheMountItself) {
  write("proc/self/cgroup", "0::/a/name/of/the/host\n");
  write("sys/fs/cgroup/memory.max", std::to_string(2 * kGiB));
  write("sys/fs/cgroup/memory.current", std::to_string(3 * kGiB));
  EXPECT_EQ(read_host_memory(root_).total, 2 * kGiB);
  EXPECT_EQ(read_host_memory(root_).available, 0u);
}

TEST_F(HostMemoryTest, LegacyGroups) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", std::to_string(kGiB));
  write("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", std::to_string(kGiB / 2));
  EXPECT_EQ(read_host_memory(root_).total, kGiB);
  EXPECT_EQ(read_host_memory(root_).available, kGiB / 2);
}

TEST(HostMemory, OfThisMachineIsKnown) {
  const HostMemory memory = read_host_memory();
  EXPECT_GT(memory.total, 0u);
  EXPECT_LE(memory.available, memory.total);
}

}  // namespace
}  // namespace corral
