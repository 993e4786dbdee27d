#include "fleet/tunnels/pump.h"

#include <boost/asio/buffer.hpp>
#include <poll.h>

#include "async/parallel_group.h"
#include "async/timer.h"

namespace corral::fleet {
namespace {

namespace asio = async::asio;
using async::Task;

// Shared by both directions; the stream outlives tasks that wait for it.
struct Joint {
  Joint(std::unique_ptr<mesh::Stream> over, LocalSocket here, PumpOptions with)
      : stream(std::move(over)), socket(std::move(here)), options(std::move(with)) {
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
  }
  // Ends both directions, and wakes their tasks.
  void cut() {
    boost::system::error_code ignored;
    ending = true;
    stream->close();
    socket.close(ignored);
  }
  void stream_over() {
    if (!std::exchange(ending, true) && options.stream_ended_first) options.stream_ended_first();
  }
  // The other end of the socket is closed.
  bool left() {
    pollfd look{socket.native_handle(), 0, 0};
    return !socket.is_open() || (::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
  }

  const std::unique_ptr<mesh::Stream> stream;
  LocalSocket socket;
  const PumpOptions options;
  bool ending = false;  // one direction has ended
};
using JointPtr = std::shared_ptr<Joint>;

// Also after a cancellation.
struct CutAtEnd {
  ~CutAtEnd() {
    if (joint) joint->cut();
  }
  JointPtr joint;  // none: a normal end
};

Task<bool> write_all(Joint& joint, std::string_view bytes) {
  boost::system::error_code error;
  while (!bytes.empty()) {
    // Usually the socket accepts the bytes at once.
    auto count = joint.socket.write_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block) {
      const auto rest = asio::buffer(bytes);
      std::tie(error, count) = co_await joint.socket.async_write_some(rest, async::as_value);
    }
    if (error) co_return false;
    bytes.remove_prefix(count);
  }
  co_return true;
}

Task<void> from_stream(JointPtr joint) {
  CutAtEnd cut{joint};
  const auto size = joint->options.piece;
  const auto piece = std::make_unique_for_overwrite<char[]>(size);
  while (true) {
    const std::span<char> space(piece.get(), size);
    const auto count = co_await joint->stream->read_some(space);
    if (!count || *count == 0) joint->stream_over();
    if (!count) co_return;
    if (*count == 0) break;
    const std::string_view bytes(piece.get(), *count);
    const bool written = co_await write_all(*joint, bytes);
    joint->ending = joint->ending || !written;
    if (!written) co_return;
  }
  if (joint->options.side == SocketSide::speaks) co_return;
  boost::system::error_code ignored;
  joint->socket.shutdown(LocalSocket::shutdown_send, ignored);
  cut.joint.reset();
}

Task<void> from_socket(JointPtr joint) {
  CutAtEnd cut{joint};
  const auto size = joint->options.piece;
  const auto piece = std::make_unique_for_overwrite<char[]>(size);
  while (true) {
    const auto space = asio::buffer(piece.get(), size);
    const auto [error, count] = co_await joint->socket.async_read_some(space, async::as_value);
    joint->ending = joint->ending || error;
    if (error == asio::error::eof) break;
    if (error) co_return;
    const std::string_view bytes(piece.get(), count);
    const auto written = co_await joint->stream->write(bytes);
    if (!written) joint->stream_over();
    if (!written) co_return;
  }
  co_await joint->stream->finish();
  if (joint->options.side != SocketSide::speaks && !joint->left()) cut.joint.reset();
}

// Detects that a client has closed its socket while the stream accepts no bytes, which no read would detect.
Task<void> until_left(JointPtr joint) {
  if (joint->options.side != SocketSide::asks) co_return;
  CutAtEnd cut{joint};
  while (!joint->left()) co_await joint->socket.async_wait(LocalSocket::wait_error, async::as_value);
}

}  // namespace

Task<void> pump(std::unique_ptr<mesh::Stream> stream, LocalSocket socket, PumpOptions options) {
  const auto executor = co_await asio::this_coro::executor;
  const auto joint = std::make_shared<Joint>(std::move(stream), std::move(socket), options);
  auto there = asio::co_spawn(executor, from_socket(joint), asio::deferred);
  auto back = asio::co_spawn(executor, from_stream(joint), asio::deferred);
  auto watch = asio::co_spawn(executor, until_left(joint), asio::deferred);
  auto all = asio::experimental::make_parallel_group(std::move(there), std::move(back), std::move(watch));
  co_await all.async_wait(asio::experimental::wait_for_all(), async::use_task);
}

}  // namespace corral::fleet
