#include "proc/control_channel.h"

#include <cstdlib>
#include <deque>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <fcntl.h>
#include <sys/socket.h>

#include "async/event.h"

namespace corral::proc {

namespace asio = async::asio;
using async::Task;

namespace {

using Socket = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
constexpr std::size_t kReadBytes = 8192;

std::unexpected<Error> closed() { return fail(errc::channel_closed, "the other side of the control channel is gone"); }

// A failure by cancellation of the task must not look like a closed channel.
Task<void> throw_if_cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

}  // namespace

struct ControlChannel::State {
  State(async::Executor executor, UniqueFd fd) : socket(executor, asio::local::stream_protocol(), fd.get()) {
    fd.release();
  }

  Socket socket;
  std::string incoming;     // received, not yet returned
  std::size_t scanned = 0;  // of incoming: known to hold no newline

  // A writer's place in the queue, in the order of the calls. The first one writes.
  class Turn {
   public:
    explicit Turn(State& state) : state_(state), come_(state.socket.get_executor()) {
      state_.writers.push_back(this);
      if (state_.writers.front() == this) come_.set();
    }
    ~Turn() {
      std::erase(state_.writers, this);
      if (!state_.writers.empty()) state_.writers.front()->come_.set();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    Task<void> wait() { return come_.wait(); }

   private:
    State& state_;
    async::Event come_;
  };
  std::deque<Turn*> writers;

  void close() {
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  std::optional<std::string> take_line() {
    const auto end = incoming.find('\n', scanned);
    scanned = incoming.size();
    if (end == std::string::npos) return std::nullopt;
    std::string line = incoming.substr(0, end);
    incoming.erase(0, end + 1);
    scanned = 0;
    return line;
  }

  static Task<Result<std::string>> read_line(std::shared_ptr<State> self) {
    for (;;) {
      auto line = self->take_line();
      if (line && line->size() <= kMaxControlLine) co_return std::move(*line);
      if (line || self->incoming.size() > kMaxControlLine) {
        self->close();
        self->incoming = {};
        self->scanned = 0;
        co_return fail(errc::line_too_long, "a line on the control channel is longer than 1 MiB");
      }
      if (!self->socket.is_open()) co_return closed();
      const auto old_size = self->incoming.size();
      self->incoming.resize(old_size + kReadBytes);
      const auto space = asio::buffer(self->incoming.data() + old_size, kReadBytes);
      const auto [error, count] = co_await self->socket.async_read_some(space, async::as_value);
      self->incoming.resize(old_size + (error ? 0 : count));
      if (error) {
        co_await throw_if_cancelled();
        self->close();
        co_return closed();
      }
    }
  }

  static Task<Result<>> write_line(std::shared_ptr<State> self, std::string line) {
    if (line.size() > kMaxControlLine) {
      co_return fail(errc::line_too_long, "a line for the control channel is longer than 1 MiB");
    }
    line += '\n';
    Turn turn(*self);
    co_await turn.wait();
    if (!self->socket.is_open()) co_return closed();
    const auto [error, count] = co_await asio::async_write(self->socket, asio::buffer(line), async::as_value);
    // Half a line would corrupt the next one.
    if (error && (count > 0 || error != asio::error::operation_aborted)) self->close();
    if (!error) co_return Result<>();
    co_await throw_if_cancelled();
    co_return closed();
  }

  static Task<void> until_peer_gone(std::shared_ptr<State> self) {
    // A hang-up shows as an error condition of the socket, without reading.
    if (self->socket.is_open()) {
      co_await self->socket.async_wait(Socket::wait_error, async::as_value);
      co_await throw_if_cancelled();
    }
  }
};

ControlChannel::ControlChannel(async::Executor executor, UniqueFd socket)
    : state_(std::make_shared<State>(executor, std::move(socket))) {}

ControlChannel::~ControlChannel() { state_->close(); }

std::unique_ptr<ControlChannel> ControlChannel::from_environment(async::Executor executor) {
  const char* text = std::getenv(kControlVariable);
  if (!text) return nullptr;
  const int fd = std::atoi(text);
  ::unsetenv(kControlVariable);
  int type = 0;
  socklen_t size = sizeof type;
  if (fd != kControlFd || ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return nullptr;
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return std::make_unique<ControlChannel>(executor, UniqueFd(fd));
}

Task<Result<std::string>> ControlChannel::read_line() { return State::read_line(state_); }

Task<Result<>> ControlChannel::write_line(std::string line) { return State::write_line(state_, std::move(line)); }

Task<void> ControlChannel::until_peer_gone() { return State::until_peer_gone(state_); }

void ControlChannel::close() { state_->close(); }

std::optional<SocketPair> make_socket_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return std::nullopt;
  return SocketPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace corral::proc
