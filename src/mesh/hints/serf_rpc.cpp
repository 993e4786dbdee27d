#include "mesh/hints/serf_rpc.h"

#include <array>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "mesh/hints/serf_wire.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace asio = async::asio;
using Socket = asio::basic_stream_socket<asio::ip::tcp, async::Executor>;

constexpr Millis kAnswer{2'000};
// An agent answers a join after it has tried all addresses.
constexpr Millis kJoin{15'000};
// An agent answers a leave after the others had time to learn of it.
constexpr Millis kLeave{3'000};

// What follows the head of an answer.
enum class BodyOf { none, success, everything };

std::unexpected<Error> closed() { return fail(errc::link_closed, "the Serf agent closed the connection"); }

}  // namespace

struct SerfRpc::Connection {
  Connection(async::Executor executor, async::Timers& clock) : socket(executor), timers(clock) {}

  async::Task<Result<std::string>> next_value() {
    std::array<char, 16 * 1024> space;
    while (true) {
      auto value = reader.take();
      if (!value) co_return std::unexpected(value.error());
      if (*value) co_return std::move(**value);
      const auto buffer = asio::buffer(space);
      const auto [error, count] = co_await socket.async_read_some(buffer, async::as_value);
      if (error) co_return closed();
      const auto put = reader.put({space.data(), count});
      if (!put) co_return std::unexpected(put.error());
    }
  }

  // The head of the answer to command `number`, and its body.
  async::Task<Result<std::string>> exchange(std::string command, std::uint64_t number, BodyOf body) {
    const auto buffer = asio::buffer(command);
    const auto [error, count] = co_await asio::async_write(socket, buffer, async::as_value);
    if (error) co_return closed();
    auto value = co_await next_value();
    if (!value) co_return std::unexpected(value.error());
    const auto head = read_serf_head(*value);
    if (!head) co_return std::unexpected(head.error());
    if (head->number != number) co_return fail(errc::malformed, "the Serf agent sent the answer to another command");
    const bool well = head->error.empty();
    Result<std::string> rest{std::string()};
    if (body == BodyOf::everything || (well && body == BodyOf::success)) rest = co_await next_value();
    if (rest && !well)
      co_return fail(errc::wrong_peer, fmt::format("the Serf agent rejected a command: {}", head->error));
    co_return rest;
  }

  async::Task<Result<std::string>> ask(std::string command, BodyOf body, Millis limit) {
    auto exchanging = exchange(std::move(command), last_number, body);
    auto answer = co_await async::with_timeout(timers, limit, std::move(exchanging));
    if (!answer) co_return fail(errc::timed_out, "the Serf agent does not respond");
    co_return std::move(*answer);
  }

  Socket socket;
  async::Timers& timers;
  SerfReader reader;
  std::uint64_t last_number = 0;
};

SerfRpc::SerfRpc(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
SerfRpc::~SerfRpc() = default;

async::Task<Result<std::unique_ptr<SerfRpc>>> SerfRpc::connect(std::uint16_t port, std::string secret,
                                                               async::Timers& timers) {
  const auto executor = co_await asio::this_coro::executor;
  auto made = std::make_unique<Connection>(executor, timers);
  const asio::ip::tcp::endpoint agent(asio::ip::address_v4::loopback(), port);
  const auto [error] = co_await made->socket.async_connect(agent, async::as_value);
  if (error) co_return fail(errc::unreachable, "the Serf agent doesn't listen");
  auto hello = serf_handshake(++made->last_number);
  const auto greeted = co_await made->ask(std::move(hello), BodyOf::none, kAnswer);
  if (!greeted) co_return std::unexpected(greeted.error());
  auto proof = serf_auth(++made->last_number, secret);
  const auto let_in = co_await made->ask(std::move(proof), BodyOf::none, kAnswer);
  if (!let_in) co_return std::unexpected(let_in.error());
  co_return std::unique_ptr<SerfRpc>(new SerfRpc(std::move(made)));
}

async::Task<Result<>> SerfRpc::publish(Hint own) {
  auto command = serf_tags(++connection_->last_number, labels_of(own));
  const auto done = co_await connection_->ask(std::move(command), BodyOf::none, kAnswer);
  if (!done) co_return std::unexpected(done.error());
  co_return Result<>();
}

async::Task<Result<>> SerfRpc::join(std::vector<Address> engines) {
  auto command = serf_join(++connection_->last_number, engines);
  const auto done = co_await connection_->ask(std::move(command), BodyOf::everything, kJoin);
  if (!done && done.error().code != errc::wrong_peer) co_return std::unexpected(done.error());
  co_return Result<>();
}

async::Task<Result<>> SerfRpc::leave() {
  auto command = serf_leave(++connection_->last_number);
  const auto done = co_await connection_->ask(std::move(command), BodyOf::none, kLeave);
  if (!done) co_return std::unexpected(done.error());
  co_return Result<>();
}

async::Task<Result<std::vector<Hint>>> SerfRpc::members() {
  auto command = serf_members(++connection_->last_number);
  const auto value = co_await connection_->ask(std::move(command), BodyOf::success, kAnswer);
  if (!value) co_return std::unexpected(value.error());
  co_return read_serf_members(*value);
}

}  // namespace corral::mesh
