#include "base/large_stack.h"

#include <limits>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace corral {
namespace {

// Bytes of stack between the first call and the last one. Each call takes more than 1 KiB.
std::size_t depth_of(std::size_t calls, const char* first) {
  volatile char frame[1024] = {};
  if (calls > 0) return depth_of(calls - 1, first) + static_cast<std::size_t>(frame[0]);
  return static_cast<std::size_t>(first - const_cast<const char*>(&frame[0]));
}

TEST(LargeStack, HoldsWorkThatNoOrdinaryThreadHolds) {
  constexpr std::size_t kBytes = 256 << 20;
  std::size_t depth = 0;
  ASSERT_TRUE(run_with_stack(kBytes, [&] {
    const char here = 0;
    depth = depth_of(kBytes / 2048, &here);
  }));
  EXPECT_GT(depth, kBytes / 2 - 4096);
}

TEST(LargeStack, GivesOnWhatTheWorkThrows) {
  const auto throwing = [] { (void)run_with_stack(1 << 20, [] { throw std::runtime_error("thrown there"); }); };
  EXPECT_THROW(throwing(), std::runtime_error);
}

TEST(LargeStack, SaysWhereThereIsNoRoomAndRunsNothing) {
  bool ran = false;
  EXPECT_FALSE(run_with_stack(std::numeric_limits<std::size_t>::max() / 2, [&] { ran = true; }));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace corral
