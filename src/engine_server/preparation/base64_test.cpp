#include "engine_server/preparation/base64.h"

#include <string>

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

std::string text_of(std::string_view base64) {
  const auto bytes = from_base64(base64);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "invalid";
}

TEST(Base64, ReadsBothAlphabets) {
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("Zg=="), "f");
  EXPECT_EQ(text_of("Zm8="), "fo");
  EXPECT_EQ(text_of("Zm9v"), "foo");
  EXPECT_EQ(text_of("Zm9vYmFy"), "foobar");
  EXPECT_EQ(text_of("Zm9vYg"), "foob");
  EXPECT_EQ(text_of("Zm9v\r\nYmFy\n"), "foobar");
  EXPECT_EQ(text_of("-_-_"), text_of("+/+/"));
  EXPECT_EQ(text_of("/+8="), "\xFF\xEF");
}

TEST(Base64, RefusesOtherText) {
  EXPECT_EQ(text_of("Z"), "invalid");
  EXPECT_EQ(text_of("Zm9v!"), "invalid");
  EXPECT_EQ(text_of("Zg==Zg=="), "invalid");
  EXPECT_EQ(text_of(std::string_view("Zm\09v", 5)), "invalid");
}

}  // namespace
}  // namespace corral::engine_server
