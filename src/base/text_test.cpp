#include "base/text.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(TextTest, OnlyLettersOfAsciiHaveACase) {
  EXPECT_EQ(to_lower("Q4_K_M.GGUF @[`{"), "q4_k_m.gguf @[`{");
  EXPECT_EQ(to_upper("q4_k_m.gguf @[`{"), "Q4_K_M.GGUF @[`{");
  EXPECT_EQ(to_lower("\xC3\x84\xC4\xB0"), "\xC3\x84\xC4\xB0");  // capital A with dots, capital I with a dot
  EXPECT_EQ(to_lower(""), "");
  static_assert(to_lower('Z') == 'z' && to_upper('a') == 'A' && to_lower('1') == '1' && to_upper('{') == '{');
}

TEST(TextTest, TextsAreEqualWhateverTheirCase) {
  EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-tYPE"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("@", "`"));  // 32 apart, as letters are
  EXPECT_FALSE(equal_ignoring_case("\xC3\x84", "\xC3\xA4"));
}

TEST(TextTest, BlanksAroundATextGo) {
  EXPECT_EQ(trimmed(" \t\r\n a b \n\r\t "), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\v\fa"), "\v\fa");
}

TEST(TextTest, OnlyTheGivenBlanksGo) {
  EXPECT_EQ(trimmed("\r a\t\n", kBlanksInLine), "\r a\t\n");
  EXPECT_EQ(trimmed("\t a \r", kBlanksOfLine), "a");
  EXPECT_EQ(trimmed("\t a \t", " "), "\t a \t");
}

TEST(TextTest, OneSideAlone) {
  EXPECT_EQ(trimmed_front("  a  "), "a  ");
  EXPECT_EQ(trimmed_back("  a  "), "  a");
  EXPECT_EQ(trimmed_front("   "), "");
  EXPECT_EQ(trimmed_back("   "), "");
}

}  // namespace
}  // namespace corral
