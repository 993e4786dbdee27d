#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldSplitOrRun) {
  EXPECT_EQ(shell_word("org/repo:Q4_K_M"), "org/repo:Q4_K_M");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(x);`y`*"), "'$(x);`y`*'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace corral
