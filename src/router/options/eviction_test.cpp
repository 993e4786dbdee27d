// What "stays for so long" comes to, beside what was said of a model before.
#include "router/options/eviction.h"

#include <gtest/gtest.h>

namespace corral::router {
namespace {

using namespace std::chrono_literals;

TEST(KeepFor, ATimeMakesItLeaveButNotShrink) {
  OptionPatch patch;
  keep_for(patch, 90s, {.auto_evict = false});
  const auto eviction = eviction_of(patch.set);
  EXPECT_TRUE(eviction.auto_evict);
  EXPECT_EQ(eviction.evict_idle_timeout, 90s);
  EXPECT_LT(eviction.downsize_idle_timeout, 0s) << "nobody opted in to that";
}

TEST(KeepFor, WhoOptedInToShrinkStillDoes) {
  OptionPatch patch;
  keep_for(patch, 90s, {.auto_evict = true, .downsize_idle_timeout = 30s});
  EXPECT_FALSE(patch.set.downsize_idle_timeout) << "as it was said elsewhere";
}

TEST(KeepFor, ForEverIsNotByItself) {
  OptionPatch patch;
  keep_for(patch, 90s, {});
  keep_for(patch, -1ms, eviction_of(patch.set));
  EXPECT_FALSE(eviction_of(patch.set).auto_evict);
  keep_for(patch, 10s, eviction_of(patch.set));
  EXPECT_TRUE(eviction_of(patch.set).auto_evict) << "the latest word counts";
}

TEST(KeepFor, WhatALoadSaidNotToCountCountsNow) {
  OptionPatch patch({}, {config::find_load_option("auto_evict"), config::find_load_option("ctx_size")});
  patch.set.ctx_size = 512;
  keep_for(patch, 5s, {});
  ASSERT_EQ(patch.unset.size(), 1u);
  EXPECT_EQ(patch.unset.front()->key, "ctx_size");
  EXPECT_EQ(patch.set.ctx_size, 512) << "nothing else changes";
}

}  // namespace
}  // namespace corral::router
