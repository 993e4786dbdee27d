#include "http/beast/served_web_socket.h"

#include <algorithm>

#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "http/errors.h"

namespace corral::http {
namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using ErrorCode = boost::system::error_code;

// Messages up to this size aren't counted against the common limit.
constexpr std::uint64_t kSmallMessage = 64 * 1024;
constexpr std::uint64_t kCountedStep = 64 * 1024;
constexpr std::chrono::seconds kHandshake{10};

// The wire as a stream of the library: first the bytes that were read with the head, then those of the socket.
class WireStream {
 public:
  using executor_type = async::Executor;
  template <typename Token>
  using ResultOf = typename asio::async_result<std::decay_t<Token>, void(ErrorCode, std::size_t)>::return_type;

  explicit WireStream(BufferedSocket& wire) : wire_(&wire) {}
  executor_type get_executor() const { return wire_->socket().get_executor(); }

  template <typename Buffers, typename Token>
  ResultOf<Token> async_read_some(const Buffers& buffers, Token&& token) {
    auto step = [wire = wire_, buffers, begun = false, found = std::size_t{0}](auto& self, ErrorCode error = {},
                                                                               std::size_t count = 0) mutable {
      if (begun) {
        if (found == 0) wire->end_reading(count);
        return self.complete(error, found == 0 ? count : found);
      }
      begun = true;
      const auto unread = wire->unread();
      found = asio::buffer_copy(buffers, asio::buffer(unread.data(), unread.size()));
      wire->consume(found);
      if (found > 0) return asio::post(wire->socket().get_executor(), std::move(self));
      wire->begin_reading();
      wire->socket().async_read_some(buffers, std::move(self));
    };
    return asio::async_compose<Token, void(ErrorCode, std::size_t)>(std::move(step), token, wire_->socket());
  }

  template <typename Buffers, typename Token>
  ResultOf<Token> async_write_some(const Buffers& buffers, Token&& token) {
    auto step = [wire = wire_, buffers, begun = false](auto& self, ErrorCode error = {},
                                                       std::size_t count = 0) mutable {
      if (std::exchange(begun, true)) {
        wire->end_writing(count);
        return self.complete(error, count);
      }
      wire->begin_writing();
      wire->socket().async_write_some(buffers, std::move(self));
    };
    return asio::async_compose<Token, void(ErrorCode, std::size_t)>(std::move(step), token, wire_->socket());
  }

  // Called by the library after the good-byes, and when time is over.
  template <typename Handler>
  friend void async_teardown(beast::role_type, WireStream& stream, Handler&& handler) {
    ErrorCode ignored;
    stream.wire_->socket().shutdown(Socket::shutdown_send, ignored);
    asio::post(stream.get_executor(), beast::bind_front_handler(std::forward<Handler>(handler), ErrorCode()));
  }
  friend void beast_close_socket(WireStream& stream) { stream.wire_->close(); }

 private:
  BufferedSocket* wire_;
};

}  // namespace

struct ServedWebSocket::Stream {
  explicit Stream(BufferedSocket& wire) : socket(wire) {}
  websocket::stream<WireStream> socket;
};

ServedWebSocket::ServedWebSocket(BufferedSocket& wire, BodyBudget& bodies, Limits limits)
    : wire_(wire),
      bodies_(&bodies),
      limits_(limits),
      stream_(std::make_unique<Stream>(wire)),
      ready_(wire.socket().get_executor()),
      tasks_(wire.socket().get_executor()) {
  auto& socket = stream_->socket;
  const websocket::stream_base::timeout times{
      .handshake_timeout = kHandshake,
      .idle_timeout = limits_.idle.count() > 0 ? limits_.idle : websocket::stream_base::none(),
      .keep_alive_pings = true};
  socket.set_option(times);
  socket.read_message_max(limits_.message_bytes);
  socket.auto_fragment(false);  // one frame for each message
  socket.text(true);
}

ServedWebSocket::~ServedWebSocket() = default;

async::Task<bool> ServedWebSocket::accept(const RequestHead& head, std::string server, std::string request_id) {
  beast::http::request<beast::http::empty_body> request(beast::http::verb::get, head.target, 11);
  for (const auto& [name, value] : head.headers) request.insert(name, value);
  auto decorate = [server = std::move(server), id = std::move(request_id)](websocket::response_type& response) {
    response.set(beast::http::field::server, server);
    response.set("X-Request-Id", id);
  };
  auto& socket = stream_->socket;
  socket.set_option(websocket::stream_base::decorator(std::move(decorate)));
  const auto [error] = co_await socket.async_accept(request, async::as_value);
  co_return !error;
}

void ServedWebSocket::start(std::shared_ptr<void> owner, std::function<void()> gone) {
  gone_ = std::move(gone);
  wire_.set_reading_pace(kNoMinRate);  // pings find out whether an idle client is there
  tasks_.spawn("web socket", read_all(shared_from_this(), std::move(owner)));
}

async::Task<void> ServedWebSocket::read_all(std::shared_ptr<ServedWebSocket> self, std::shared_ptr<void> owner) {
  while (true) {
    auto receiving = self->receive();
    auto message = co_await std::move(receiving);
    if (!message) break;
    self->waiting_.push_back(std::move(*message));
    self->ready_.set();
  }
  self->ended_ = true;
  self->ready_.set();
  if (self->reading_ || !self->gone_) co_return;
  const auto gone = std::exchange(self->gone_, {});
  gone();
}

async::Task<std::optional<std::string>> ServedWebSocket::receive() {
  auto& socket = stream_->socket;
  std::string message;
  do {
    const auto space = asio::buffer(chunk_);
    const auto [error, count] = co_await socket.async_read_some(space, async::as_value);
    if (error) co_return std::nullopt;
    std::uint16_t code = websocket::close_code::none;
    std::string_view why;
    if (!socket.got_text()) {
      code = websocket::close_code::unknown_data;
      why = "only texts are read";
    } else if (waiting_.size() == kMaxWaiting) {
      code = websocket::close_code::policy_error;
      why = "too many messages wait: send the next one after a response";
    } else if (!hold(count)) {
      code = websocket::close_code::try_again_later;
      why = "max_bodies_bytes is reached: retry soon, or send less";
    }
    if (code != websocket::close_code::none) {
      auto ending = end(code, why);
      co_await std::move(ending);
      co_return std::nullopt;
    }
    const bool first = message.empty();
    message.append(chunk_.data(), count);
    if (socket.is_message_done()) {
      wire_.set_reading_pace(kNoMinRate);
    } else if (first) {
      wire_.set_reading_pace(limits_.message_pace);
    }
  } while (!socket.is_message_done());
  co_return message;
}

async::Task<void> ServedWebSocket::end(std::uint16_t code, std::string_view why) {
  if (std::exchange(closing_, true)) co_return;
  const websocket::close_reason reason(static_cast<websocket::close_code>(code), {why.data(), why.size()});
  co_await stream_->socket.async_close(reason, async::as_value);
}

async::Task<Result<std::string>> ServedWebSocket::read() {
  let_go(std::exchange(handled_, 0));
  reading_ = true;
  while (waiting_.empty() && !ended_ && !finishing_) {
    ready_.reset();
    co_await ready_.wait();
  }
  reading_ = false;
  if (waiting_.empty() || finishing_) co_return fail(errc::peer_closed, "the WebSocket has ended");
  auto message = std::move(waiting_.front());
  waiting_.pop_front();
  handled_ = message.size();
  co_return message;
}

async::Task<Result<>> ServedWebSocket::write(std::string_view text) {
  const auto buffer = asio::buffer(text.data(), text.size());
  const auto [error, count] = co_await stream_->socket.async_write(buffer, async::as_value);
  if (error) co_return fail(errc::peer_closed, "the WebSocket ended: " + error.message());
  co_return Result<>();
}

void ServedWebSocket::finish() {
  finishing_ = true;
  ready_.set();
}

async::Task<void> ServedWebSocket::close() {
  gone_ = {};
  if (!ended_) {
    auto ending = end(finishing_ ? websocket::close_code::going_away : websocket::close_code::normal, {});
    co_await std::move(ending);
  }
  co_await tasks_.join();
}

void ServedWebSocket::drop() {
  gone_ = {};
  let_go(held_);
  bodies_ = nullptr;
}

bool ServedWebSocket::hold(std::uint64_t bytes) {
  held_ += bytes;
  if (bodies_ == nullptr) return false;
  const auto counted = held_ <= kSmallMessage ? 0 : (held_ + kCountedStep - 1) / kCountedStep * kCountedStep;
  if (counted > budgeted_ && !bodies_->take(counted - budgeted_)) return false;
  if (counted > budgeted_) budgeted_ = counted;
  return true;
}

void ServedWebSocket::let_go(std::uint64_t bytes) {
  held_ -= std::min(held_, bytes);
  if (bodies_ == nullptr) return;
  const auto counted = held_ <= kSmallMessage ? 0 : (held_ + kCountedStep - 1) / kCountedStep * kCountedStep;
  if (counted < budgeted_) bodies_->give_back(budgeted_ - counted);
  budgeted_ = std::min(budgeted_, counted);
}

}  // namespace corral::http
