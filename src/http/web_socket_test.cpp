// WebSockets: the handshake, messages in both directions, control frames, limits and ends, over real sockets.
#include "http/web_socket.h"

#include <array>
#include <functional>
#include <optional>

#include <gmock/gmock.h>

#include "http/http_fixture_for_tests.h"

namespace corral::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kHandshake =
    "GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// Opcodes of frames.
constexpr unsigned kMore = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10;

// A frame of a client; its mask is 0, so the payload stays readable.
std::string frame(unsigned opcode, std::string_view payload, bool last = true) {
  std::string bytes(1, static_cast<char>((last ? 0x80u : 0u) | opcode));
  if (payload.size() < 126) {
    bytes.push_back(static_cast<char>(0x80 | payload.size()));
  } else {
    bytes.push_back(static_cast<char>(0x80 | 126));
    bytes.push_back(static_cast<char>(payload.size() >> 8));
    bytes.push_back(static_cast<char>(payload.size() & 0xff));
  }
  return bytes.append(4, '\0').append(payload);
}

struct Frame {
  unsigned opcode = 0;
  std::string payload;
  unsigned close_code() const {
    if (payload.size() < 2) return 0;
    return static_cast<unsigned>(static_cast<unsigned char>(payload[0])) << 8 | static_cast<unsigned char>(payload[1]);
  }
};

class WebSocketTest : public HttpTest {
 protected:
  using Serve = std::function<Task<void>(WebSocket&)>;

  void answer_with(Serve serve_socket) {
    handler.function = [serve_socket = std::move(serve_socket)](Request request) -> Task<Response> {
      if (!asks_for_web_socket(request.head)) co_return Response::text(426, "text/plain", "a socket only");
      Response accepted{ResponseHead{101, {}}, {}};
      accepted.upgrade = [serve_socket](WebSocket& socket, Handler&) { return serve_socket(socket); };
      co_return accepted;
    };
  }
  static Task<void> echo(WebSocket& socket) {
    while (true) {
      const auto message = co_await socket.read();
      if (!message) co_return;
      const std::string text = "> " + *message;
      const auto written = co_await socket.write(text);
      if (!written) co_return;
    }
  }
  // Connected, with the head of the answer.
  Task<asio::ip::tcp::socket> opened(std::string* head = nullptr) {
    auto socket = co_await connected();
    co_await send(socket, kHandshake);
    std::string answer;
    auto buffer = asio::dynamic_buffer(answer);
    co_await asio::async_read_until(socket, buffer, "\r\n\r\n", async::use_task);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << "a frame before any message: " << answer;
    if (head != nullptr) *head = answer;
    co_return socket;
  }
  // The next frame; opcode 0: the connection has ended.
  static Task<Frame> next(asio::ip::tcp::socket& socket) {
    std::array<unsigned char, 4> head{};
    const auto begin = asio::buffer(head.data(), 2);
    const auto [error, count] = co_await asio::async_read(socket, begin, async::as_value);
    if (error) co_return Frame();
    std::size_t size = head[1];
    if (size == 126) {
      const auto longer = asio::buffer(head.data() + 2, 2);
      co_await asio::async_read(socket, longer, async::use_task);
      size = static_cast<std::size_t>(head[2]) << 8 | head[3];
    }
    Frame read{.opcode = head[0] & 0x0fu, .payload = std::string(size, '\0')};
    const auto rest = asio::buffer(read.payload);
    co_await asio::async_read(socket, rest, async::use_task);
    co_return read;
  }
};

TEST_F(WebSocketTest, IsAnsweredWithTheKeyOfTheStandard) {
  answer_with(echo);
  serve();
  run([&]() -> Task<void> {
    std::string head;
    auto socket = co_await opened(&head);
    EXPECT_THAT(head, StartsWith("HTTP/1.1 101 "));
    EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    EXPECT_THAT(head, HasSubstr("X-Request-Id: "));
    const auto hello = frame(kText, "hello");
    co_await send(socket, hello);
    const auto answer = co_await next(socket);
    EXPECT_EQ(answer.opcode, kText);
    EXPECT_EQ(answer.payload, "> hello");
  });
}

TEST_F(WebSocketTest, ARequestWithABodyThatWasNotReadIsRefused) {
  answer_with(echo);
  serve();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    auto request = std::string(kHandshake);
    request.insert(request.size() - 2, "Expect: 100-continue\r\nContent-Length: 5\r\n");
    co_await send(socket, request);
    std::string answer;
    auto buffer = asio::dynamic_buffer(answer);
    co_await asio::async_read_until(socket, buffer, "no body", async::use_task);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  });
}

TEST_F(WebSocketTest, MessagesWithTheHandshakeAndInFragmentsAreWhole) {
  answer_with(echo);
  serve();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    auto bytes = std::string(kHandshake) + frame(kText, "early");
    bytes += frame(kText, "a", false) + frame(kPing, "!") + frame(kMore, std::string(300, 'b'));
    co_await send(socket, bytes);
    std::string head;
    std::size_t size = 0;
    {
      auto buffer = asio::dynamic_buffer(head);
      size = co_await asio::async_read_until(socket, buffer, "\r\n\r\n", async::use_task);
    }
    // What was read behind the head are frames.
    std::string rest = head.substr(size);
    while (rest.find("> a" + std::string(300, 'b')) == std::string::npos) {
      std::array<char, 1024> more{};
      const auto space = asio::buffer(more);
      const auto count = co_await socket.async_read_some(space, async::use_task);
      rest.append(more.data(), count);
    }
    EXPECT_THAT(rest, HasSubstr("\x81\x07> early"));
    EXPECT_THAT(rest, HasSubstr("\x8a\x01!")) << "a pong";
  });
}

TEST_F(WebSocketTest, PingsAreAnsweredWhileTheHandlerWorks) {
  async::Event never(pool.home().executor());
  bool ended = false;
  answer_with([&](WebSocket& socket) -> Task<void> {
    const AtEnd at_end{ended};
    co_await socket.read();
    co_await never.wait();
  });
  serve();
  run([&]() -> Task<void> {
    auto socket = co_await opened();
    const auto bytes = frame(kText, "x") + frame(kPing, "there?");
    co_await send(socket, bytes);
    const auto pong = co_await next(socket);
    EXPECT_EQ(pong.opcode, kPong);
    EXPECT_EQ(pong.payload, "there?");
    EXPECT_FALSE(ended);
    // A good-bye without the end of the connection cancels the handler, too.
    const auto bye = frame(kClose, std::string("\x03\xe8", 2));
    co_await send(socket, bye);
    co_await rest_of(socket);
    while (server->connections() > 0) co_await turn();
    EXPECT_TRUE(ended);
  });
}

TEST_F(WebSocketTest, TheEndOfTheConnectionCancelsTheHandler) {
  async::Event never(pool.home().executor()), began(pool.home().executor());
  bool ended = false;
  answer_with([&](WebSocket& socket) -> Task<void> {
    const AtEnd at_end{ended};
    co_await socket.read();
    began.set();
    co_await never.wait();
  });
  serve();
  run([&]() -> Task<void> {
    auto socket = co_await opened();
    const auto message = frame(kText, "x");
    co_await send(socket, message);
    co_await began.wait();
    socket.close();
    while (server->connections() > 0) co_await turn();
    EXPECT_TRUE(ended);
  });
}

TEST_F(WebSocketTest, WhatIsNotAllowedEndsItWithACode) {
  async::Event never(pool.home().executor());
  answer_with([&](WebSocket& socket) -> Task<void> {
    co_await socket.read();
    co_await never.wait();
  });
  serve({.max_body_bytes = 1000});
  run([&]() -> Task<void> {
    std::string many;
    for (std::size_t i = 0; i < WebSocket::kMaxWaiting + 2; ++i) many += frame(kText, "x");
    struct Case {
      std::string bytes;
      unsigned code;
    };
    const std::vector<Case> cases = {{frame(kText, std::string(1001, 'x')), 1009},
                                     {frame(kBinary, "x"), 1003},
                                     {frame(kText, "\xff"), 1007},
                                     {many, 1008}};
    for (const auto& [bytes, code] : cases) {
      auto socket = co_await opened();
      co_await send(socket, bytes);
      const auto end = co_await next(socket);
      EXPECT_EQ(end.opcode, kClose) << code;
      EXPECT_EQ(end.close_code(), code);
    }
  });
}

TEST_F(WebSocketTest, AStoppedServerSaysGoodBye) {
  answer_with(echo);
  serve();
  std::optional<asio::ip::tcp::socket> socket;
  Frame last;
  const auto farewell = [&]() -> Task<void> {
    last = co_await next(*socket);
    const auto bye = frame(kClose, std::string("\x03\xe9", 2));
    co_await send(*socket, bye);
    socket->close();
  };
  async::TaskGroup clients(pool.home().executor());
  run([&]() -> Task<void> {
    socket = co_await opened();
    clients.spawn("client", farewell());
  });
  EXPECT_EQ(last.opcode, kClose);
  EXPECT_EQ(last.close_code(), 1001u);
}

TEST_F(WebSocketTest, OtherRequestsLearnOfTheProtocol) {
  answer_with(echo);
  serve();
  run([&]() -> Task<void> {
    const auto answer = co_await raw("GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 426 "));
    EXPECT_THAT(answer, HasSubstr("\r\nUpgrade: websocket\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close, Upgrade\r\n"));
    std::string old(kHandshake);
    old.replace(old.find(": 13"), 4, ": 8 ");
    const auto refused = co_await raw(old);
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 426 ")) << "an old version of the protocol";
  });
}

}  // namespace
}  // namespace corral::http
