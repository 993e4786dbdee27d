// A Unix socket that passes on to a loopback port, with a server behind it that answers with what it gets.
#include "remote/relay.h"

#include <filesystem>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "async/event.h"
#include "async/loop.h"
#include "async/parallel_group.h"
#include "base/log.h"

namespace corral::remote {
namespace {

namespace asio = async::asio;
using async::Task;
using Unix = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
using Tcp = asio::basic_stream_socket<asio::ip::tcp, async::Executor>;

// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines): they live until run_blocking() has returned.

class RelayTest : public testing::Test {
 protected:
  RelayTest()
      : folder_(std::filesystem::path(testing::TempDir()) / ("relay-" + std::to_string(::getpid()))),
        server_(loop_.executor(), asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        tasks_(loop_.executor()) {
    std::filesystem::create_directories(folder_);
  }
  ~RelayTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "worker.sock"; }
  void start(std::uint16_t port) {
    auto listener = listen_at(path());
    ASSERT_TRUE(listener) << listener.error().message;
    relay_.emplace(loop_.executor(), timers_, std::move(*listener), port);
    tasks_.spawn("relay", relay_->run());
  }
  void start() { start(server_.local_endpoint().port()); }

  // Answers with what comes, until the client ends.
  Task<void> echo() {
    Tcp socket = co_await server_.async_accept(async::use_task);
    std::string space(64 * 1024, '\0');
    while (true) {
      const auto [ended, got] = co_await socket.async_read_some(asio::buffer(space), async::as_value);
      if (ended) break;
      co_await asio::async_write(socket, asio::buffer(space.data(), got), async::use_task);
    }
    ++ended_;
  }
  Task<Unix> connect() {
    Unix socket(loop_.executor());
    const asio::local::stream_protocol::endpoint place(path());
    co_await socket.async_connect(place, async::use_task);
    co_return socket;
  }
  // All of it comes back.
  Task<void> exchange(Unix& socket, std::string text) {
    auto sending = asio::co_spawn(
        loop_.executor(),
        [](Unix& to, const std::string& what) -> Task<void> {
          co_await asio::async_write(to, asio::buffer(what), async::use_task);
        }(socket, text),
        asio::deferred);
    std::string back(text.size(), '\0');
    auto receiving = asio::co_spawn(
        loop_.executor(),
        [](Unix& from, std::string& what) -> Task<void> {
          co_await asio::async_read(from, asio::buffer(what), async::use_task);
        }(socket, back),
        asio::deferred);
    auto both = asio::experimental::make_parallel_group(std::move(sending), std::move(receiving));
    co_await both.async_wait(asio::experimental::wait_for_all(), async::use_task);
    EXPECT_EQ(back, text);
  }
  Task<void> end() {
    tasks_.cancel();
    co_await tasks_.join();
    relay_.reset();
  }

  async::Loop loop_;
  async::SystemTimers timers_;
  std::filesystem::path folder_;
  asio::basic_socket_acceptor<asio::ip::tcp, async::Executor> server_;
  std::optional<Relay> relay_;
  async::TaskGroup tasks_;
  int ended_ = 0;
};

TEST_F(RelayTest, PassesBytesOnBothWays) {
  start();
  auto run = [&]() -> Task<void> {
    tasks_.spawn("echo", echo());
    Unix socket = co_await connect();
    co_await exchange(socket, "hello");
    std::string much(3'000'000, 'x');
    for (std::size_t i = 0; i < much.size(); i += 997) much[i] = static_cast<char>(i);
    co_await exchange(socket, std::move(much));
    co_await end();
  };
  run_blocking(loop_, run());
}

TEST_F(RelayTest, AClientThatEndsIsAnEndForTheServer) {
  start();
  auto run = [&]() -> Task<void> {
    auto serve = asio::co_spawn(loop_.executor(), echo(), asio::deferred);
    auto ask = [&]() -> Task<void> {
      Unix socket = co_await connect();
      co_await exchange(socket, "hello");
    };
    auto asking = asio::co_spawn(loop_.executor(), ask(), asio::deferred);
    auto both = asio::experimental::make_parallel_group(std::move(serve), std::move(asking));
    co_await both.async_wait(asio::experimental::wait_for_all(), async::use_task);
    EXPECT_EQ(ended_, 1);
    co_await end();
  };
  run_blocking(loop_, run());
}

TEST_F(RelayTest, AServerThatGoesIsAnEndForTheClient) {
  start();
  auto run = [&]() -> Task<void> {
    auto leave = [&]() -> Task<void> {
      Tcp socket = co_await server_.async_accept(async::use_task);
      socket.close();
    };
    tasks_.spawn("leave", leave());
    Unix socket = co_await connect();
    char byte = 0;
    const auto [ended, got] = co_await socket.async_read_some(asio::buffer(&byte, 1), async::as_value);
    EXPECT_TRUE(ended);
    EXPECT_EQ(got, 0u);
    co_await end();
  };
  run_blocking(loop_, run());
}

TEST_F(RelayTest, OnlyItsUserMayConnect) {
  const auto listener = listen_at(path());
  ASSERT_TRUE(listener);
  struct stat found{};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_FALSE(listen_at(folder_ / std::string(200, 'x'))) << "longer than a socket's name may be";
  EXPECT_FALSE(listen_at(folder_ / "nowhere" / "x"));
}

TEST_F(RelayTest, WhatASocketLeftBehindIsReplaced) {
  {
    const auto first = listen_at(path());
  }
  start();
  auto run = [&]() -> Task<void> {
    tasks_.spawn("echo", echo());
    Unix socket = co_await connect();
    co_await exchange(socket, "again");
    co_await end();
  };
  run_blocking(loop_, run());
}

// An engine whose connection is closed without a word fails with words that help nobody.
TEST_F(RelayTest, WhoIsOneTooManyIsClosedAndToldOfOnceAMinute) {
  log::set_level(log::Level::none);
  async::ManualTimers turned(loop_.executor());
  auto listener = listen_at(path());
  ASSERT_TRUE(listener);
  Relay relay(loop_.executor(), turned, std::move(*listener), server_.local_endpoint().port());
  tasks_.spawn("relay", relay.run());
  auto refused = [&]() -> Task<void> {
    Unix socket = co_await connect();
    char byte = 0;
    const auto [ended, got] = co_await socket.async_read_some(asio::buffer(&byte, 1), async::as_value);
    EXPECT_TRUE(ended);
  };
  auto run = [&]() -> Task<void> {
    std::vector<Unix> open;
    std::vector<Tcp> behind;
    for (std::size_t i = 0; i < kMaxRelayed; ++i) {
      Unix socket = co_await connect();
      open.push_back(std::move(socket));
      Tcp far = co_await server_.async_accept(async::use_task);
      behind.push_back(std::move(far));
    }
    EXPECT_EQ(relay.connections(), kMaxRelayed);
    EXPECT_EQ(relay.complaints(), 0u);
    for (int i = 0; i < 3; ++i) co_await refused();
    EXPECT_EQ(relay.refused(), 3u);
    EXPECT_EQ(relay.complaints(), 1u);
    turned.advance(std::chrono::minutes(1));
    co_await refused();
    EXPECT_EQ(relay.complaints(), 2u);
    tasks_.cancel();
    co_await tasks_.join();
  };
  run_blocking(loop_, run());
  log::set_level(log::Level::info);
}

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)

}  // namespace
}  // namespace corral::remote
