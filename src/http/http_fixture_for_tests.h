// For tests: a server with the test's handler on one loop, and clients of several kinds.
#pragma once

#include <filesystem>
#include <functional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "async/event.h"
#include "async/loop.h"
#include "async/loopback_for_tests.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "http/client.h"
#include "http/errors.h"
#include "http/server.h"

namespace corral::http {

using async::Task;
namespace asio = boost::asio;
using namespace std::chrono_literals;

class FunctionHandler final : public Handler {
 public:
  std::function<Task<Response>(Request)> function;
  std::function<Response(std::string_view, Response)> rewrite;  // like refused()
  Task<Response> handle(Request request) override { co_return co_await function(std::move(request)); }
  Response refused(std::string_view path, Response answer) override {
    return rewrite ? rewrite(path, std::move(answer)) : std::move(answer);
  }
};

// Returns pieces one by one; optionally waits forever after the last, or fails.
class Pieces final : public BodySource {
 public:
  enum class End { finish, hang, fail };
  Pieces(std::vector<std::string> pieces, End end, async::Event* never = nullptr, bool* dropped = nullptr)
      : pieces_(std::move(pieces)), end_(end), never_(never), dropped_(dropped) {}
  ~Pieces() override {
    if (dropped_) *dropped_ = true;
  }
  Task<Result<std::string_view>> read() override {
    if (next_ < pieces_.size()) co_return std::string_view(pieces_[next_++]);
    if (end_ == End::hang) co_await never_->wait();
    if (end_ == End::fail) co_return fail(errc::peer_closed, "gone");
    co_return std::string_view();
  }

 private:
  std::vector<std::string> pieces_;
  End end_;
  async::Event* never_;
  bool* dropped_;
  std::size_t next_ = 0;
};

// Sets the flag at the end of its scope.
struct AtEnd {
  bool& flag;
  ~AtEnd() { flag = true; }
};

class HttpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    handler.function = [](Request request) -> Task<Response> {
      auto body = co_await request.body.read_all(64 << 20);
      if (!body) co_return Response::json(400, body.error().message);
      co_return Response::text(200, "text/plain", request.head.method + " " + request.head.target + " " + *body);
    };
  }

  void serve(ServerOptions options = {}) {
    server.emplace(pool, handler, options);
    const auto bound = server->listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(bound) << bound.error().message;
    port = *bound;
  }

  // Runs `scenario` concurrently with the server and stops the server afterwards.
  void run(std::function<Task<void>()> scenario) {
    auto driver = [&]() -> Task<void> {
      co_await scenario();
      co_await server->stop(2s);
    };
    async::run_blocking(pool.home(), driver());
    EXPECT_EQ(server->connections(), 0u);
  }

  // Serves with a clock that only pass() moves.
  void serve_by_hand(ServerOptions options = {}) {
    options.timers = &timers;
    serve(options);
  }
  Task<void> turn() { co_await asio::post(async::use_task); }
  // Time passes in the steps of the server's timer, and not while bytes are on their way between sockets.
  Task<void> pass(Millis time) {
    constexpr Millis kStep{250};
    co_await settled();
    for (Millis gone{0}; gone < time; gone += kStep) {
      while (timers.sleepers() == 0 && server->connections() > 0) co_await turn();
      timers.advance(kStep);
      co_await settled();
    }
  }
  // Bytes from a socket have their effects within this many turns.
  Task<void> settled() {
    for (int quiet = 0; quiet < 10; ++quiet) {
      co_await turn();
      if (!async::LoopbackSockets().in_flight().empty()) quiet = 0;
    }
  }

  Task<asio::ip::tcp::socket> connected() {
    asio::ip::tcp::socket socket(pool.home().context());
    const asio::ip::tcp::endpoint to(asio::ip::make_address("127.0.0.1"), port);
    co_await socket.async_connect(to, async::use_task);
    co_return socket;
  }
  // False: the server has closed. Don't call it again then.
  static Task<bool> send(asio::ip::tcp::socket& socket, std::string_view bytes) {
    const auto [error, count] = co_await asio::async_write(socket, asio::buffer(bytes), async::as_value);
    co_return !error;
  }
  // All bytes until the server closes.
  static Task<std::string> rest_of(asio::ip::tcp::socket& socket) {
    std::string answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer), async::as_value);
    co_return answer;
  }

  Client client() { return Client(pool.home().executor(), timers, TcpEndpoint{"127.0.0.1", port}); }

  // Sends raw bytes and returns everything until the server closes.
  Task<std::string> raw(std::string bytes) {
    auto socket = co_await connected();
    co_await send(socket, bytes);
    co_return co_await rest_of(socket);
  }

  async::LoopPool pool{1};
  async::ManualTimers timers{pool.home().executor()};
  FunctionHandler handler;
  std::optional<Server> server;
  std::uint16_t port = 0;
};

inline RequestHead post(std::string target) { return {"POST", std::move(target), {}}; }

}  // namespace corral::http
