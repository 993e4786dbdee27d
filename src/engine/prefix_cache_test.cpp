#include "engine/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PrefixCache, FindsTheLongestCommonBeginning) {
  PrefixCache cache(100);
  EXPECT_THAT(cache.add(1, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(cache.add(2, {1, 2, 4, 5}), IsEmpty());
  const std::vector<Token> wanted = {1, 2, 4, 6};
  EXPECT_EQ(cache.best(wanted).sequence, 2);
  EXPECT_EQ(cache.best(wanted).length, 3u);
  EXPECT_EQ(cache.best(std::vector<Token>{9}).sequence, -1);
}

TEST(PrefixCache, AnEntryThatIsAPrefixOfANewOneIsFreed) {
  PrefixCache cache(100);
  cache.add(1, {1, 2, 3});
  EXPECT_THAT(cache.add(2, {1, 2, 3, 4}), ElementsAre(1));
  EXPECT_EQ(cache.tokens(), 4u);
}

TEST(PrefixCache, ANewOneThatIsKnownAlreadyIsFreed) {
  PrefixCache cache(100);
  cache.add(1, {1, 2, 3});
  EXPECT_THAT(cache.add(2, {1, 2}), ElementsAre(2));
  EXPECT_EQ(cache.size(), 1u);
}

TEST(PrefixCache, GivesUpTheLeastRecentlyUsed) {
  PrefixCache cache(6);
  cache.add(1, {1, 1});
  cache.add(2, {2, 2});
  cache.add(3, {3, 3});
  cache.best(std::vector<Token>{1});
  EXPECT_THAT(cache.add(4, {4, 4}), ElementsAre(2));
  EXPECT_EQ(cache.evict(), 3);
  EXPECT_EQ(cache.evict(), 1);
  EXPECT_EQ(cache.evict(), 4);
  EXPECT_EQ(cache.evict(), std::nullopt);
  EXPECT_EQ(cache.tokens(), 0u);
}

TEST(PrefixCache, KeepsNothingWithoutCapacity) {
  PrefixCache cache(0);
  EXPECT_THAT(cache.add(1, {1}), ElementsAre(1));
}

}  // namespace
}  // namespace corral::engine
