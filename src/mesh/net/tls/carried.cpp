#include "mesh/net/tls/carried.h"

#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include "async/event.h"
#include "async/parallel_group.h"
#include "base/unique_fd.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;
namespace asio = async::asio;
using Protocol = asio::local::stream_protocol;
using LocalSocket = asio::basic_stream_socket<Protocol, async::Executor>;

constexpr Millis kRest{2000};  // for what was written last to leave

// As much of a stream as pipe() needs, over a socket of this process. Operations must not outlive it.
class LocalStream final : public Stream {
 public:
  // `left`: the other end is closed, and not only for writing.
  LocalStream(LocalSocket socket, Peer peer, std::shared_ptr<const async::Event> left)
      : socket_(std::move(socket)), peer_(std::move(peer)), left_(std::move(left)) {}

  const Peer& peer() const override { return peer_; }
  Purpose purpose() const override { return Purpose::relay; }
  Task<Result<std::size_t>> read_some(std::span<char> space) override {
    const auto buffer = asio::buffer(space.data(), space.size());
    const auto [error, count] = co_await socket_.async_read_some(buffer, async::as_value);
    if (error == asio::error::eof && !left_->is_set()) co_return 0;
    if (error) co_return fail(errc::link_closed, error.message());
    co_return count;
  }
  Task<Result<>> write(std::string_view bytes) override {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    const auto [error, count] = co_await asio::async_write(socket_, buffer, async::as_value);
    if (error) co_return fail(errc::link_closed, error.message());
    co_return Result<>();
  }
  Task<void> finish() override {
    boost::system::error_code ignored;
    socket_.shutdown(LocalSocket::shutdown_send, ignored);
    co_return;
  }
  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  Task<Result<bool>> readable() override {
    const auto [error] = co_await socket_.async_wait(LocalSocket::wait_read, async::as_value);
    if (error) co_return fail(errc::link_closed, error.message());
    co_return true;
  }
  bool is_quiet() const override { return socket_.is_open(); }
  Sha256 exporter(std::string_view) const override { return {}; }

 private:
  LocalSocket socket_;
  Peer peer_;
  std::shared_ptr<const async::Event> left_;
};

// What moves the bytes, for as long as both sides want it.
struct Carriage {
  Carriage(async::Executor executor, std::shared_ptr<Stream> outer, std::shared_ptr<Stream> inner,
           std::shared_ptr<async::Event> gone)
      : carrier(std::move(outer)), local(std::move(inner)), left(std::move(gone)), sent(executor) {}

  const std::shared_ptr<Stream> carrier, local;
  const std::shared_ptr<async::Event> left;  // by the end for TLS
  async::Event sent;                         // all that came from there, and its end
};

Task<bool> carry_out(std::shared_ptr<Carriage> carriage) {
  co_await pipe_one_way(carriage->local, carriage->carrier);
  carriage->sent.set();
  co_return true;
}

Task<bool> until_sent(std::shared_ptr<Carriage> carriage) {
  co_await carriage->sent.wait();
  co_return true;
}

Task<bool> both_ways(std::shared_ptr<Carriage> carriage) {
  const auto executor = co_await asio::this_coro::executor;
  auto out = asio::co_spawn(executor, carry_out(carriage), asio::deferred);
  auto in = asio::co_spawn(executor, pipe_one_way(carriage->carrier, carriage->local), asio::deferred);
  auto both = asio::experimental::make_parallel_group(std::move(out), std::move(in));
  co_await both.async_wait(asio::experimental::wait_for_all(), async::use_task);
  co_return true;
}

// Once nobody is at the end for TLS, only what it had written still matters, and not for long.
Task<void> until_left(std::shared_ptr<Carriage> carriage, async::Timers& timers) {
  co_await carriage->left->wait();
  auto sending = until_sent(carriage);
  co_await async::with_timeout(timers, kRest, std::move(sending));
}

Task<void> carry_on(std::shared_ptr<Carriage> carriage, async::Timers& timers) {
  // However this ends, both are closed: the peer and the carrying node must not wait for what never comes.
  struct Closed {
    ~Closed() {
      carriage->carrier->close();
      carriage->local->close();
    }
    std::shared_ptr<Carriage> carriage;
  };
  const Closed closed{carriage};
  auto carrying = both_ways(carriage);
  auto leaving = until_left(carriage, timers);
  co_await async::race(std::move(carrying), std::move(leaving));
}

}  // namespace

Result<Carried> carry(async::Executor executor, async::TaskGroup& tasks, async::Timers& timers,
                      std::unique_ptr<Stream> carrier) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return std::unexpected(Error(std::error_code(errno, std::system_category()), "no pair of sockets"));
  }
  UniqueFd near(ends[0]), far(ends[1]);
  TcpSocket socket(executor, asio::ip::tcp::v4(), near.release());
  LocalSocket local(executor, Protocol(), far.release());
  auto peer = carrier->peer();
  const auto left = std::make_shared<async::Event>(executor);
  auto stream = std::make_shared<LocalStream>(std::move(local), std::move(peer), left);
  auto carriage = std::make_shared<Carriage>(executor, std::move(carrier), std::move(stream), left);
  tasks.spawn("mesh: carried stream", carry_on(std::move(carriage), timers));
  return Carried{std::move(socket), std::shared_ptr<void>(nullptr, [left](void*) { left->set(); })};
}

}  // namespace corral::mesh
