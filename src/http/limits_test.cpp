// What a client may cost in time, memory and number, over real sockets and with a clock turned by hand.
#include <boost/asio/socket_base.hpp>

#include "http/http_fixture_for_tests.h"
#include "http/passing.h"

namespace corral::http {
namespace {

class LimitsTest : public HttpTest {
 protected:
  static ServerOptions small_buffers() {
    ServerOptions options;
    options.max_header_bytes = 4000;
    return options;
  }
};

// As much as anybody takes, for ever.
class Endless final : public BodySource {
 public:
  explicit Endless(bool& dropped) : dropped_(dropped) {}
  ~Endless() override { dropped_ = true; }
  Task<Result<std::string_view>> read() override {
    co_await asio::post(async::use_task);
    co_return std::string_view(piece_);
  }

 private:
  const std::string piece_ = std::string(1 << 20, 'x');
  bool& dropped_;
};

TEST_F(LimitsTest, HeadHasATotalHoweverManyBytesCome) {
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (bool open = true; open;) {
      co_await pass(250ms);
      open = co_await send(socket, "x");
    }
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408")) << answer;
    EXPECT_NE(answer.find("within 10 s"), std::string::npos) << answer;
  });
}

TEST_F(LimitsTest, SecondHeadOfAConnectionHasATotalOfItsOwnAndSilenceBeforeItIsIdleness) {
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for (int i = 0; i < 3; ++i) {
      co_await send(socket, request);
      std::string answer;
      co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), "GET / ", async::as_value);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
      co_await pass(60s);
    }
    EXPECT_EQ(server->connections(), 1u);
    co_await pass(61s);
    EXPECT_EQ(server->connections(), 0u);
    EXPECT_EQ(co_await rest_of(socket), "");
  });
}

TEST_F(LimitsTest, HeadThatComesLineByLineIsBoundedInAll) {
  serve(small_buffers());
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "GET / HTTP/1.1\r\n");
    const std::string line = "X: " + std::string(95, 'x') + "\r\n";
    for (int i = 0; i < 60 && socket.available() == 0; ++i) {
      co_await send(socket, line);
      for (int turns = 0; turns < 5; ++turns) co_await turn();
    }
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 431")) << answer;
  });
}

TEST_F(LimitsTest, ManyFieldsAreTooLargeAHead) {
  serve();
  run([&]() -> Task<void> {
    std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 5000; ++i) head += "a:\r\n";
    const auto answer = co_await raw(head + "\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 431")) << answer;
  });
}

TEST_F(LimitsTest, SlowBodyFailsAsTimedOut) {
  std::error_code code;
  handler.function = [&](Request request) -> Task<Response> {
    const auto body = co_await request.body.read_all(1 << 20);
    if (!body) code = body.error().code;
    co_return Response::json(408, "{}");
  };
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    for (bool open = true; open;) {
      co_await pass(250ms);
      open = co_await send(socket, "x");
    }
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408")) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    EXPECT_EQ(code, errc::timed_out);
  });
}

TEST_F(LimitsTest, BodyThatKeepsTheRateIsTakenHoweverLong) {
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 120000\r\n\r\n");
    const std::string piece(600, 'x');
    for (int i = 0; i < 200; ++i) {  // 100 s at 1,200 bytes a second
      co_await send(socket, piece);
      co_await pass(500ms);
    }
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  });
}

TEST_F(LimitsTest, AnswerThatNobodyTakesIsDropped) {
  bool dropped = false;
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(std::make_unique<Endless>(dropped));
  };
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    co_await pass(29s);
    EXPECT_FALSE(dropped);
    co_await pass(4s);
    EXPECT_TRUE(dropped);
    EXPECT_EQ(server->connections(), 0u);
  });
}

TEST_F(LimitsTest, AnswerTakenByteByByteIsDropped) {
  bool dropped = false;
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(std::make_unique<Endless>(dropped));
  };
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    char byte = 0;
    for (int i = 0; i < 10 && !dropped; ++i) {
      co_await socket.async_read_some(asio::buffer(&byte, 1), async::as_value);
      co_await pass(6s);
    }
    EXPECT_TRUE(dropped);
  });
}

TEST_F(LimitsTest, SlowProducerIsNotTheClientsFault) {
  async::Event go(pool.home().executor());
  handler.function = [&](Request) -> Task<Response> {
    co_return Response::event_stream(std::make_unique<Pieces>(std::vector<std::string>{"one"}, Pieces::End::hang, &go));
  };
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    co_await pass(300s);
    go.set();
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.ends_with("one\r\n0\r\n\r\n")) << answer;
  });
}

TEST_F(LimitsTest, HandlerThatThinksLongIsNotTheClientsFault) {
  async::Event go(pool.home().executor());
  handler.function = [&](Request request) -> Task<Response> {
    co_await go.wait();
    auto body = co_await request.body.read_all(100);
    co_return Response::text(200, "text/plain", body ? *body : body.error().message);
  };
  serve_by_hand();
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    co_await send(socket, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbo");
    co_await pass(300s);
    go.set();
    co_await pass(1s);
    co_await send(socket, "dy");
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.ends_with("body")) << answer;
  });
}

TEST_F(LimitsTest, LargeBodiesShareABudgetThatReturnsWithTheirAnswers) {
  async::Event go(pool.home().executor());
  std::size_t read = 0;
  handler.function = [&](Request request) -> Task<Response> {
    const auto body = co_await request.body.read_all(64 << 20);
    if (!body) co_return Response::text(body.error().code == errc::bodies_full ? 503 : 500, "x", body.error().message);
    ++read;
    co_await go.wait();
    co_return Response::text(200, "text/plain", std::to_string(body->size()));
  };
  ServerOptions options;
  options.max_bodies_bytes = 1 << 20;
  serve(options);
  run([&]() -> Task<void> {
    async::TaskGroup group(pool.home().executor());
    const std::string large(700'000, 'x'), small(60'000, 'x');
    auto send_large = [&]() -> Task<void> {
      auto http = client();
      const auto answer = co_await http.send(post("/"), large);
      EXPECT_EQ(answer->head.status, 200u);
    };
    group.spawn("large", send_large());
    while (read < 1) co_await turn();
    EXPECT_GE(server->bodies_bytes(), large.size());

    auto second = client();
    auto refused = co_await second.send(post("/"), large);
    EXPECT_EQ(refused->head.status, 503u);
    const auto why = co_await refused->body.read_all(1000);
    EXPECT_NE(why->find("max_bodies_bytes"), std::string::npos) << *why;
    // Of unknown length: found out while it comes.
    const auto chunked =
        co_await raw("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nAAE60\r\n" +
                     large + "\r\n0\r\n\r\n");
    EXPECT_TRUE(chunked.starts_with("HTTP/1.1 503")) << chunked.substr(0, 200);

    auto send_small = [&]() -> Task<void> {
      auto http = client();
      const auto answer = co_await http.send(post("/"), small);
      EXPECT_EQ(answer->head.status, 200u);
    };
    group.spawn("small", send_small());
    while (read < 2) co_await turn();
    go.set();
    co_await group.join();
    EXPECT_EQ(server->bodies_bytes(), 0u);
    auto third = client();
    const auto taken = co_await third.send(post("/"), large);
    EXPECT_EQ(taken->head.status, 200u);
  });
}

TEST_F(LimitsTest, TooLargeABodyIsToldSoThoughTheClientStillSends) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  serve(options);
  run([&]() -> Task<void> {
    auto socket = co_await connected();
    async::TaskGroup group(pool.home().executor());
    const std::string request =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n" + std::string(20'000'000, 'x');
    auto send_all = [&]() -> Task<void> { co_await send(socket, request); };
    group.spawn("send", send_all());
    const auto answer = co_await rest_of(socket);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413")) << answer;
    EXPECT_NE(answer.find("more than 1000 bytes"), std::string::npos) << answer;
    EXPECT_NE(answer.find("max_body_bytes"), std::string::npos) << answer;
    co_await group.join();
    socket.close();
  });
}

TEST_F(LimitsTest, FormsWithFilesHaveALimitOfTheirOwnAndPassByTheMemory) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.max_bodies_bytes = 100'000;
  options.max_upload_bytes = 1'000'000;
  std::uint64_t counted = 0;
  handler.function = [&](Request request) -> Task<Response> {
    auto source = request.body.take_source();
    auto* passing = dynamic_cast<PassingBody*>(source.get());
    if (passing != nullptr) passing->passes_by();
    std::uint64_t size = 0;
    while (true) {
      const auto piece = co_await source->read();
      if (!piece) co_return Response::json(413, piece.error().message);
      if (piece->empty()) break;
      size += piece->size();
      counted = std::max(counted, server->bodies_bytes());
    }
    co_return Response::text(200, "text/plain", std::to_string(size));
  };
  serve(options);
  run([&]() -> Task<void> {
    auto head = post("/");
    head.headers.set("Content-Type", "multipart/form-data; boundary=x");
    auto asking = client();
    auto taken = co_await asking.send(head, std::string(900'000, 'x'));
    const auto size = co_await taken->body.read_all(100);
    EXPECT_EQ(*size, "900000");
    EXPECT_EQ(counted, 0u);
    const auto refused = co_await asking.send(head, std::string(1'000'001, 'x'));
    EXPECT_EQ(refused->head.status, 413u);
    auto other = client();
    head.headers.set("Content-Type", "application/json");
    const auto plain = co_await other.send(head, std::string(1'001, 'x'));
    EXPECT_EQ(plain->head.status, 413u);
  });
}

TEST_F(LimitsTest, ConnectionsOfOneAddressAreBounded) {
  const auto path =
      std::filesystem::temp_directory_path() / ("corral-http-limits-" + std::to_string(getpid()) + ".sock");
  ServerOptions options;
  options.max_connections_per_address = 2;
  serve(options);
  ASSERT_TRUE(server->listen_unix(path));
  run([&]() -> Task<void> {
    auto one = co_await connected();
    std::optional two(co_await connected());
    while (server->connections() < 2) co_await turn();
    auto three = co_await connected();
    const auto answer = co_await rest_of(three);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
    EXPECT_NE(answer.find("max_connections_per_address"), std::string::npos) << answer;
    // Others and socket files are not concerned.
    asio::ip::tcp::socket other(pool.home().context());
    other.open(asio::ip::tcp::v4());
    other.bind({asio::ip::make_address("127.0.0.9"), 0});
    const asio::ip::tcp::endpoint to(asio::ip::make_address("127.0.0.1"), port);
    co_await other.async_connect(to, async::use_task);
    Client local(pool.home().executor(), timers, UnixEndpoint{path});
    const auto response = co_await local.send(post("/"), "hi");
    EXPECT_EQ(response->head.status, 200u);
    // One that ends makes room.
    two.reset();
    while (server->connections() > 3) co_await turn();
    const auto again = co_await raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(again.starts_with("HTTP/1.1 200")) << again;
  });
}

}  // namespace
}  // namespace corral::http
