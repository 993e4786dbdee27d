#include "fleet/bridge.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

namespace asio = boost::asio;
using Socket = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;

constexpr std::size_t kPiece = 16 * 1024;  // of a TLS record

// Shared by its pumps; the stream outlives what waits for it.
struct Bridge {
  Bridge(async::Executor executor, UniqueFd end, std::unique_ptr<mesh::Stream> over)
      : stream(std::move(over)), socket(executor, asio::local::stream_protocol(), end.release()) {
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
  }
  // Ends both directions; who waits for one of them hears of it.
  void cut() {
    boost::system::error_code ignored;
    stream->close();
    socket.close(ignored);
  }
  // Nobody has the other end any more.
  bool left() {
    pollfd look{socket.native_handle(), 0, 0};
    return !socket.is_open() || (::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
  }

  const std::unique_ptr<mesh::Stream> stream;
  Socket socket;
};
using BridgePtr = std::shared_ptr<Bridge>;

// Also when a pump is cancelled.
struct CutAtEnd {
  ~CutAtEnd() {
    if (bridge) bridge->cut();
  }
  BridgePtr bridge;  // none: it ended as it should
};

async::Task<bool> write_all(Bridge& bridge, std::string_view bytes) {
  boost::system::error_code error;
  while (!bytes.empty()) {
    // As a rule the socket takes it at once.
    auto count = bridge.socket.write_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block) {
      const auto rest = asio::buffer(bytes);
      std::tie(error, count) = co_await bridge.socket.async_write_some(rest, async::as_value);
    }
    if (error) co_return false;
    bytes.remove_prefix(count);
  }
  co_return true;
}

async::Task<void> from_stream(BridgePtr bridge) {
  CutAtEnd cut{bridge};
  const auto piece = std::make_unique_for_overwrite<char[]>(kPiece);
  while (true) {
    const std::span<char> space(piece.get(), kPiece);
    const auto count = co_await bridge->stream->read_some(space);
    if (!count) co_return;
    if (*count == 0) break;
    const std::string_view bytes(piece.get(), *count);
    const bool written = co_await write_all(*bridge, bytes);
    if (!written) co_return;
  }
  boost::system::error_code ignored;
  bridge->socket.shutdown(Socket::shutdown_send, ignored);
  cut.bridge.reset();
}

async::Task<void> from_socket(BridgePtr bridge) {
  CutAtEnd cut{bridge};
  const auto piece = std::make_unique_for_overwrite<char[]>(kPiece);
  while (true) {
    const auto space = asio::buffer(piece.get(), kPiece);
    const auto [error, count] = co_await bridge->socket.async_read_some(space, async::as_value);
    if (error == asio::error::eof) break;
    if (error) co_return;
    const std::string_view bytes(piece.get(), count);
    const auto written = co_await bridge->stream->write(bytes);
    if (!written) co_return;
  }
  co_await bridge->stream->finish();
  if (!bridge->left()) cut.bridge.reset();
}

// Of a side that asks: it may leave while the stream takes nothing, which no read would tell.
async::Task<void> until_left(BridgePtr bridge) {
  CutAtEnd cut{bridge};
  while (!bridge->left()) co_await bridge->socket.async_wait(Socket::wait_error, async::as_value);
}

}  // namespace

Result<UniqueFd> Bridges::make(std::unique_ptr<mesh::Stream> stream, Side side) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return fail(mesh::errc::link_closed, fmt::format("no sockets left for a request: {}", std::strerror(errno)));
  UniqueFd given(ends[1]);
  auto bridge = std::make_shared<Bridge>(executor_, UniqueFd(ends[0]), std::move(stream));
  pumps_.spawn("bridge, from the peer", from_stream(bridge));
  pumps_.spawn("bridge, to the peer", from_socket(bridge));
  if (side == Side::asks) pumps_.spawn("bridge, hang-up", until_left(bridge));
  return given;
}

async::Task<void> Bridges::stop() {
  pumps_.cancel();
  co_await pumps_.join();
}

}  // namespace corral::fleet
