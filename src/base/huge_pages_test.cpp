#include "base/huge_pages.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/jemalloc.h"

namespace corral {
namespace {

constexpr std::size_t kLarge = 64 << 20, kSmall = 1 << 20;

struct Free {
  void operator()(void* block) const { std::free(block); }
};
using Block = std::unique_ptr<void, Free>;

// As ggml allocates the weights.
Block allocate(std::size_t bytes) {
  void* block = nullptr;
  return Block(::posix_memalign(&block, 64, bytes) == 0 ? block : nullptr);
}

// Whether the system was asked for huge pages ("hg" in VmFlags) where the block's middle is.
bool asks_for_huge_pages(const Block& block, std::size_t bytes) {
  const auto middle = reinterpret_cast<std::uintptr_t>(block.get()) + bytes / 2;
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream head(line); head >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= middle && middle < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.contains(" hg");
    }
  }
  return false;
}

class HugePagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mallctl == nullptr) GTEST_SKIP() << "this build has no jemalloc";
    if (::access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "this system has no huge pages";
  }
};

TEST_F(HugePagesTest, AreForLargeBlocksOfTheScope) {
  const Block before = allocate(kLarge);
  Block large;
  std::vector<Block> small;
  {
    const HugePagesScope scope;
    large = allocate(kLarge);
    // More than earlier large blocks may have left over.
    for (int i = 0; i < 256; ++i) small.push_back(allocate(kSmall));
  }
  const Block after = allocate(kLarge);
  EXPECT_TRUE(asks_for_huge_pages(large, kLarge));
  EXPECT_FALSE(asks_for_huge_pages(small.back(), kSmall));
  EXPECT_FALSE(asks_for_huge_pages(before, kLarge));
  EXPECT_FALSE(asks_for_huge_pages(after, kLarge));
}

TEST_F(HugePagesTest, AreNotForOtherThreads) {
  const HugePagesScope scope;
  Block block;
  std::thread([&] { block = allocate(kLarge); }).join();
  EXPECT_FALSE(asks_for_huge_pages(block, kLarge));
}

TEST_F(HugePagesTest, BlocksMayBeFreedAfterwardsAndOnOtherThreads) {
  Block first, second;
  {
    const HugePagesScope scope;
    first = allocate(kLarge);
    second = allocate(kLarge);
  }
  first.reset();
  std::thread([&] { second.reset(); }).join();
  const HugePagesScope scope;
  const Block again = allocate(kLarge);
  EXPECT_TRUE(asks_for_huge_pages(again, kLarge));
}

}  // namespace
}  // namespace corral
