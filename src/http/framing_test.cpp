// Where messages begin and end, who is asked twice and who is let go, over real sockets.
#include <set>
#include <stdexcept>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <fmt/format.h>

#include "http/beast/buffered_socket.h"
#include "http/http_fixture_for_tests.h"
#include "http/request_id.h"

namespace corral::http {
namespace {

class FramingTest : public HttpTest {};

TEST_F(FramingTest, NoBytesOfABodyPassAsTheNextRequest) {
  serve();
  run([&]() -> Task<void> {
    const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::pair<std::string, std::string> rows[] = {
        {"Transfer-Encoding: xchunked\r\n", "501"},
        {"Transfer-Encoding: gzip\r\n", "501"},
        {"Transfer-Encoding: gzip, chunked\r\n", "501"},
        {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "501"},
        {"Transfer-Encoding:\r\nTransfer-Encoding: gzip\r\n", "400"},
        {"Transfer-Encoding: \r\n", "400"},
        {"Transfer-Encoding: chunked, chunked\r\n", "400"},
        {"Transfer-Encoding: chunked, identity\r\n", "400"},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400"},
        {"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "400"},
        {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "400"},
        {"Content-Length: 4\r\nTransfer-Encoding: gzip\r\n", "400"},
        {"Content-Length: 4\r\nContent-Length: 5\r\n", "400"},
        {"Content-Length: -4\r\n", "400"},
        {"Content-Length: 4, \r\n", "400"},
    };
    for (const auto& [fields, status] : rows) {
      const auto answer = co_await raw("POST / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + smuggled);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status)) << fields << answer;
      EXPECT_EQ(answer.find("/smuggled"), std::string::npos) << fields << answer;
    }
  });
}

TEST_F(FramingTest, HostIsThereOnce) {
  serve();
  run([&]() -> Task<void> {
    for (const std::string fields : {"", "Host:\r\n", "Host: x\r\nHost: x\r\n", "Host: a b\r\n", "Host: a/b\r\n"}) {
      const auto answer = co_await raw("GET / HTTP/1.1\r\n" + fields + "\r\n");
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << fields << answer;
      EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    }
  });
}

// So that a filter can say it as the clients of that path expect.
TEST_F(FramingTest, WhoIsRefusedBeforeTheHandlerIsToldByThePath) {
  handler.function = [](Request) -> Task<Response> {
    throw std::runtime_error("out of order");
    co_return Response();
  };
  std::string id;
  handler.rewrite = [&](std::string_view path, Response answer) {
    answer.body = Body(fmt::format("of {}", path));
    id = answer.head.headers.get("X-Request-Id");
    return answer;
  };
  serve();
  run([&]() -> Task<void> {
    const std::string many(100'000, 'x');
    const std::string rows[][3] = {
        {"POST /a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "501", "of /a"},
        {"GET /a/ HTTP/1.1\r\nHost : x\r\n\r\n", "400", "of /a"},
        {"GET /a HTTP/1.1\r\n\r\n", "400", "of /a"},
        {"GET http://x/a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "400", "of /a"},
        {"GET /a HTTP/1.1\r\nHost: x\r\nMany: " + many + "\r\n\r\n", "431", "of /a"},
        {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "500", "of /a"},
        {"GET /" + many + " HTTP/1.1\r\nHost: x\r\n\r\n", "431", "of /"},
        {"nonsense\r\n\r\n", "400", "of /"},
    };
    for (const auto& [bytes, status, reply] : rows) {
      const auto answer = co_await raw(bytes);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status)) << bytes.substr(0, 80) << answer;
      EXPECT_TRUE(answer.ends_with("\r\n\r\n" + reply)) << bytes.substr(0, 80) << answer;
      EXPECT_NE(answer.find("\r\nX-Request-Id: req-"), std::string::npos) << "a refusal has an id, too" << answer;
      EXPECT_NE(answer.find("\r\nX-Request-Id: " + id + "\r\n"), std::string::npos) << answer;
    }
  });
}

TEST_F(FramingTest, AbsoluteTargetIsTakenWithItsHost) {
  std::string host;
  handler.function = [&](Request request) -> Task<Response> {
    host = request.head.headers.get("Host");
    co_return Response::text(200, "text/plain", request.head.target);
  };
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw("GET http://other:1/a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(answer.ends_with("\r\n\r\n/a?b")) << answer;
    EXPECT_EQ(host, "other:1");
    EXPECT_TRUE((co_await raw("GET nothing HTTP/1.1\r\nHost: x\r\n\r\n")).starts_with("HTTP/1.1 400"));
  });
}

TEST_F(FramingTest, EmptyLinesBetweenRequestsAreSkipped) {
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw(
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: "
        "close\r\n\r\n");
    EXPECT_NE(answer.find("POST /1 hi"), std::string::npos) << answer;
    EXPECT_NE(answer.find("GET /2"), std::string::npos) << answer;
  });
}

TEST_F(FramingTest, EmptyLineAndLastChunkMayComeByteByByte) {
  serve();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    const std::string request =
        "\r\nPOST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (const char& byte : request) {
      co_await send(socket, {&byte, 1});
      for (int i = 0; i < 3; ++i) co_await turn();
    }
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  });
}

TEST_F(FramingTest, ClientThatLeavesIsNoticedThoughBytesLieBehindItsBody) {
  async::Event never(pool.home().executor()), started(pool.home().executor());
  bool unwound = false;
  handler.function = [&](Request request) -> Task<Response> {
    const AtEnd mark{unwound};
    co_await request.body.read_all(100);
    started.set();
    co_await never.wait();
    co_return Response{};
  };
  serve();
  run([&]() -> Task<void> {
    for (const std::string extra : {"\n", "GET / HTTP/1.1\r\n", ""}) {
      unwound = false;
      started.reset();
      {
        auto socket = co_await connected();
        co_await send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody" + extra);
        co_await started.wait();
        co_await settled();
      }
      while (!unwound) co_await turn();
    }
  });
}

TEST_F(FramingTest, NamesOfRequestsAreOursAndCannotBeGuessed) {
  std::set<std::string> ids;
  handler.function = [&](Request request) -> Task<Response> {
    ids.insert(request.id.value());
    co_return Response::text(200, "text/plain", "");
  };
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    auto head = post("/");
    head.headers.add("X-Request-Id", "seven");
    for (int i = 0; i < 2; ++i) {
      const auto response = co_await http.send(head, "");
      EXPECT_EQ(response->head.headers.get("X-Client-Request-Id"), "seven");
      EXPECT_TRUE(ids.contains(std::string(response->head.headers.get("X-Request-Id"))));
    }
    EXPECT_EQ(ids.size(), 2u);
    EXPECT_FALSE(ids.contains("seven"));
  });
}

TEST_F(FramingTest, NamesOfRequestsAreTakenFromThoseWhoAreTrusted) {
  handler.function = [&](Request request) -> Task<Response> {
    co_return Response::text(200, "text/plain", request.id.value());
  };
  ServerOptions options;
  options.take_request_ids = true;
  serve(options);
  run([&]() -> Task<void> {
    auto http = client();
    auto head = post("/");
    head.headers.add("X-Request-Id", "seven");
    auto response = co_await http.send(head, "");
    EXPECT_EQ(*(co_await response->body.read_all(100)), "seven");
  });
}

TEST(RequestIds, DifferInNearlyEveryDigit) {
  std::set<std::string> seen;
  std::array<std::set<char>, 32> digits;
  for (int i = 0; i < 2000; ++i) {
    const auto id = new_request_id().value();
    ASSERT_EQ(id.size(), 36u);
    EXPECT_TRUE(id.starts_with("req-"));
    EXPECT_TRUE(seen.insert(id).second);
    for (std::size_t at = 0; at < digits.size(); ++at) digits[at].insert(id[at + 4]);
  }
  for (const auto& values : digits) EXPECT_EQ(values.size(), 16u);
}

// A server that closes its connections when it likes, without a word.
class SendOnceTest : public ::testing::Test {
 protected:
  using Acceptor = asio::ip::tcp::acceptor;

  // How a connection ends after its answered requests.
  enum class End {
    asked,   // it reads one more request, and closes without a byte
    begun,   // it reads one more request, and closes within the head of the answer
    at_once  // it sends its end behind its last answer, and still reads what comes
  };

  // Serves as many connections as `answered` has entries: how many requests each answers before its end.
  Task<void> serve(std::vector<std::size_t> answered, End end) {
    for (const auto count : answered) {
      asio::ip::tcp::socket socket(loop.context());
      co_await acceptor.async_accept(socket, async::use_task);
      ++accepted;
      for (std::size_t request = 0;; ++request) {
        if (request == count && end == End::at_once) {
          socket.shutdown(asio::socket_base::shutdown_send);
          ++ended;
        }
        std::string text;
        const auto [error, size] =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(text), "\r\n\r\nbody", async::as_value);
        if (error) break;
        ++seen;
        static constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        if (request == count && end == End::at_once) break;
        const auto answer = request < count ? kAnswer : kAnswer.substr(0, end == End::begun ? 10 : 0);
        co_await asio::async_write(socket, asio::buffer(answer), async::use_task);
        if (request == count) break;
      }
      if (forgets) acceptor.close();
    }
  }

  // The results of `requests`, one after the other. "": it was answered.
  std::vector<std::string> run(std::string method, std::size_t requests, std::vector<std::size_t> answered, End end) {
    std::vector<std::string> results;
    auto scenario = [&]() -> Task<void> {
      async::TaskGroup group(loop.executor());
      Client client(loop.executor(), clock, TcpEndpoint{"127.0.0.1", acceptor.local_endpoint().port()});
      group.spawn("server", serve(std::move(answered), end));
      const RequestHead head{std::move(method), "/", {}};
      for (std::size_t i = 0; i < requests; ++i) {
        const auto answer = co_await client.send(head, "body");
        results.push_back(answer ? "" : answer.error().code.message());
        while (end == End::at_once && ended <= i) co_await asio::post(async::use_task);
      }
      group.cancel();
      co_await group.join();
    };
    async::run_blocking(loop, scenario());
    return results;
  }

  SystemClock clock;
  async::Loop loop;
  Acceptor acceptor{loop.context(), {asio::ip::make_address("127.0.0.1"), 0}};
  std::size_t seen = 0, accepted = 0;
  std::size_t ended = 0;  // connections whose end was sent at once
  bool forgets = false;   // accepts one connection only
};

TEST_F(SendOnceTest, RequestWithoutAByteOnAKeptConnectionIsSentOnceMoreOnANewOne) {
  for (const std::string method : {"POST", "GET"}) {
    seen = 0;
    EXPECT_EQ(run(method, 2, {1, 1}, End::asked), std::vector<std::string>(2)) << method;
    EXPECT_EQ(seen, 3u) << method;
  }
}

TEST_F(SendOnceTest, EachRequestIsAnsweredThoughTheServerClosesBehindEachAnswer) {
  EXPECT_EQ(run("POST", 20, std::vector<std::size_t>(40, 1), End::at_once), std::vector<std::string>(20));
  EXPECT_EQ(seen, 20u) << "nothing is sent on a connection whose end has come";
}

TEST_F(SendOnceTest, RequestIsNotSentAThirdTime) {
  EXPECT_EQ(run("POST", 2, {1, 0, 1}, End::asked), (std::vector<std::string>{"", "peer_closed"}));
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(accepted, 2u);
}

TEST_F(SendOnceTest, RequestOnANewConnectionIsNotSentAgain) {
  EXPECT_EQ(run("POST", 1, {0, 1}, End::asked), std::vector<std::string>{"peer_closed"});
  EXPECT_EQ(run("GET", 1, {0, 1}, End::asked), std::vector<std::string>{"peer_closed"});
  EXPECT_EQ(seen, 2u);
}

TEST_F(SendOnceTest, RequestWhoseAnswerHasBegunIsNotSentAgain) {
  EXPECT_EQ(run("POST", 2, {1, 1}, End::begun), (std::vector<std::string>{"", "peer_closed"}));
  EXPECT_EQ(seen, 2u);
}

TEST_F(SendOnceTest, ServerThatIsGoneSinceWasNotUnreachableAtFirst) {
  forgets = true;
  EXPECT_EQ(run("POST", 2, {1}, End::asked), (std::vector<std::string>{"", "peer_closed"}));
  EXPECT_EQ(seen, 2u);
}

class WireTest : public ::testing::Test {
 protected:
  using Local = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
  WireTest() : left_(loop.executor()), right(loop.executor()) {
    asio::local::connect_pair(left_, right);
    wire.emplace(Socket(std::move(left_)));
  }

  async::Loop loop;
  Local left_, right;
  std::optional<BufferedSocket> wire;
};

TEST_F(WireTest, BufferThatGrewIsGivenBack) {
  auto scenario = [&]() -> Task<void> {
    const auto at_first = wire->buffer_size();
    std::size_t read = 0;
    async::TaskGroup group(loop.executor());
    group.spawn("send", [](auto& socket) -> Task<void> {
      const std::string text(1 << 20, 'x');
      co_await asio::async_write(socket, asio::buffer(text), async::use_task);
    }(right));
    while (read < (1 << 20)) {
      EXPECT_TRUE(co_await wire->fill());
      if (wire->unread().size() < wire->buffer_size() && read + wire->unread().size() < (1 << 20)) continue;
      read += wire->unread().size();
      wire->consume(wire->unread().size());
    }
    EXPECT_GT(wire->buffer_size(), 10 * at_first);
    wire->shrink();
    EXPECT_EQ(wire->buffer_size(), at_first);
    co_await group.join();
  };
  async::run_blocking(loop, scenario());
}

TEST_F(WireTest, WritesAllOfWhatASlowReaderTakesInParts) {
  auto scenario = [&]() -> Task<void> {
    std::string got;
    async::TaskGroup group(loop.executor());
    group.spawn("read", [](auto& socket, auto& all) -> Task<void> {
      co_await asio::async_read(socket, asio::dynamic_buffer(all), asio::transfer_exactly(3'000'007), async::as_value);
    }(right, got));
    const std::string one(1'000'000, 'a'), two, three(2'000'007, 'c');
    const std::array buffers = {asio::const_buffer(one.data(), one.size()), asio::const_buffer(two.data(), two.size()),
                                asio::const_buffer(three.data(), three.size())};
    EXPECT_TRUE(co_await wire->write(buffers));
    co_await group.join();
    EXPECT_EQ(got, one + three);
  };
  async::run_blocking(loop, scenario());
}

}  // namespace
}  // namespace corral::http
