#include "console/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console/pack_for_tests.h"

namespace corral::console {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PageTest : public testing::Test {
 protected:
  http::Response serve_to(const char* path, std::vector<http::Headers::Field> fields = {}) {
    http::RequestHead head;
    for (const auto& [name, value] : fields) head.headers.add(name, value);
    return serve(*pack_.find(path), head);
  }
  const std::string bytes_ = packed({{"index.html", "text/html; charset=utf-8", "<p>hi</p>", "tag1", false},
                                     {"a-1.js", "text/javascript", "x()", "tag2", true}});
  const Pack pack_{bytes_};
};

std::string field(const http::Response& response, const char* name) {
  return std::string(response.head.headers.get(name));
}

TEST_F(PageTest, IsGzipForClientsThatTakeIt) {
  const auto gzip = serve_to("index.html", {{"Accept-Encoding", "gzip, deflate, br"}});
  EXPECT_EQ(gzip.head.status, 200u);
  EXPECT_EQ(field(gzip, "Content-Encoding"), "gzip");
  EXPECT_EQ(gzip.body.text(), pack_.find("index.html")->gzip);
  const auto plain = serve_to("index.html");
  EXPECT_EQ(plain.body.text(), "<p>hi</p>");
  EXPECT_FALSE(plain.head.headers.has("Content-Encoding"));
  EXPECT_EQ(field(plain, "Vary"), "Accept-Encoding");
  EXPECT_NE(field(plain, "ETag"), field(gzip, "ETag"));
}

TEST_F(PageTest, OnlyFilesWithAHashInTheirNameStayInCaches) {
  EXPECT_EQ(field(serve_to("index.html"), "Cache-Control"), "no-cache");
  EXPECT_THAT(field(serve_to("a-1.js"), "Cache-Control"), HasSubstr("immutable"));
}

TEST_F(PageTest, AClientThatHasTheFileGetsNoBody) {
  const auto first = serve_to("index.html");
  const auto tag = field(first, "ETag");
  EXPECT_EQ(tag, "\"tag1\"");
  for (const auto& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const auto again = serve_to("index.html", {{"If-None-Match", known}});
    EXPECT_EQ(again.head.status, 304u) << known;
    EXPECT_EQ(again.body.text(), "");
    EXPECT_EQ(field(again, "ETag"), tag);
  }
  for (const char* other : {"\"tag2\"", "tag1", "\"tag1-gzip\""})
    EXPECT_EQ(serve_to("index.html", {{"If-None-Match", other}}).head.status, 200u) << other;
}

TEST_F(PageTest, ThePolicyAllowsNothingOfOtherSites) {
  for (const char* path : {"index.html", "a-1.js"}) {
    const auto answer = serve_to(path);
    EXPECT_THAT(field(answer, "Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'"),
                      HasSubstr("base-uri 'none'"), Not(HasSubstr("unsafe"))));
    EXPECT_EQ(field(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(field(answer, "Referrer-Policy"), "no-referrer");
  }
}

TEST(Page, AcceptEncoding) {
  for (const char* takes : {"gzip", "GZIP", "br, gzip", "gzip;q=0.5", "*", "x-gzip", "deflate;q=0, *;q=0.1"})
    EXPECT_TRUE(takes_gzip(takes)) << takes;
  for (const char* refuses : {"", "br", "gzip;q=0", "gzip; q=0.000", "gzip;q=0, *", "identity", "*;q=0"})
    EXPECT_FALSE(takes_gzip(refuses)) << refuses;
}

TEST(Page, IsForClientsThatShowHtml) {
  const auto shows = [](const char* accept, const char* agent) {
    http::RequestHead head;
    head.headers.add("Accept", accept);
    head.headers.add("User-Agent", agent);
    return is_browser(head);
  };
  EXPECT_TRUE(shows("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Mozilla/5.0"));
  EXPECT_FALSE(shows("*/*", "curl/8.0"));
  EXPECT_FALSE(shows("application/json", "Mozilla/5.0"));
  EXPECT_FALSE(shows("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "Java/17.0.9"));
}

TEST(Page, ThePathWithoutASlashLeadsToTheOneWithIt) {
  const auto answer = with_slash("/console");
  EXPECT_EQ(answer.head.status, 308u);
  EXPECT_EQ(field(answer, "Location"), "console/");
}

}  // namespace
}  // namespace corral::console
