#include "http/request_rules.h"

#include <gtest/gtest.h>

#include "http/errors.h"

namespace corral::http {
namespace {

Headers fields(std::initializer_list<std::pair<std::string, std::string>> list) {
  Headers headers;
  for (const auto& [name, value] : list) headers.add(name, value);
  return headers;
}

std::error_code framing(std::initializer_list<std::pair<std::string, std::string>> list, bool chunked,
                        int version = 11) {
  const auto result = check_framing(fields(list), version, chunked);
  return result ? std::error_code() : result.error().code;
}

TEST(Framing, ChunkedAloneOrNoCodingAtAllPass) {
  EXPECT_FALSE(framing({}, false));
  EXPECT_FALSE(framing({{"Content-Length", "5"}}, false));
  EXPECT_FALSE(framing({{"Transfer-Encoding", "chunked"}}, true));
  EXPECT_FALSE(framing({{"transfer-encoding", " Chunked , "}}, true));
}

TEST(Framing, OtherCodingsAreUnknownWhereverTheyStand) {
  const std::error_code unknown = errc::unknown_coding;
  EXPECT_EQ(framing({{"Transfer-Encoding", "xchunked"}}, false), unknown);
  EXPECT_EQ(framing({{"Transfer-Encoding", "gzip"}}, false), unknown);
  EXPECT_EQ(framing({{"Transfer-Encoding", "identity"}}, false), unknown);
  EXPECT_EQ(framing({{"Transfer-Encoding", "gzip, chunked"}}, true), unknown);
  EXPECT_EQ(framing({{"Transfer-Encoding", "gzip"}, {"Transfer-Encoding", "chunked"}}, true), unknown);
}

TEST(Framing, ListsThatCanBeReadInTwoWaysAreMalformed) {
  const std::error_code malformed = errc::malformed;
  EXPECT_EQ(framing({{"Transfer-Encoding", ""}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", " ,, "}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", ""}, {"Transfer-Encoding", "gzip"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked, chunked"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked, identity"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "gzip"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked;q=1"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked"}, {"Content-Length", "4"}}, true), malformed);
  EXPECT_EQ(framing({{"Content-Length", "4"}, {"Transfer-Encoding", "gzip"}}, false), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked"}}, true, 10), malformed);
  EXPECT_EQ(framing({{"Transfer-Encoding", "chunked"}}, false), malformed);  // the parser saw none
}

TEST(Host, IsThereOnceAndNamesSomebody) {
  const auto takes = [](std::initializer_list<std::pair<std::string, std::string>> list, int version = 11) {
    return check_host(fields(list), version).has_value();
  };
  for (const std::string good : {"x", "localhost:8000", "127.0.0.1", "[::1]:80", "a-b.c_d", "x:", "[::ffff:1.2.3.4]"})
    EXPECT_TRUE(takes({{"Host", good}})) << good;
  for (const std::string bad : {"", " ", "a b", "a/b", "u@h", ":80", "[::1", "[]", "x:99999999", "x:8a", "a\"b",
                                "x:1:2", "http://x", "a\\b", "a,b@c", "[::1]x"})
    EXPECT_FALSE(takes({{"Host", bad}})) << bad;
  EXPECT_FALSE(takes({}));
  EXPECT_FALSE(takes({{"Host", "x"}, {"host", "x"}}));
  EXPECT_TRUE(takes({}, 10));
  EXPECT_FALSE(takes({{"Host", ""}}, 10));
  EXPECT_FALSE(takes({{"Host", "x"}, {"Host", "x"}}, 10));
}

TEST(Host, MessagesCarryNothingThatBreaksOutOfThem) {
  const auto result = check_host(fields({{"Host", "a\"b\\c\n" + std::string(500, 'x') + " "}}), 11);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message.find_first_of("\"\\\n"), std::string::npos);
  EXPECT_LT(result.error().message.size(), 200u);
}

TEST(Target, AbsoluteFormGivesItsPathAndItsHost) {
  const auto taken = [](std::string target) -> std::pair<std::string, std::string> {
    RequestHead head{"GET", std::move(target), {}};
    head.headers.add("Host", "other");
    if (!take_target(head)) return {"", ""};
    return {head.target, std::string(head.headers.get("Host"))};
  };
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(taken("/a?b"), Pair("/a?b", "other"));
  EXPECT_EQ(taken("http://h:1/a/?b=http://c"), Pair("/a/?b=http://c", "h:1"));
  EXPECT_EQ(taken("HTTPS://h"), Pair("/", "h"));
  EXPECT_EQ(taken("http://h?x"), Pair("/?x", "h"));
  for (const std::string bad : {"*", "a", "ftp://h/", "http:///a", "http://u@h/", "h:443", "://h/", "http:/a"})
    EXPECT_EQ(taken(bad), Pair("", "")) << bad;
  RequestHead options{"OPTIONS", "*", {}};
  EXPECT_TRUE(take_target(options));
}

TEST(ContentCodings, AreReadInTheOrderInWhichTheyWereApplied) {
  using enum ContentCoding;
  using List = std::vector<ContentCoding>;
  EXPECT_EQ(content_codings(fields({})), List());
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", ""}})), List());
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", "identity"}})), List());
  EXPECT_EQ(content_codings(fields({{"content-encoding", " GZip "}})), List{gzip});
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", "x-gzip"}})), List{gzip});
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", "deflate,identity, ,zstd"}})), (List{deflate, zstd}));
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", "zstd"}, {"Content-Encoding", "gzip"}})), (List{zstd, gzip}));
  EXPECT_EQ(content_codings(fields({{"Content-Encoding", "gzip, gzip, gzip"}})), (List{gzip, gzip, gzip}));
}

TEST(ContentCodings, OthersAreNamed) {
  const auto refused = [](std::string_view value) {
    const auto codings = content_codings(fields({{"Content-Encoding", std::string(value)}}));
    EXPECT_FALSE(codings) << value;
    EXPECT_EQ(codings.error().code, errc::unsupported_encoding);
    EXPECT_EQ(codings.error().param, "Content-Encoding");
    return codings.error().message;
  };
  constexpr auto* kRest = "' is not supported; send the body with gzip, deflate or zstd, or without an encoding";
  EXPECT_EQ(refused("br"), std::string("the Content-Encoding 'br") + kRest);
  EXPECT_EQ(refused("gzip, compress"), std::string("the Content-Encoding 'compress") + kRest);
  EXPECT_EQ(refused("gzip;q=1"), std::string("the Content-Encoding 'gzip;q=1") + kRest);
  EXPECT_EQ(refused("\"\\\x01"), std::string("the Content-Encoding '???") + kRest);
  EXPECT_EQ(refused("gzip, gzip, gzip, gzip"),
            "Content-Encoding names more than 3 codings; send the body with one of them, or without an encoding");
}

}  // namespace
}  // namespace corral::http
