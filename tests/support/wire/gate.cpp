#include "gate.h"

#include <cstdio>
#include <memory>
#include <vector>

#include <boost/asio.hpp>

#include "namespaces.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace corral::wire {
namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 64 * 1024;

struct Pair {
  tcp::socket outside;
  tcp::socket inside;
  // Both ends hear of a break as one.
  void reset() {
    for (tcp::socket* socket : {&outside, &inside}) {
      boost::system::error_code ignored;
      socket->set_option(asio::socket_base::linger(true, 0), ignored);
      socket->close(ignored);
    }
  }
};

asio::awaitable<void> carry(std::shared_ptr<Pair> pair, tcp::socket& from, tcp::socket& to) {
  std::vector<char> piece(kPiece);
  for (;;) {
    const auto space = asio::buffer(piece);
    const auto [read_error, size] = co_await from.async_read_some(space, kTuple);
    if (read_error == asio::error::eof) {
      boost::system::error_code ignored;
      to.shutdown(tcp::socket::shutdown_send, ignored);
      co_return;
    }
    if (read_error) co_return pair->reset();
    const auto got = asio::buffer(piece.data(), size);
    const auto [write_error, written] = co_await asio::async_write(to, got, kTuple);
    if (write_error) co_return pair->reset();
  }
}

// A socket stays in the namespace that it was made in.
tcp::socket make_socket(asio::io_context& context, int space) {
  const Inside inside(space);
  return tcp::socket(context, tcp::v4());
}

asio::awaitable<void> connect(asio::io_context& context, tcp::socket client, int space, std::uint16_t port) {
  const auto pair = std::make_shared<Pair>(std::move(client), make_socket(context, space));
  const tcp::endpoint end(asio::ip::address_v4::loopback(), port);
  const auto [error] = co_await pair->inside.async_connect(end, kTuple);
  if (error) co_return pair->reset();
  for (tcp::socket* socket : {&pair->outside, &pair->inside}) {
    boost::system::error_code ignored;
    socket->set_option(tcp::no_delay(true), ignored);
  }
  asio::co_spawn(context, carry(pair, pair->outside, pair->inside), asio::detached);
  asio::co_spawn(context, carry(pair, pair->inside, pair->outside), asio::detached);
}

asio::awaitable<void> accept(asio::io_context& context, tcp::acceptor& acceptor, int space, std::uint16_t port) {
  for (;;) {
    auto [error, client] = co_await acceptor.async_accept(kTuple);
    if (error) co_return;
    asio::co_spawn(context, connect(context, std::move(client), space, port), asio::detached);
  }
}

asio::awaitable<void> until_signalled(asio::io_context& context, asio::posix::stream_descriptor& input) {
  char byte = 0;
  const auto space = asio::buffer(&byte, 1);
  (void)co_await input.async_read_some(space, kTuple);
  context.stop();
}

}  // namespace

void run_gate(int space, std::uint16_t port) {
  asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  asio::posix::stream_descriptor input(context, ::dup(0));
  std::printf("gate %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  asio::co_spawn(context, accept(context, acceptor, space, port), asio::detached);
  asio::co_spawn(context, until_signalled(context, input), asio::detached);
  context.run();
}

}  // namespace corral::wire
