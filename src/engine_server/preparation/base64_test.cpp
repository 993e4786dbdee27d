#include "engine_server/preparation/base64.h"

#include <string>

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

std::string bytes_of_base64(std::string_view base64) {
  const auto bytes = from_base64(base64);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "invalid";
}

TEST(Base64, ReadsBothAlphabets) {
  EXPECT_EQ(bytes_of_base64(""), "");
  EXPECT_EQ(bytes_of_base64("Zg=="), "f");
  EXPECT_EQ(bytes_of_base64("Zm8="), "fo");
  EXPECT_EQ(bytes_of_base64("Zm9v"), "foo");
  EXPECT_EQ(bytes_of_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(bytes_of_base64("Zm9vYg"), "foob");
  EXPECT_EQ(bytes_of_base64("Zm9v\r\nYmFy\n"), "foobar");
  EXPECT_EQ(bytes_of_base64("-_-_"), bytes_of_base64("+/+/"));
  EXPECT_EQ(bytes_of_base64("/+8="), "\xFF\xEF");
}

TEST(Base64, RefusesOtherText) {
  EXPECT_EQ(bytes_of_base64("Z"), "invalid");
  EXPECT_EQ(bytes_of_base64("Zm9v!"), "invalid");
  EXPECT_EQ(bytes_of_base64("Zg==Zg=="), "invalid");
  EXPECT_EQ(bytes_of_base64(std::string_view("Zm\09v", 5)), "invalid");
}

}  // namespace
}  // namespace corral::engine_server
