#include "http/beast/wire.h"

#include <cstring>

#include <boost/asio/write.hpp>

#include "http/errors.h"

namespace corral::http {
namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kLargestBuffer = 256 * 1024;

}  // namespace

Wire::Wire(Socket socket) : socket_(std::move(socket)), buffer_(kFirstBuffer) {}

async::Task<Result<>> Wire::fill(std::chrono::milliseconds limit) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      buffer_.resize(std::min(buffer_.size() * 4, kLargestBuffer));
    }
  }
  if (end_ == buffer_.size())
    co_return fail(errc::header_too_large, "a part of the message is larger than the read buffer");
  deadline_ = MonoClock::now() + limit;
  const auto space = asio::buffer(buffer_.data() + end_, buffer_.size() - end_);
  const auto [error, count] = co_await socket_.async_read_some(space, async::as_value);
  deadline_ = MonoTime::max();
  end_ += count;
  // A reader that keeps filling the buffer has much to say: give it room.
  if (end_ == buffer_.size() && begin_ == 0 && buffer_.size() < kLargestBuffer) buffer_.resize(buffer_.size() * 2);
  co_return outcome(error);
}

async::Task<Result<>> Wire::write(std::span<const asio::const_buffer> buffers, std::chrono::milliseconds limit) {
  deadline_ = MonoClock::now() + limit;
  const auto [error, count] = co_await asio::async_write(socket_, buffers, async::as_value);
  deadline_ = MonoTime::max();
  co_return outcome(error);
}

Result<> Wire::outcome(boost::system::error_code error) {
  if (!error) return {};
  if (overdue_) return fail(errc::timed_out, "the peer took too long");
  return fail(errc::peer_closed, "the connection ended: " + error.message());
}

void Wire::close_if_overdue(MonoTime now) {
  if (now < deadline_) return;
  overdue_ = true;
  close();
}

void Wire::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace corral::http
