// Fetches of pictures, from a server on the loopback.
#include "downloads/picture_fetcher.h"

#include <atomic>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"

namespace corral::downloads {
namespace {

namespace asio = async::asio;

// /N: N bytes; /to/N: N redirects; /away: a redirect to another host; /silent: nothing; else 404.
class Web {
 public:
  using Socket = asio::basic_stream_socket<asio::ip::tcp, async::Executor>;
  using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, async::Executor>;

  explicit Web(async::Executor executor)
      : tasks_(executor), acceptor_(executor, {asio::ip::make_address("127.0.0.1"), 0}) {
    tasks_.spawn("web", accept());
  }
  std::string at(std::string_view path) const {
    return fmt::format("http://127.0.0.1:{}/{}", acceptor_.local_endpoint().port(), path);
  }
  async::Task<void> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

  int connections = 0;

 private:
  async::Task<void> accept() {
    while (true) {
      auto [failure, socket] = co_await acceptor_.async_accept(async::as_value);
      if (failure) co_return;
      ++connections;
      tasks_.spawn("client", serve(std::move(socket)));
    }
  }

  std::string answer(const std::string& path) const {
    if (path.starts_with("to/")) {
      const int left = std::stoi(path.substr(3));
      const auto next = left > 1 ? at(fmt::format("to/{}", left - 1)) : at("4");
      return fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", next);
    }
    if (path == "away") return "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:1/x\r\nContent-Length: 0\r\n\r\n";
    if (path.find_first_not_of("0123456789") != std::string::npos)
      return "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
    const std::string body(std::stoul(path), 'x');
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
  }

  async::Task<void> serve(Socket socket) {
    std::string buffer;
    while (true) {
      const auto into = asio::dynamic_buffer(buffer, 65536);
      auto [failure, size] = co_await asio::async_read_until(socket, into, "\r\n\r\n", async::as_value);
      if (failure) co_return;
      const std::string path = buffer.substr(5, buffer.find(' ', 5) - 5);
      buffer.erase(0, size);
      if (path == "silent") continue;
      const std::string text = answer(path);
      auto [broken, written] = co_await asio::async_write(socket, asio::buffer(text), async::as_value);
      if (broken) co_return;
    }
  }

  async::TaskGroup tasks_;
  Acceptor acceptor_;
};

class PictureFetcherTest : public testing::Test {
 protected:
  static CurlOptions local() {
    auto options = picture_options("test");
    options.may_connect = [](const asio::ip::address&) { return true; };
    return options;
  }

  // The body, or the reason.
  static std::string fetched(CurlOptions options, std::string_view path, std::uint64_t max_bytes = 100) {
    async::Loop loop;
    async::SystemTimers timers;
    PictureFetcher fetcher(timers, std::move(options));
    Web web(loop.executor());
    std::string text;
    auto run = [](PictureFetcher& by, Web& from, std::string url, std::uint64_t max,
                  std::string& into) -> async::Task<void> {
      auto fetching = by.fetch(std::move(url), max);
      auto got = co_await std::move(fetching);
      into = got ? *got : got.error().message;
      if (from.connections == 0) into += ", unconnected";
      co_await from.stop();
    };
    const auto url = path.contains("://") ? std::string(path) : web.at(path);
    async::run_blocking(loop, run(fetcher, web, url, max_bytes, text));
    return text;
  }
};

TEST_F(PictureFetcherTest, BytesComeAsTheyAre) {
  EXPECT_EQ(fetched(local(), "4"), "xxxx");
  EXPECT_EQ(fetched(local(), "to/3"), "xxxx");
}

TEST_F(PictureFetcherTest, LimitsHold) {
  EXPECT_EQ(fetched(local(), "101"), "it has more than 100 bytes");
  EXPECT_EQ(fetched(local(), "to/4"), "it has more than 3 redirects");
  EXPECT_EQ(fetched(local(), "gone"), "its server answered 404");
  auto hasty = local();
  hasty.deadline = Millis(100);
  EXPECT_THAT(fetched(hasty, "silent"), testing::StartsWith("it takes longer than 0.1 s"));
}

TEST_F(PictureFetcherTest, OnlyPublicAddressesAreConnectedTo) {
  EXPECT_EQ(fetched(picture_options("test"), "4"),
            "its host has no public address outside of this server's networks, unconnected");
  EXPECT_EQ(fetched(picture_options("test"), "http://localhost:1/x"),
            "its host has no public address outside of this server's networks, unconnected");
  EXPECT_EQ(fetched(picture_options("test"), "http://[::1]:1/x"),
            "its host has no public address outside of this server's networks, unconnected");
  EXPECT_EQ(fetched(picture_options("test"), "http://2130706433/x"),
            "its host has no public address outside of this server's networks, unconnected");
  // A redirect is checked like the first address.
  auto once = picture_options("test");
  auto asked = std::make_shared<std::atomic<int>>(0);
  once.may_connect = [asked](const asio::ip::address&) { return ++*asked == 1; };
  EXPECT_EQ(fetched(once, "away"), "its host has no public address outside of this server's networks");
  EXPECT_EQ(*asked, 2);
}

TEST_F(PictureFetcherTest, OtherSchemesAreNotFetched) {
  EXPECT_THAT(fetched(local(), "file:///etc/passwd"), testing::HasSubstr("rotocol"));
}

}  // namespace
}  // namespace corral::downloads
