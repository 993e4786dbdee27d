#include "base/excerpt.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(Excerpt, ShortTextsAreWholeAndLongOnesEndWithACharacter) {
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt("abcdefgh", 6), "abc…");
  EXPECT_EQ(excerpt("aéééé", 7), "aé…");
  EXPECT_EQ(excerpt(std::string(1000, 'x')).size(), kMaxExcerpt);
  EXPECT_EQ(excerpt("a\xFFz"), "a\uFFFDz");
}

}  // namespace
}  // namespace corral
