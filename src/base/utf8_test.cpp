#include "base/utf8.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(Utf8, CompleteLengthStopsBeforeAnOpenCharacter) {
  EXPECT_EQ(complete_utf8_length(""), 0u);
  EXPECT_EQ(complete_utf8_length("abc"), 3u);
  EXPECT_EQ(complete_utf8_length("a\xC3"), 1u);
  EXPECT_EQ(complete_utf8_length("a\xC3\xA9"), 3u);
  EXPECT_EQ(complete_utf8_length("\xF0\x9F\x90"), 0u);
  EXPECT_EQ(complete_utf8_length("\xF0\x9F\x90\x8E"), 4u);
  EXPECT_EQ(complete_utf8_length("\xE4\xBD"), 0u);
}

TEST(Utf8, BytesThatCanNeverBeACharacterAreComplete) {
  EXPECT_EQ(complete_utf8_length("a\xFF"), 2u);
  EXPECT_EQ(complete_utf8_length("a\x80\x80"), 3u);
  EXPECT_EQ(complete_utf8_length("\xED\xA0"), 2u);  // a surrogate
  EXPECT_EQ(complete_utf8_length("\xC0"), 1u);
}

TEST(Utf8, InvalidBytesBecomeReplacementCharacters) {
  EXPECT_EQ(valid_utf8("Grüße 🐎"), "Grüße 🐎");
  EXPECT_EQ(valid_utf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(valid_utf8("\xF0\x9F\x90z"), "\uFFFDz");
  EXPECT_EQ(valid_utf8("\xE4\xBD"), "\uFFFD");
  // The example of the Unicode standard, table 3-8.
  EXPECT_EQ(valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
}

}  // namespace
}  // namespace corral
