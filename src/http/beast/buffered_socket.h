// One connected socket with its read buffer and the time limits of its peer. Belongs to one loop.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "async/task.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "http/min_rate.h"

namespace corral::http {

namespace asio = boost::asio;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, async::Executor>;

// Wraps a connected socket. Errors: connect_failed.
Result<Socket> socket_of(UniqueFd descriptor, async::Executor executor);

class BufferedSocket {
 public:
  static constexpr std::size_t kMaxBuffers = 3;  // of one write()

  explicit BufferedSocket(Socket socket);

  Socket& socket() { return socket_; }

  // Bytes that were read and not yet consumed. Valid until the next fill().
  std::string_view unread() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t count) { begin_ += count; }

  // Reads more bytes after the unread ones. Errors: peer_closed, timed_out, header_too_large (buffer full).
  async::Task<Result<>> fill();
  // Writes all buffers, at most kMaxBuffers: at once the bytes that the socket takes, which are all unless the reader
  // is behind. Errors: peer_closed, timed_out.
  async::Task<Result<>> write(std::span<const asio::const_buffer> buffers);
  // For operations on socket() itself: time counts against the peer between the two calls.
  void begin_reading() { reading_.waits = true; }
  void end_reading(std::size_t bytes) { end(reading_, bytes); }
  void begin_writing() { writing_.waits = true; }
  void end_writing(std::size_t bytes) { end(writing_, bytes); }
  // Shrinks a buffer that grew for a large message. Call it when nothing is read or written.
  void shrink();
  std::size_t buffer_size() const { return size_; }

  // Sets the minimum rate of the peer, in fill() and in write(). No limit at first.
  void set_reading_pace(const MinRate& rule) { reading_.pace.restart(rule); }
  void set_writing_pace(const MinRate& rule) { writing_.pace.restart(rule); }
  // `passed`: time since the last call, or since construction. If the peer is too slow, a fill() fails with timed_out;
  // a write() too, and its connection ends.
  void tick(MonoClock::duration passed);
  // True: unexpected bytes, or the end. Costs a system call.
  bool is_readable();
  void close();

 private:
  struct Side {
    MinRateMeter pace;
    bool waits = false;           // waits for the peer now
    bool waited_at_tick = false;  // waited at the last tick, too
    bool overdue = false;
  };

  static Result<> outcome(boost::system::error_code error, const Side& side);
  static void end(Side& side, std::size_t bytes) {
    side.waits = false;
    side.pace.moved(bytes);
  }
  static bool is_overdue(Side& side, MonoClock::duration passed);
  void make_room();
  void resize(std::size_t size);

  Socket socket_;
  std::unique_ptr<char[]> buffer_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Side reading_;
  Side writing_;
};

}  // namespace corral::http
