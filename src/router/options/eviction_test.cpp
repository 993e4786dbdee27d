// What "stays for so long" comes to, beside what was said of a model before.
#include "router/options/eviction.h"

#include <gtest/gtest.h>

namespace corral::router {
namespace {

using namespace std::chrono_literals;

TEST(KeepFor, ATimeMakesItLeaveButNotShrink) {
  OptionPatch said;
  keep_for(said, 90s, {.auto_evict = false});
  const auto eviction = eviction_of(said.set);
  EXPECT_TRUE(eviction.auto_evict);
  EXPECT_EQ(eviction.evict_idle_timeout, 90s);
  EXPECT_LT(eviction.downsize_idle_timeout, 0s) << "nobody opted in to that";
}

TEST(KeepFor, WhoOptedInToShrinkStillDoes) {
  OptionPatch said;
  keep_for(said, 90s, {.auto_evict = true, .downsize_idle_timeout = 30s});
  EXPECT_FALSE(said.set.downsize_idle_timeout) << "as it was said elsewhere";
}

TEST(KeepFor, ForEverIsNotByItself) {
  OptionPatch said;
  keep_for(said, 90s, {});
  keep_for(said, -1ms, eviction_of(said.set));
  EXPECT_FALSE(eviction_of(said.set).auto_evict);
  keep_for(said, 10s, eviction_of(said.set));
  EXPECT_TRUE(eviction_of(said.set).auto_evict) << "the latest word counts";
}

TEST(KeepFor, WhatALoadSaidNotToCountCountsNow) {
  OptionPatch said({}, {config::find_load_option("auto_evict"), config::find_load_option("ctx_size")});
  said.set.ctx_size = 512;
  keep_for(said, 5s, {});
  ASSERT_EQ(said.unset.size(), 1u);
  EXPECT_EQ(said.unset.front()->key, "ctx_size");
  EXPECT_EQ(said.set.ctx_size, 512) << "nothing else changes";
}

}  // namespace
}  // namespace corral::router
