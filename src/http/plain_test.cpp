// The parts without sockets: messages, events, routes.
#include <gtest/gtest.h>

#include "async/loop.h"
#include "http/route_table.h"
#include "http/sse.h"

namespace corral::http {
namespace {

TEST(Headers, NamesIgnoreCaseAndSetReplacesAll) {
  Headers headers;
  headers.add("Content-Type", "a");
  headers.add("content-type", "b");
  EXPECT_EQ(headers.get("CONTENT-TYPE"), "a");
  headers.set("Content-type", "c");
  EXPECT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers.get("x"), "");
}

TEST(Query, ValuesAreDecoded) {
  EXPECT_EQ(query_value("a=1&b=x%20y+z&c", "b"), "x y z");
  EXPECT_EQ(query_value("a=1&c", "c"), "");
  EXPECT_EQ(query_value("a=1", "b"), std::nullopt);
  EXPECT_EQ(percent_decode("%zz%4"), "%zz%4");
}

TEST(SseLineEnds, AreTurnedIntoOneKindWhateverTheCutsAre) {
  const std::string stream = "\n\r\ndata: a\r\n\r\ndata: b\r\rdata: c\n\n: ping\r\n\ndata: [DONE]\n\r\n\r";
  const std::string expected = "\n\ndata: a\n\ndata: b\n\ndata: c\n\n: ping\n\ndata: [DONE]\n\n\n";
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      SseLineEnds ends;
      std::string text;
      std::string_view rest = stream;
      for (const auto size : {first, second - first, stream.size() - second}) {
        text += ends.feed(rest.substr(0, size));
        rest.remove_prefix(size);
      }
      ASSERT_EQ(text, expected) << first << ' ' << second;
    }
  }
}

TEST(SseLineEnds, EachEventPassesWithItsLastByteAndOthersAreNotCopied) {
  SseLineEnds ends;
  EXPECT_EQ(ends.feed("data: a\r\n\r"), "data: a\n\n");
  EXPECT_EQ(ends.feed(""), "");
  EXPECT_EQ(ends.feed("\n"), "");
  const std::string_view plain = "data: b\n\n";
  EXPECT_EQ(ends.feed(plain).data(), plain.data());
}

TEST(SseParser, SplitsWhateverTheCutsAre) {
  const std::string stream = ": ping\n\ndata: one\n\nevent: progress\ndata: a\ndata: b\n\ndata:two\r\n\r\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    std::vector<std::pair<std::string, std::string>> events;
    SseParser parser([&](std::string_view event, std::string_view data) { events.emplace_back(event, data); });
    parser.feed(std::string_view(stream).substr(0, cut));
    parser.feed(std::string_view(stream).substr(cut));
    const std::vector<std::pair<std::string, std::string>> expected = {{"", "one"}, {"progress", "a\nb"}, {"", "two"}};
    EXPECT_EQ(events, expected) << "cut at " << cut;
  }
}

TEST(SseDoneWatch, KnowsTheLastEventWhateverTheCutsAre) {
  const std::string stream = "data: [DONE]\n\ndata: 1\n\ndata: [DONE]\n\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    SseDoneWatch watch;
    watch.feed(std::string_view(stream).substr(0, cut));
    EXPECT_EQ(watch.done(), cut == kSseDone.size() || cut == stream.size()) << cut;
    watch.feed(std::string_view(stream).substr(cut));
    EXPECT_TRUE(watch.done()) << cut;
    watch.feed("\n");
    EXPECT_FALSE(watch.done());
  }
}

class RoutesTest : public ::testing::Test {
 protected:
  static RouteHandler reply_with(std::string name) {
    return [name](Request, PathParams params) -> async::Task<Response> {
      std::string text = name;
      for (const auto& [key, value] : params) text += " " + key + "=" + value;
      co_return Response::text(200, "text/plain", text);
    };
  }
  Response ask(std::string method, std::string target) {
    Request request;
    request.head.method = std::move(method);
    request.head.target = std::move(target);
    return async::run_blocking(loop, table.handle(std::move(request)));
  }

  async::Loop loop;
  RouteTable table{{{"GET", "/models", reply_with("list")},
                    {"GET", "/models/{id...}", reply_with("one")},
                    {"GET", "/models/{id...}/options", reply_with("options")},
                    {"POST", "/load", reply_with("load")},
                    {"GET", "/a/{x}/b", reply_with("ab")}},
                   [](const Request&, unsigned status) { return Response::text(status, "text/plain", "no"); }};
};

TEST_F(RoutesTest, FindsPathsAndParameters) {
  EXPECT_EQ(ask("GET", "/models?x=1").body.text(), "list");
  EXPECT_EQ(ask("GET", "/models/org/repo:Q8%20x").body.text(), "one id=org/repo:Q8 x");
  EXPECT_EQ(ask("GET", "/models/org/repo/options").body.text(), "options id=org/repo");
  EXPECT_EQ(ask("GET", "/a/1/b").body.text(), "ab x=1");
  EXPECT_EQ(ask("GET", "/a/1/2/b").head.status, 404u);
  EXPECT_EQ(ask("GET", "/nothing").head.status, 404u);
}

TEST_F(RoutesTest, OtherMethodsAre405WithAllow) {
  const auto response = ask("GET", "/load");
  EXPECT_EQ(response.head.status, 405u);
  EXPECT_EQ(response.head.headers.get("Allow"), "OPTIONS, POST");
  EXPECT_EQ(ask("OPTIONS", "/load").head.status, 204u);
}

TEST_F(RoutesTest, CallersNeedOneOfTheRightsThatARouteNames) {
  RouteTable guarded{{{"GET", "/open", reply_with("open")},
                      {"GET", "/shut", reply_with("shut"), 6},
                      {"POST", "/shut", reply_with("post"), 8}},
                     [](const Request&, unsigned status) { return Response::text(status, "text/plain", "no"); }};
  const auto status = [&](std::uint32_t rights, std::string method, std::string target) {
    Request request;
    request.head.method = std::move(method);
    request.head.target = std::move(target);
    request.caller.rights = rights;
    return async::run_blocking(loop, guarded.handle(std::move(request))).head.status;
  };
  EXPECT_EQ(status(0, "GET", "/open"), 200u);
  for (const std::uint32_t rights : {2u, 4u, 6u, ~0u}) EXPECT_EQ(status(rights, "GET", "/shut"), 200u) << rights;
  for (const std::uint32_t rights : {0u, 1u, 8u}) {
    EXPECT_EQ(status(rights, "GET", "/shut"), 403u) << rights;
    EXPECT_EQ(status(rights, "HEAD", "/shut"), 403u) << rights;
  }
  EXPECT_EQ(status(2, "POST", "/shut"), 403u);
  EXPECT_EQ(status(2, "PUT", "/shut"), 405u);
  for (const auto* method : {"GET", "PUT", "OPTIONS", "HEAD"}) {
    EXPECT_EQ(status(0, method, "/nothing"), 403u) << "who has no rights learns of no paths";
    if (method != std::string_view("GET"))
      EXPECT_EQ(status(0, method, "/open"), method == std::string_view("HEAD") ? 200u : 403u);
  }
}

TEST_F(RoutesTest, HeadAnswersAsGetWouldAndNever404OnAKnownPath) {
  const auto response = ask("HEAD", "/load");
  EXPECT_EQ(response.head.status, 405u);
  EXPECT_EQ(response.head.headers.get("Allow"), "OPTIONS, POST");
  EXPECT_EQ(ask("HEAD", "/models").head.status, 200u);
  EXPECT_EQ(ask("HEAD", "/nothing").head.status, 404u);
}

TEST_F(RoutesTest, SlashesAtTheEndChangeNothing) {
  EXPECT_EQ(ask("GET", "/models/?x=1").body.text(), "list");
  EXPECT_EQ(ask("POST", "/load//").body.text(), "load");
  EXPECT_EQ(ask("GET", "/models/org/repo/").body.text(), "one id=org/repo");
  EXPECT_EQ(ask("GET", "/").head.status, 404u);
  EXPECT_EQ(ask("OPTIONS", "*").head.status, 204u);
}

TEST(Sse, CommentsSayNothing) {
  EXPECT_FALSE(has_events(""));
  EXPECT_FALSE(has_events(": ping\n\n: ping\n\n"));
  EXPECT_TRUE(has_events("data: x\n\n"));
  EXPECT_TRUE(has_events(": ping\n\ndata: x\n\n"));
  EXPECT_TRUE(has_events("event: x\n\n"));
}

}  // namespace
}  // namespace corral::http
