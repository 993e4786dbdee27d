#include "mesh/net/tls/carried.h"

#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;
namespace asio = async::asio;
using Protocol = asio::local::stream_protocol;
using LocalSocket = asio::basic_stream_socket<Protocol, async::Executor>;

// As much of a stream as pipe() needs, over a socket of this process. Operations must not outlive it.
class LocalStream final : public Stream {
 public:
  LocalStream(LocalSocket socket, Peer peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  const Peer& peer() const override { return peer_; }
  Purpose purpose() const override { return Purpose::relay; }
  Task<Result<std::size_t>> read_some(std::span<char> space) override {
    const auto buffer = asio::buffer(space.data(), space.size());
    const auto [error, count] = co_await socket_.async_read_some(buffer, async::as_value);
    if (error == asio::error::eof) co_return 0;
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
};

}  // namespace

Result<TcpSocket> carry(async::Executor executor, async::TaskGroup& tasks, std::unique_ptr<Stream> carrier) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return std::unexpected(Error(std::error_code(errno, std::system_category()), "no pair of sockets"));
  }
  UniqueFd near(ends[0]), far(ends[1]);
  TcpSocket socket(executor, asio::ip::tcp::v4(), near.release());
  LocalSocket local(executor, Protocol(), far.release());
  auto peer = carrier->peer();
  auto stream = std::make_shared<LocalStream>(std::move(local), std::move(peer));
  tasks.spawn("mesh: carried stream", pipe(std::move(carrier), std::move(stream)));
  return socket;
}

}  // namespace corral::mesh
