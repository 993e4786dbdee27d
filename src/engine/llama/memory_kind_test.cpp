#include "engine/llama/memory_kind.h"

#include <gtest/gtest.h>

namespace corral::engine::test {
namespace {

TEST(MemoryKinds, FollowFromStateWindowAndArchitecture) {
  EXPECT_EQ(memory_kind({}), MemoryKind::plain);
  EXPECT_EQ(memory_kind({.window = 128}), MemoryKind::windowed);
  EXPECT_EQ(memory_kind({.state = true}), MemoryKind::state);
  EXPECT_EQ(memory_kind({.state = true, .window = 128}), MemoryKind::state) << "a hybrid with windows";
  EXPECT_EQ(memory_kind({.window = 128, .architecture = "gpt-oss"}), MemoryKind::windowed);
  EXPECT_EQ(memory_kind({.window = 128, .architecture = "deepseek4"}), MemoryKind::state)
      << "sharing a beginning would abort the process";
  EXPECT_EQ(memory_kind({.architecture = "glm-dsa"}), MemoryKind::windowed) << "it can't be laid out in parts";
}

TEST(MemoryKinds, WhatEachOfThemAllows) {
  EXPECT_TRUE(rules_of(MemoryKind::plain).splits);
  EXPECT_FALSE(rules_of(MemoryKind::windowed).splits);
  EXPECT_TRUE(rules_of(MemoryKind::windowed).drafts);
  EXPECT_FALSE(rules_of(MemoryKind::state).drafts);
  EXPECT_FALSE(rules_of(MemoryKind::state).divisible);
  EXPECT_TRUE(rules_of(MemoryKind::windowed).parks_whole);
}

TEST(OldestSeen, IsTheFirstOfTheWindow) {
  EXPECT_EQ(oldest_seen(1000, {}), 0u);
  EXPECT_EQ(oldest_seen(0, {.window = 32}), 0u);
  EXPECT_EQ(oldest_seen(31, {.window = 32}), 0u);
  EXPECT_EQ(oldest_seen(32, {.window = 32}), 1u);
  EXPECT_EQ(oldest_seen(1000, {.window = 32}), 969u);
  EXPECT_EQ(oldest_seen(1000, {.window = 1}), 1000u);
}

TEST(OldestSeen, WindowsThatDontSlideBeginAtMultiples) {
  const MemoryFacts llama4{.window = 100, .architecture = "llama4"};
  EXPECT_EQ(oldest_seen(99, llama4), 0u);
  EXPECT_EQ(oldest_seen(100, llama4), 100u);
  EXPECT_EQ(oldest_seen(250, llama4), 200u);
}

TEST(WindowCells, AllAreKeptWhereThatTakesHardlyMore) {
  // gemma-3: 1,024 tokens; 16 sequences and a pass of 512.
  EXPECT_TRUE(keeps_all_cells({.window = 1024, .sequences = 16, .batch = 512, .n_ctx = 8192}));
  EXPECT_TRUE(keeps_all_cells({.window = 1024, .sequences = 16, .batch = 512, .n_ctx = 22528}));
  EXPECT_FALSE(keeps_all_cells({.window = 1024, .sequences = 16, .batch = 512, .n_ctx = 32768}));
  EXPECT_FALSE(keeps_all_cells({.window = 128, .sequences = 16, .batch = 512, .n_ctx = 8192})) << "gpt-oss";
  EXPECT_TRUE(keeps_all_cells({.window = ~0u, .sequences = 256, .batch = ~0u, .n_ctx = ~0u}));
}

}  // namespace
}  // namespace corral::engine::test
