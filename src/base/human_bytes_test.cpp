#include "base/human_bytes.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(HumanBytes, UseBinaryUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 KiB");
  EXPECT_EQ(human_bytes(750'000), "732 KiB");
  EXPECT_EQ(human_bytes(4'402'341'478), "4.1 GiB");
  EXPECT_EQ(human_bytes(~0ull), "16777216 TiB");
}

}  // namespace
}  // namespace corral
