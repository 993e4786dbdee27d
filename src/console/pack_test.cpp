#include "console/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console/pack_for_tests.h"

namespace corral::console {
namespace {

TEST(Pack, FindsItsFiles) {
  const auto bytes = packed({{"index.html", "text/html; charset=utf-8", "<p>hi</p>", "tag1", false},
                             {"assets/a-1.js", "text/javascript", std::string(5000, 'x'), "tag2", true}});
  const Pack pack(bytes);
  EXPECT_FALSE(pack.empty());
  const auto* const index = pack.find("index.html");
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(index->type, "text/html; charset=utf-8");
  EXPECT_EQ(index->etag, "tag1");
  EXPECT_FALSE(index->immutable);
  EXPECT_EQ(inflated(*index), "<p>hi</p>");
  const auto* const script = pack.find("assets/a-1.js");
  ASSERT_NE(script, nullptr);
  EXPECT_TRUE(script->immutable);
  EXPECT_LT(script->gzip.size(), 100u);
  EXPECT_EQ(inflated(*script), std::string(5000, 'x'));
  for (const char* other : {"", "/", "assets", "../index.html", "assets/a-2.js"}) EXPECT_EQ(pack.find(other), nullptr);
}

TEST(Pack, WithoutBytesIsEmpty) {
  EXPECT_TRUE(Pack("").empty());
  EXPECT_TRUE(Pack().empty());
  EXPECT_EQ(Pack("").find("index.html"), nullptr);
}

TEST(Pack, AMalformedOneIsEmpty) {
  const auto whole = packed({{"a", "text/css", "body{}", "t", false}});
  EXPECT_FALSE(Pack(whole).empty());
  EXPECT_TRUE(Pack(std::string_view(whole).substr(0, whole.size() - 1)).empty()) << "cut";
  EXPECT_TRUE(Pack("a\ttext/css\tmany\t3\tt\tfresh\n\nabc").empty());
  EXPECT_TRUE(Pack("a\ttext/css\t3\t-3\tt\tfresh\n\nabc").empty());
  EXPECT_TRUE(Pack("a\n\nabc").empty());
}

TEST(Pack, DamagedBytesInflateToNothing) {
  auto bytes = packed({{"a", "text/css", std::string(300, 'y'), "t", false}});
  bytes[bytes.size() - 3] ^= 1;
  const Pack pack(bytes);
  EXPECT_EQ(inflated(*pack.find("a")), "");
}

}  // namespace
}  // namespace corral::console
