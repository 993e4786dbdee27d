// One connected socket with its read buffer and its deadline. Belongs to one loop.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "async/task.h"
#include "base/clock.h"
#include "base/error.h"

namespace corral::http {

namespace asio = boost::asio;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, async::Executor>;

class Wire {
 public:
  explicit Wire(Socket socket);

  Socket& socket() { return socket_; }

  // Bytes that were read and not yet consumed. Valid until the next fill().
  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t count) { begin_ += count; }

  // Reads more bytes behind the unread ones. Errors: peer_closed, timed_out.
  async::Task<Result<>> fill(std::chrono::milliseconds limit);
  // Writes all buffers. Errors: peer_closed, timed_out.
  async::Task<Result<>> write(std::span<const asio::const_buffer> buffers, std::chrono::milliseconds limit);

  // Closes the socket when the operation under way is overdue; that operation then fails with timed_out.
  void close_if_overdue(MonoTime now);
  void close();

 private:
  Result<> outcome(boost::system::error_code error);

  Socket socket_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  MonoTime deadline_ = MonoTime::max();
  bool overdue_ = false;
};

}  // namespace corral::http
