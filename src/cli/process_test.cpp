// What touches the system: descriptors, signals, sockets.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "async/event.h"
#include "async/loop.h"
#include "cli/errors.h"
#include "cli/server/http_api.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/line_input.h"
#include "http/server.h"
#include "http/sse.h"

namespace corral::cli {
namespace {

using ::testing::HasSubstr;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    finish();
  }
  int out() const { return ends_[0]; }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void finish() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Ctrl-C pressed by the test, from any thread.
class HandInterrupts final : public Interrupts {
 public:
  void press() const { pipe_.write("x"); }
  int fd() const override { return pipe_.out(); }
  bool take() override {
    pollfd wait{fd(), POLLIN, 0};
    char byte = 0;
    return ::poll(&wait, 1, 0) == 1 && ::read(fd(), &byte, 1) == 1;
  }

 private:
  Pipe pipe_;
};

TEST(Interrupts, ASignalWaitsToBeTaken) {
  SystemInterrupts interrupts;
  EXPECT_FALSE(interrupts.take());
  ::kill(::getpid(), SIGINT);
  pollfd wait{interrupts.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, -1), 1);
  EXPECT_TRUE(interrupts.take());
  EXPECT_FALSE(interrupts.take());
}

TEST(StandardInput, LinesFromAPipe) {
  HandInterrupts interrupts;
  Pipe pipe;
  StandardInput input(pipe.out(), interrupts);
  EXPECT_TRUE(input.is_piped());
  pipe.write("one\r\ntw");
  pipe.write("o\nlast");
  pipe.finish();
  EXPECT_EQ(input.read_line().text, "one");
  EXPECT_EQ(input.read_line().text, "two");
  EXPECT_EQ(input.read_line().text, "last");
  EXPECT_EQ(input.read_line().kind, InputLine::Kind::end);
}

TEST(StandardInput, EverythingAtOnce) {
  HandInterrupts interrupts;
  Pipe pipe;
  StandardInput input(pipe.out(), interrupts);
  pipe.write("one\ntwo\n");
  pipe.finish();
  EXPECT_EQ(input.read_all().text, "one\ntwo\n");
}

TEST(StandardInput, CtrlCDropsTheLineThatWasBegun) {
  HandInterrupts interrupts;
  Pipe pipe;
  StandardInput input(pipe.out(), interrupts);
  interrupts.press();
  EXPECT_EQ(input.read_line().kind, InputLine::Kind::interrupted);
  pipe.write("next\n");
  EXPECT_EQ(input.read_line().text, "next");
}

// Answers as the test wants and keeps what came in.
class TestHandler final : public http::Handler {
 public:
  std::function<async::Task<http::Response>(http::Request)> answer;
  async::Task<http::Response> handle(http::Request request) override { co_return co_await answer(std::move(request)); }
};

class HttpApiTest : public ::testing::Test {
 protected:
  HttpApiTest() : pool_(1), server_(pool_, handler_, {}) {
    const auto port = server_.listen_tcp("127.0.0.1", 0);
    EXPECT_TRUE(port);
    address_ = {"127.0.0.1", *port, "", "key"};
    thread_ = std::jthread([this] { pool_.run(); });
  }
  ~HttpApiTest() override {
    pool_.home().post([this] {
      async::asio::co_spawn(pool_.home().executor(), server_.stop(std::chrono::milliseconds(0)),
                            [this](std::exception_ptr) { pool_.stop(); });
    });
  }

  TestHandler handler_;
  async::LoopPool pool_;
  http::Server server_;
  HandInterrupts interrupts_;
  Address address_;
  std::jthread thread_;
};

TEST_F(HttpApiTest, SendsKeyAndBodyAndReturnsTheAnswer) {
  std::string seen;
  handler_.answer = [&seen](http::Request request) -> async::Task<http::Response> {
    auto body = co_await request.body.read_all(1000);
    seen = request.head.method + " " + request.head.target + " " +
           std::string(request.head.headers.get("Authorization")) + " " + *body;
    co_return http::Response::json(418, "{\"tea\":true}");
  };
  const auto api = connect_http(address_, interrupts_);
  const auto reply = api->call(ApiRequest::post("/api/v1/unload", "{}"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 418u);
  EXPECT_EQ(reply->body, "{\"tea\":true}");
  EXPECT_EQ(seen, "POST /api/v1/unload Bearer key {}");
  ASSERT_TRUE(api->call(ApiRequest::get("/again")));  // a second call on the same connection
}

// Events that the server has ready, then the end or a wait for ever.
class Events final : public http::BodySource {
 public:
  Events(std::vector<std::string> pieces, std::function<void()> then)
      : pieces_(std::move(pieces)), then_(std::move(then)) {}
  async::Task<Result<std::string_view>> read() override {
    if (next_ < pieces_.size()) co_return std::string_view(pieces_[next_++]);
    if (then_) {
      then_();
      const async::Executor executor = co_await async::asio::this_coro::executor;
      async::Event never(executor);
      co_await never.wait();
    }
    co_return std::string_view();
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  std::function<void()> then_;
};

TEST_F(HttpApiTest, HandsOverEventsAsTheyCome) {
  handler_.answer = [](http::Request) -> async::Task<http::Response> {
    std::vector<std::string> pieces{http::sse_event("progress", "1"), std::string(http::kSsePing), http::sse_data("2")};
    co_return http::Response::event_stream(std::make_unique<Events>(std::move(pieces), nullptr));
  };
  std::vector<std::string> seen;
  const auto sink = [&](std::string_view event, std::string_view data) {
    seen.push_back(std::string(event) + "=" + std::string(data));
  };
  const auto reply = connect_http(address_, interrupts_)->stream(ApiRequest::post("/x", "{}"), sink);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "");
  EXPECT_THAT(seen, ::testing::ElementsAre("progress=1", "=2"));
}

TEST_F(HttpApiTest, CtrlCEndsAStream) {
  handler_.answer = [this](http::Request) -> async::Task<http::Response> {
    std::vector<std::string> pieces{http::sse_data("1")};
    co_return http::Response::event_stream(
        std::make_unique<Events>(std::move(pieces), [this] { interrupts_.press(); }));
  };
  const auto api = connect_http(address_, interrupts_);
  const auto reply = api->stream(ApiRequest::get("/x"), [](std::string_view, std::string_view) {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::interrupted);
  handler_.answer = [](http::Request) -> async::Task<http::Response> { co_return http::Response::json(200, "{}"); };
  EXPECT_TRUE(api->call(ApiRequest::get("/next")));  // and the program goes on
}

TEST_F(HttpApiTest, ReceivesABodyAsItComes) {
  handler_.answer = [](http::Request) -> async::Task<http::Response> {
    auto response = http::Response::text(200, "audio/wav", "");
    response.body = http::Body(std::make_unique<Events>(std::vector<std::string>{"RI", "FF"}, nullptr));
    co_return response;
  };
  const auto api = connect_http(address_, interrupts_);
  std::string seen;
  const auto reply = api->receive(ApiRequest::post("/x", "{}"), [&](std::string_view bytes) {
    seen += bytes;
    return true;
  });
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(seen, "RIFF");
  EXPECT_EQ(reply->body, "");
  handler_.answer = [](http::Request) -> async::Task<http::Response> { co_return http::Response::json(404, "{}"); };
  const auto error = api->receive(ApiRequest::get("/x"), [&](std::string_view) {
    ADD_FAILURE() << "an error is no result";
    return true;
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 404u);
  EXPECT_EQ(error->body, "{}");
}

TEST_F(HttpApiTest, ABodyThatIsNotWantedIsNotRead) {
  handler_.answer = [](http::Request) -> async::Task<http::Response> {
    auto response = http::Response::text(200, "audio/wav", "");
    response.body = http::Body(std::make_unique<Events>(std::vector<std::string>{"RI"}, [] {}));  // never ends
    co_return response;
  };
  const auto reply =
      connect_http(address_, interrupts_)->receive(ApiRequest::get("/x"), [](std::string_view) { return false; });
  ASSERT_TRUE(reply) << reply.error().message;
}

TEST_F(HttpApiTest, SendsAFormWithAFile) {
  const auto file = std::filesystem::path(testing::TempDir()) / "corral-form \"1\".wav";
  const std::string sound(200'000, 's');
  std::ofstream(file) << sound;
  std::string type, length, body;
  handler_.answer = [&](http::Request request) -> async::Task<http::Response> {
    type = request.head.headers.get("Content-Type");
    length = request.head.headers.get("Content-Length");
    const auto text = co_await request.body.read_all(1'000'000);
    body = text ? *text : "";
    co_return http::Response::json(200, "{}");
  };
  ApiRequest request{.method = "POST", .path = "/x", .body = {}};
  request.form = Form{.fields = {{"model", "tiny"}}, .file_field = "file", .file = file};
  const auto api = connect_http(address_, interrupts_);
  const auto reply = api->call(request);
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_THAT(type, testing::StartsWith("multipart/form-data; boundary="));
  const auto boundary = type.substr(type.find('=') + 1);
  EXPECT_EQ(body, "--" + boundary + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ntiny\r\n--" + boundary +
                      "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"corral-form %221%22.wav\"\r\n"
                      "Content-Type: application/octet-stream\r\n\r\n" +
                      sound + "\r\n--" + boundary + "--\r\n");
  EXPECT_EQ(length, std::to_string(body.size()));
  std::filesystem::remove(file);
  const auto missing = api->call(request);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::usage);
  request.form->file = testing::TempDir();
  EXPECT_THAT(api->call(request).error().message, HasSubstr("is not a file"));
}

// The first request is answered only after the second one has arrived.
TEST_F(HttpApiTest, SendsRequestsTogether) {
  async::Event both(pool_.home().executor());
  handler_.answer = [&](http::Request request) -> async::Task<http::Response> {
    if (request.head.target == "/2") both.set();
    co_await both.wait();
    co_return http::Response::json(200, request.head.target);
  };
  const std::vector requests{ApiRequest::get("/1"), ApiRequest::get("/2")};
  const auto replies = connect_http(address_, interrupts_)->call_together(requests);
  ASSERT_TRUE(replies) << replies.error().message;
  ASSERT_EQ(replies->size(), 2u);
  EXPECT_EQ(replies->front().body, "/1");
  EXPECT_EQ(replies->back().body, "/2");
}

TEST_F(HttpApiTest, APauseEndsByItsTimeOrByCtrlC) {
  const auto api = connect_http(address_, interrupts_);
  EXPECT_TRUE(api->pause(Millis(1)));
  interrupts_.press();
  const auto paused = api->pause(std::chrono::hours(1));
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, errc::interrupted);
  EXPECT_TRUE(api->pause(Millis(1)));
}

TEST_F(HttpApiTest, AnOldCtrlCDoesNotEndANewCall) {
  handler_.answer = [](http::Request) -> async::Task<http::Response> { co_return http::Response::json(200, "{}"); };
  interrupts_.press();
  EXPECT_TRUE(connect_http(address_, interrupts_)->call(ApiRequest::get("/")));
}

// A port without a listener.
class ClosedPort {
 public:
  ClosedPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~ClosedPort() { ::close(socket_); }
  std::uint16_t number() const { return number_; }

 protected:
  const int socket_;

 private:
  std::uint16_t number_ = 0;
};

// Answers each request and then closes the connection without having said so.
class ForgetfulServer final : public ClosedPort {
 public:
  ForgetfulServer() { EXPECT_EQ(::listen(socket_, 1), 0); }
  void answer_once() const {
    const int connection = ::accept(socket_, nullptr, nullptr);
    std::string request;
    char byte = 0;
    while (!request.ends_with("\r\n\r\n") && ::read(connection, &byte, 1) == 1) request += byte;
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    EXPECT_EQ(::write(connection, kAnswer.data(), kAnswer.size()), static_cast<ssize_t>(kAnswer.size()));
    ::close(connection);
  }
  void close() const { ::shutdown(socket_, SHUT_RDWR); }
};

TEST(HttpApi, AConnectionThatTheServerClosedMeanwhileIsReplaced) {
  HandInterrupts interrupts;
  const ForgetfulServer server;
  const auto api = connect_http({"127.0.0.1", server.number(), "", ""}, interrupts);
  for (int call = 0; call < 3; ++call) {
    std::jthread answering([&server] { server.answer_once(); });
    const auto reply = api->call(ApiRequest{"POST", "/", ""});
    if (!reply) server.close();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body, "{}");
  }  // the connection is closed by now
}

class SilentServer final : public ClosedPort {
 public:
  SilentServer() { EXPECT_EQ(::listen(socket_, 1), 0); }
};

TEST(HttpApi, ARequestWithALimitDoesNotWaitForAServerThatHangs) {
  HandInterrupts interrupts;
  const SilentServer server;
  const Address address{"127.0.0.1", server.number(), "", ""};
  auto request = ApiRequest::get("/");
  request.limit = Millis(1);
  const auto reply = connect_http(address, interrupts)->call(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::no_answer);
  EXPECT_EQ(reply.error().message, address.url() + " gave no response within 0 s");
}

TEST(HttpApi, NobodyListens) {
  HandInterrupts interrupts;
  const ClosedPort port;
  const Address address{"127.0.0.1", port.number(), "", ""};
  const auto reply = connect_http(address, interrupts)->call(ApiRequest::get("/"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::no_server);
  EXPECT_THAT(reply.error().message, HasSubstr("no corral server responds at " + address.url()));
  EXPECT_THAT(reply.error().message, HasSubstr("start one with: corral serve"));
}

}  // namespace
}  // namespace corral::cli
