#include "http/beast/buffered_socket.h"

#include <array>
#include <cstring>
#include <tuple>

#include <sys/socket.h>

#include "http/errors.h"

namespace corral::http {
namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kLargestBuffer = 256 * 1024;

// The unwritten rest of some buffers.
class Rest {
 public:
  explicit Rest(std::span<const asio::const_buffer> buffers) {
    for (const auto& buffer : buffers) buffers_[count_++] = buffer;
  }
  std::span<const asio::const_buffer> buffers() const { return {buffers_.data() + first_, count_ - first_}; }
  void skip(std::size_t bytes) {
    while (first_ < count_) {
      auto& front = buffers_[first_];
      const auto step = std::min(bytes, front.size());
      front += step;
      bytes -= step;
      if (front.size() > 0) return;
      ++first_;
    }
  }
  bool empty() const { return first_ == count_; }

 private:
  std::array<asio::const_buffer, BufferedSocket::kMaxBuffers> buffers_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

bool would_block(const boost::system::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace

Result<Socket> socket_of(UniqueFd descriptor, async::Executor executor) {
  int family = 0;
  socklen_t size = sizeof family;
  boost::system::error_code error;
  Socket socket(executor);
  if (::getsockopt(descriptor.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    error.assign(errno, boost::system::system_category());
  } else {
    socket.assign(asio::generic::stream_protocol(family, 0), descriptor.get(), error);
  }
  if (error) return fail(errc::connect_failed, "that descriptor is not a connection: " + error.message());
  descriptor.release();
  return socket;
}

BufferedSocket::BufferedSocket(Socket socket) : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  resize(kFirstBuffer);
}

void BufferedSocket::resize(std::size_t size) {
  auto larger = std::make_unique_for_overwrite<char[]>(size);
  if (end_ > begin_) std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(larger);
  size_ = size;
  end_ -= begin_;
  begin_ = 0;
}

void BufferedSocket::shrink() {
  if (size_ > kFirstBuffer && end_ - begin_ <= kFirstBuffer) resize(kFirstBuffer);
}

void BufferedSocket::make_room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ < size_) return;
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  } else if (size_ < kLargestBuffer) {
    resize(std::min(size_ * 4, kLargestBuffer));
  }
}

async::Task<Result<>> BufferedSocket::fill() {
  make_room();
  if (end_ == size_) co_return fail(errc::header_too_large, "a part of the message is larger than the read buffer");
  const auto space = asio::buffer(buffer_.get() + end_, size_ - end_);
  reading_.waits = true;
  const auto [error, count] = co_await socket_.async_read_some(space, async::as_value);
  reading_.waits = false;
  reading_.pace.moved(count);
  end_ += count;
  // A peer that fills the buffer sends much: double its size.
  if (end_ == size_ && begin_ == 0 && size_ < kLargestBuffer) resize(size_ * 2);
  co_return outcome(error, reading_);
}

async::Task<Result<>> BufferedSocket::write(std::span<const asio::const_buffer> buffers) {
  Rest rest(buffers);
  rest.skip(0);
  boost::system::error_code error;
  while (!rest.empty() && !error) {
    // At once, without a turn of the loop: nearly all writes end here.
    auto count = socket_.write_some(rest.buffers(), error);
    if (would_block(error)) {
      writing_.waits = true;
      const auto left = rest.buffers();
      std::tie(error, count) = co_await socket_.async_write_some(left, async::as_value);
      writing_.waits = false;
    }
    writing_.pace.moved(count);
    rest.skip(count);
  }
  co_return outcome(error, writing_);
}

Result<> BufferedSocket::outcome(boost::system::error_code error, const Side& side) {
  if (!error) return {};
  if (side.overdue) return fail(errc::timed_out, "the peer took too long");
  return fail(errc::peer_closed, "the connection ended: " + error.message());
}

bool BufferedSocket::is_overdue(Side& side, MonoClock::duration passed) {
  const bool waited = side.waits && side.waited_at_tick;
  side.waited_at_tick = side.waits;
  if (!waited || side.pace.waited(passed)) return false;
  side.overdue = true;
  return true;
}

void BufferedSocket::tick(MonoClock::duration passed) {
  boost::system::error_code ignored;
  if (is_overdue(writing_, passed)) {
    // Otherwise the kernel would keep unsent bytes for minutes for a peer that doesn't read.
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
  } else if (is_overdue(reading_, passed)) {
    socket_.cancel(ignored);  // stays open for the error response
  }
}

bool BufferedSocket::is_readable() {
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void BufferedSocket::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace corral::http
