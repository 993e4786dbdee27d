#include "backends/external/port.h"

#include <fstream>

#include <gtest/gtest.h>

namespace corral::backends {
namespace {

// A program listens a while after its port was chosen. Meanwhile the system gave some ports to connections of others.
TEST(Port, AFreeOneIsNoneThatTheSystemGivesAway) {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0, last = 0;
  ASSERT_TRUE(file >> first >> last);
  if (first <= 20'000 && last >= 65'535) GTEST_SKIP() << "it gives them all";
  for (int i = 0; i < 20; ++i) {
    const auto port = free_port();
    EXPECT_GE(port, 20'000);
    EXPECT_TRUE(port < first || port > last) << port;
  }
}

}  // namespace
}  // namespace corral::backends
