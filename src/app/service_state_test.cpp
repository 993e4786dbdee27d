#include "app/service_state.h"

#include <gtest/gtest.h>

namespace corral::app {
namespace {

TEST(ServiceState, ComesFromTheOutputOfSystemctl) {
  const auto state = parse_service_state(
      "Result=watchdog\nNRestarts=3\nLoadState=loaded\nActiveState=failed\nStatusText=in memory: a=b\nother\n");
  EXPECT_TRUE(state.has_manager);
  EXPECT_TRUE(state.is_installed);
  EXPECT_EQ(state.active, "failed");
  EXPECT_EQ(state.result, "watchdog");
  EXPECT_EQ(state.status, "in memory: a=b");
  EXPECT_EQ(state.restarts, 3);
}

TEST(ServiceState, AUnitThatDoesNotExist) {
  const auto state = parse_service_state("LoadState=not-found\nActiveState=inactive\nResult=success\nStatusText=");
  EXPECT_FALSE(state.is_installed);
  EXPECT_EQ(state.status, "");
  EXPECT_FALSE(parse_service_state("").is_installed);
}

}  // namespace
}  // namespace corral::app
