#include "base/close_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral {
namespace {

using testing::ElementsAre;

TEST(CloseNames, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U) << "a swap";
  EXPECT_EQ(edit_distance("tiny-llama", "tiny-lama"), 1U);
}

TEST(CloseNames, GivesTheBestFirst) {
  const std::vector<std::string> names = {"tiny-llama", "tiny-llama-2", "tiny-moe", "tiny-qwen3", "org/Repo:Q8_0"};
  EXPECT_THAT(close_names("tiny-lama", names, 3), ElementsAre("tiny-llama", "tiny-llama-2"));
  EXPECT_THAT(close_names("TINY", names, 3), testing::SizeIs(3));
  EXPECT_THAT(close_names("repo", names, 3), ElementsAre("org/Repo:Q8_0"));
  EXPECT_THAT(close_names("gpt-4o", names, 3), testing::IsEmpty());
  EXPECT_THAT(close_names(std::string(1'000'000, 'x'), names, 3), testing::IsEmpty());
}

}  // namespace
}  // namespace corral
