// Server and client over real sockets, on one loop.
#include "http/http_fixture_for_tests.h"

namespace corral::http {
namespace {

TEST_F(HttpTest, EchoesManyRequestsOverOneConnection) {
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    for (int i = 0; i < 20; ++i) {
      auto response = co_await http.send(post("/a?b=" + std::to_string(i)), "body");
      EXPECT_TRUE(response);
      if (!response) co_return;
      EXPECT_EQ(response->head.status, 200u);
      EXPECT_TRUE(response->head.headers.has("X-Request-Id"));
      const auto text = co_await response->body.read_all(1000);
      EXPECT_EQ(*text, "POST /a?b=" + std::to_string(i) + " body");
      EXPECT_EQ(server->connections(), 1u);
    }
  });
}

TEST_F(HttpTest, MegabytesPassBothWays) {
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    const std::string big(5 << 20, 'x');
    auto response = co_await http.send(post("/"), big);
    const auto text = co_await response->body.read_all(64 << 20);
    EXPECT_EQ(text->size(), big.size() + 7);
  });
}

TEST_F(HttpTest, UnixSocketServesAndItsFileGoesAtTheEnd) {
  const auto path = std::filesystem::temp_directory_path() / ("corral-http-test-" + std::to_string(getpid()) + ".sock");
  serve();
  ASSERT_TRUE(server->listen_unix(path));
  run([&]() -> Task<void> {
    Client http(pool.home().executor(), timers, UnixEndpoint{path});
    auto response = co_await http.send(post("/"), "hi");
    EXPECT_EQ(*(co_await response->body.read_all(100)), "POST / hi");
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(HttpTest, StreamArrivesPieceByPieceWhileTheServerStillProduces) {
  async::Event never(pool.home().executor());
  bool dropped = false;
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(
        std::make_unique<Pieces>(std::vector<std::string>{"one", "two"}, Pieces::End::hang, &never, &dropped));
  };
  serve();
  run([&]() -> Task<void> {
    {
      auto http = client();
      auto response = co_await http.send(post("/"), "");
      EXPECT_EQ(response->head.headers.get("content-type"), "text/event-stream");
      EXPECT_EQ(*(co_await response->body.source()->read()), "one");
      EXPECT_EQ(*(co_await response->body.source()->read()), "two");
    }  // the client leaves in the middle: the source must be dropped
    while (!dropped) co_await asio::post(async::use_task);
  });
}

TEST_F(HttpTest, BodyThatIsAbortedEndsTheReadUnderWayAndTellsTheServer) {
  async::Event never(pool.home().executor());
  bool dropped = false;
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(
        std::make_unique<Pieces>(std::vector<std::string>{"one"}, Pieces::End::hang, &never, &dropped));
  };
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    auto response = co_await http.send(post("/"), "");
    EXPECT_EQ(*(co_await response->body.source()->read()), "one");
    pool.home().post([&] { response->body.source()->abort(); });
    const auto rest = co_await response->body.source()->read();
    EXPECT_FALSE(rest);
    const auto later = co_await response->body.source()->read();
    EXPECT_FALSE(later);
    while (!dropped) co_await asio::post(async::use_task);
  });
}

TEST_F(HttpTest, ClientThatLeavesCancelsAHandlerThatStillThinks) {
  async::Event never(pool.home().executor());
  async::Event started(pool.home().executor());
  bool unwound = false;
  handler.function = [&](Request) -> Task<Response> {
    const AtEnd mark{unwound};
    started.set();
    co_await never.wait();
    co_return Response{};
  };
  serve();
  run([&]() -> Task<void> {
    {
      auto socket = co_await connected();
      const std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
      co_await send(socket, request);
      co_await started.wait();
    }
    while (!unwound) co_await asio::post(async::use_task);
  });
}

TEST_F(HttpTest, ClientThatLeavesAfterABodyThatCameLaterThanItsHeadIsNoticedToo) {
  async::Event never(pool.home().executor());
  async::Event entered(pool.home().executor()), started(pool.home().executor());
  bool unwound = false;
  handler.function = [&](Request request) -> Task<Response> {
    const AtEnd mark{unwound};
    entered.set();
    co_await request.body.read_all(100);
    started.set();
    co_await never.wait();
    co_return Response{};
  };
  serve();
  run([&]() -> Task<void> {
    {
      auto socket = co_await connected();
      const std::string_view head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", body = "body";
      co_await send(socket, head);
      co_await entered.wait();
      co_await send(socket, body);
      co_await started.wait();
    }
    while (!unwound) co_await asio::post(async::use_task);
  });
}

TEST_F(HttpTest, BodyThatFailsMidwayReachesTheClientAsTruncated) {
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(std::make_unique<Pieces>(std::vector<std::string>{"one"}, Pieces::End::fail));
  };
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    auto response = co_await http.send(post("/"), "");
    const auto all = co_await response->body.read_all(100);
    EXPECT_FALSE(all);
    EXPECT_EQ(all.error().code, errc::truncated);
  });
}

TEST_F(HttpTest, HandlerThatThrowsIsA500) {
  handler.function = [&](Request) -> Task<Response> {
    throw std::runtime_error("bug");
    co_return Response{};
  };
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    auto response = co_await http.send(post("/"), "");
    EXPECT_EQ(response->head.status, 500u);
  });
}

TEST_F(HttpTest, MalformedRequestsGetA4xxAndAClose) {
  ServerOptions options;
  options.max_header_bytes = 2000;
  options.max_body_bytes = 1000;
  serve(options);
  run([&]() -> Task<void> {
    EXPECT_TRUE((co_await raw("nonsense\r\n\r\n")).starts_with("HTTP/1.1 400"));
    EXPECT_TRUE((co_await raw("GET / HTTP/3.0\r\n\r\n")).starts_with("HTTP/1.1 400"));
    EXPECT_TRUE(
        (co_await raw("GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")).starts_with("HTTP/1.1 400"));
    EXPECT_TRUE((co_await raw("GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"))
                    .starts_with("HTTP/1.1 400"));
    EXPECT_TRUE(
        (co_await raw("GET / HTTP/1.1\r\nX: " + std::string(4000, 'x') + "\r\n\r\n")).starts_with("HTTP/1.1 431"));
    EXPECT_TRUE((co_await raw("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n")).starts_with("HTTP/1.1 413"));
  });
}

TEST_F(HttpTest, OldClientGetsAStreamThatEndsByClosing) {
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(
        std::make_unique<Pieces>(std::vector<std::string>{"one", "two"}, Pieces::End::finish));
  };
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(answer.ends_with("\r\n\r\nonetwo")) << answer;
    EXPECT_EQ(answer.find("chunked"), std::string::npos);
  });
}

TEST_F(HttpTest, HeadTellsTheLengthThatGetWouldHave) {
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw("HEAD /abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  });
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw(
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\nConnection: "
        "close\r\n\r\n");
    const auto one = answer.find("GET /1"), two = answer.find("GET /2"), three = answer.find("GET /3");
    EXPECT_LT(one, two);
    EXPECT_LT(two, three);
    EXPECT_NE(three, std::string::npos);
  });
}

TEST_F(HttpTest, ChunkedRequestBodyIsJoined) {
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\n\r\n");
    EXPECT_TRUE(answer.ends_with("POST / abcdefg")) << answer;
  });
}

TEST_F(HttpTest, Expect100ContinueIsAnsweredWhenTheBodyIsWanted) {
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")) << answer;
  });
}

TEST_F(HttpTest, PortInUseIsSaidSo) {
  serve();
  const auto second = server->listen_tcp("127.0.0.1", port);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::address_in_use);
  run([&]() -> Task<void> { co_return; });
}

TEST_F(HttpTest, NobodyListeningIsConnectFailed) {
  serve();
  run([&]() -> Task<void> {
    Client http(pool.home().executor(), timers, UnixEndpoint{"/nonexistent/socket"});
    const auto response = co_await http.send(post("/"), "");
    EXPECT_EQ(response.error().code, errc::connect_failed);
  });
}

TEST_F(HttpTest, StopLetsARunningRequestFinish) {
  async::Event started(pool.home().executor()), go(pool.home().executor());
  handler.function = [&](Request) -> Task<Response> {
    started.set();
    co_await go.wait();
    co_return Response::text(200, "text/plain", "done");
  };
  serve();
  auto driver = [&]() -> Task<void> {
    async::TaskGroup group(pool.home().executor());
    std::string answer;
    auto request = [&]() -> Task<void> {
      auto http = client();
      auto response = co_await http.send(post("/"), "");
      if (response) answer = *(co_await response->body.read_all(100));
    };
    group.spawn("request", request());
    co_await started.wait();
    auto stop = [&]() -> Task<void> { co_await server->stop(20s); };
    group.spawn("stop", stop());
    go.set();
    co_await group.join();
    EXPECT_EQ(answer, "done");
  };
  async::run_blocking(pool.home(), driver());
}

TEST_F(HttpTest, StopCutsAHangingRequestAtItsDeadline) {
  async::Event started(pool.home().executor()), never(pool.home().executor());
  handler.function = [&](Request) -> Task<Response> {
    started.set();
    co_await never.wait();
    co_return Response{};
  };
  serve();
  auto driver = [&]() -> Task<void> {
    async::TaskGroup group(pool.home().executor());
    bool failed = false;
    auto request = [&]() -> Task<void> {
      auto http = client();
      const auto response = co_await http.send(post("/"), "");
      failed = !response;
    };
    group.spawn("request", request());
    co_await started.wait();
    co_await server->stop(10ms);
    co_await group.join();
    EXPECT_TRUE(failed);
  };
  async::run_blocking(pool.home(), driver());
}

TEST_F(HttpTest, WhatIsSaidAtTheLastCallStillGoesOut) {
  async::Event started(pool.home().executor()), called(pool.home().executor());
  handler.function = [&](Request) -> Task<Response> {
    started.set();
    co_await called.wait();
    co_return Response::text(200, "text/plain", "it stops");
  };
  serve();
  auto driver = [&]() -> Task<void> {
    async::TaskGroup group(pool.home().executor());
    std::string answer;
    auto request = [&]() -> Task<void> {
      auto http = client();
      auto response = co_await http.send(post("/"), "");
      if (response) answer = *(co_await response->body.read_all(100));
    };
    group.spawn("request", request());
    co_await started.wait();
    co_await server->stop(10ms, [&] { called.set(); });
    co_await group.join();
    EXPECT_EQ(answer, "it stops");
  };
  async::run_blocking(pool.home(), driver());
}

TEST_F(HttpTest, AConnectionIsKeptForAMinute) {
  serve();
  int opened = 0;
  auto open = [&]() -> Task<Result<UniqueFd>> {
    ++opened;
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) co_return fail(errc::connect_failed, "none");
    server->adopt(UniqueFd(ends[0]), "node x");
    co_return UniqueFd(ends[1]);
  };
  run([&]() -> Task<void> {
    Client to(pool.home().executor(), timers, OpenedEndpoint{"node x", open});
    const auto ask = [&]() -> Task<void> {
      const auto head = post("/");
      auto answer = co_await to.send(head, "body");
      EXPECT_TRUE(answer) << answer.error().message;
      const auto text = co_await answer->body.read_all(100);
      EXPECT_TRUE(text);
    };
    co_await ask();
    timers.advance(std::chrono::seconds(60));
    co_await ask();
    EXPECT_EQ(opened, 1);
    timers.advance(std::chrono::seconds(61));
    co_await ask();
    EXPECT_EQ(opened, 2);
  });
}

// Both ends of a socket pair: how requests come and go that others carry.
TEST_F(HttpTest, ServesAndAsksOverDescriptorsOfOthers) {
  std::vector<std::string> peers;
  handler.function = [&](Request request) -> Task<Response> {
    peers.push_back(request.peer);
    co_return Response::text(200, "text/plain", "hello");
  };
  serve();
  int opened = 0;
  bool refuses = false;
  auto open = [&]() -> Task<Result<UniqueFd>> {
    if (refuses) co_return fail(errc::connect_failed, "no way there");
    ++opened;
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) co_return fail(errc::connect_failed, "none");
    server->adopt(UniqueFd(ends[0]), "node x");
    co_return UniqueFd(ends[1]);
  };
  run([&]() -> Task<void> {
    {
      Client to(pool.home().executor(), timers, OpenedEndpoint{"node x", open});
      for (int i = 0; i < 3; ++i) {
        const auto head = post("/");
        auto answer = co_await to.send(head, "body");
        EXPECT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(*co_await answer->body.read_all(100), "hello");
      }
    }
    refuses = true;
    Client to(pool.home().executor(), timers, OpenedEndpoint{"node x", open});
    const auto head = post("/");
    const auto answer = co_await to.send(head, "");
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "no way there");
  });
  EXPECT_EQ(opened, 1);  // and kept
  EXPECT_EQ(peers, std::vector<std::string>(3, "node x"));
  // Who comes after the end finds a closed door.
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd mine(ends[1]);
  server->adopt(UniqueFd(ends[0]), "late");
  pool.home().context().restart();
  pool.home().context().poll();
  char byte = 0;
  EXPECT_EQ(::recv(mine.get(), &byte, 1, MSG_DONTWAIT), 0);
}

}  // namespace
}  // namespace corral::http
