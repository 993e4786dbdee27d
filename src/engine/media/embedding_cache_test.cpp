#include "engine/media/embedding_cache.h"

#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

Sha256 id(std::string_view name) { return sha256({name}); }
MediaRows row_values(std::size_t values) { return std::make_shared<std::vector<float>>(values); }

TEST(EmbeddingCacheTest, TheLeastRecentlyUsedLeaves) {
  EmbeddingCache cache(100);
  cache.put(id("a"), row_values(10));
  cache.put(id("b"), row_values(10));
  EXPECT_EQ(cache.bytes(), 80u);
  EXPECT_NE(cache.find(id("a")), nullptr);
  cache.put(id("c"), row_values(5));
  EXPECT_EQ(cache.size(), 3u);
  cache.put(id("d"), row_values(1));
  EXPECT_EQ(cache.find(id("b")), nullptr);
  EXPECT_NE(cache.find(id("a")), nullptr);
  EXPECT_EQ(cache.bytes(), 64u);
}

TEST(EmbeddingCacheTest, TheNewestStaysWhateverItsSize) {
  EmbeddingCache cache(100);
  cache.put(id("a"), row_values(10));
  cache.put(id("large"), row_values(1000));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_NE(cache.find(id("large")), nullptr);
  cache.put(id("large"), row_values(1000));
  EXPECT_EQ(cache.bytes(), 4000u);
  cache.put(id("b"), row_values(10));
  EXPECT_EQ(cache.find(id("large")), nullptr);
  EXPECT_EQ(cache.bytes(), 40u);
}

}  // namespace
}  // namespace corral::engine
