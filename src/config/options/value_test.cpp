#include "config/options/value.h"

#include <gtest/gtest.h>

namespace corral::config {
namespace {

TEST(Value, DurationsWithAndWithoutUnits) {
  EXPECT_EQ(parse_duration("2"), Millis(2'000));
  EXPECT_EQ(parse_duration("2s"), Millis(2'000));
  EXPECT_EQ(parse_duration("1.5s"), Millis(1'500));
  EXPECT_EQ(parse_duration("500ms"), Millis(500));
  EXPECT_EQ(parse_duration("5 m"), Millis(300'000));
  EXPECT_EQ(parse_duration("0"), Millis(0));
  for (const char* bad : {"", "s", "-1s", "2 weeks", "1e3", "nan", "inf", "2s!"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Value, SizesInPowersOf1024AndOf1000) {
  EXPECT_EQ(parse_size("65536"), Bytes(65536));
  EXPECT_EQ(parse_size("1k"), Bytes(1024));
  EXPECT_EQ(parse_size("512KiB"), Bytes(512 * 1024));
  EXPECT_EQ(parse_size("1.5 GiB"), Bytes(3ull << 29));
  EXPECT_EQ(parse_size("2MB"), Bytes(2'000'000));
  for (const char* bad : {"", "MiB", "-1", "1 XB", "99999999999999999T"})
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
}

TEST(Value, WordsForSwitches) {
  for (const char* yes : {"true", "YES", "on", "1"}) EXPECT_EQ(parse_bool(yes), true) << yes;
  for (const char* no : {"false", "No", "off", "0"}) EXPECT_EQ(parse_bool(no), false) << no;
  EXPECT_EQ(parse_bool("maybe"), std::nullopt);
}

TEST(Value, IntegersAreWhole) {
  EXPECT_EQ(parse_int("-1"), -1);
  EXPECT_EQ(parse_int("+7"), 7);
  for (const char* bad : {"", "1.5", "0x10", "12a", "99999999999999999999"})
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
}

TEST(Value, TextsParseBack) {
  EXPECT_EQ(to_text(Millis(2'000)), "2s");
  EXPECT_EQ(to_text(Millis(1'500)), "1500ms");
  EXPECT_EQ(to_text(Millis(3'600'000)), "1h");
  EXPECT_EQ(to_text(Millis(0)), "0s");
  EXPECT_EQ(to_text(Bytes(256ull << 20)), "256MiB");
  EXPECT_EQ(to_text(Bytes(1000)), "1000B");
  EXPECT_EQ(to_text(Bytes(0)), "0B");
}

}  // namespace
}  // namespace corral::config
