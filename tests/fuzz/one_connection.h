// Bytes of a client through a whole server connection, and what its handler saw of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "async/loop.h"
#include "async/task_group.h"
#include "http/beast/connection.h"

namespace corral::fuzz {

namespace asio = boost::asio;

// Writes down what it is asked, with the body if that was whole.
class Notes final : public http::Handler {
 public:
  async::Task<http::Response> handle(http::Request request) override {
    std::string note = request.head.method + " " + request.head.target;
    for (const auto& [name, value] : request.head.headers) note.append("\n").append(name).append("=").append(value);
    const auto body = co_await request.body.read_all(1 << 20);
    note.append("\n\n").append(body ? *body : "broken off");
    seen.push_back(std::move(note));
    co_return http::Response::text(200, "text/plain", "");
  }
  std::vector<std::string> seen;
};

// Sends `bytes` in parts that end at `cuts` (ascending) and closes the sending side.
inline std::vector<std::string> requests_in(std::string_view bytes, std::span<const std::size_t> cuts) {
  using Local = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
  async::Loop loop;
  Notes notes;
  http::ServerOptions options;
  http::BodyBudget bodies(0);
  Local client(loop.executor()), server(loop.executor());
  asio::local::connect_pair(client, server);
  const auto connection =
      std::make_shared<http::Connection>(http::Socket(std::move(server)), "unix", notes, options, bodies);
  bool ended = false;
  connection->start([&ended] { ended = true; });
  auto send = [&]() -> async::Task<void> {
    std::size_t at = 0;
    for (std::size_t i = 0; i <= cuts.size() && !ended; ++i) {
      const std::size_t end = i < cuts.size() ? cuts[i] : bytes.size();
      const auto part = bytes.substr(at, end - at);
      at = end;
      if (part.empty()) continue;
      const auto [error, count] = co_await asio::async_write(client, asio::buffer(part), async::as_value);
      if (error) break;
      for (int turn = 0; turn < 4; ++turn) co_await asio::post(async::use_task);
    }
    boost::system::error_code ignored;
    client.shutdown(Local::shutdown_send, ignored);
  };
  async::TaskGroup group(loop.executor());
  group.spawn("send", send());
  loop.drain();
  if (!ended) {
    std::cerr << "the connection didn't end\n";
    std::abort();
  }
  return std::move(notes.seen);
}

// However the bytes are cut, they are the same requests: what comes in other portions must not mean something else.
inline void check_cuts(std::string_view bytes, std::uint64_t random) {
  const auto whole = requests_in(bytes, {});
  std::vector<std::size_t> cuts;
  const std::size_t step = 1 + random % 61;
  for (std::size_t at = 1 + random % 7; at < bytes.size() && cuts.size() < 200; at += step) cuts.push_back(at);
  const auto parts = requests_in(bytes, cuts);
  if (whole == parts) return;
  std::cerr << whole.size() << " requests in one go, " << parts.size() << " in parts of " << step << " bytes\n";
  for (const auto& note : whole) std::cerr << "whole: " << note << "\n";
  for (const auto& note : parts) std::cerr << "parts: " << note << "\n";
  std::abort();
}

}  // namespace corral::fuzz
