#include "mesh/net/tls/tls_stream.h"

#include <cerrno>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;
namespace asio = async::asio;

constexpr int kUserTimeout = 2000;               // ms that sent bytes may stay without acknowledgement
constexpr int kKeepAlive = 30;                   // s of silence until the kernel probes the other end
constexpr int kTurnsInARow = 16;                 // before it yields to other work of the loop
constexpr std::size_t kMuchBuffer = 256 * 1024;  // of files and weights, instead of a record at a time
constexpr char kWelcome = 1;

std::unexpected<Error> broken() { return fail(errc::link_closed, "the connection broke"); }

// An operation that failed because its task was cancelled must not look like a broken connection.
Task<void> throw_if_cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

void set_options(TcpSocket& socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeout, sizeof kUserTimeout);
  // Keeps streams that wait for their use open in firewalls.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAlive, sizeof kKeepAlive);
}

// A stream of a split is silent while its engine is idle, and the end of the stream ends the engine. After
// TCP_USER_TIMEOUT the kernel closes the connection at the first unanswered probe, so the timeout must allow for some
// lost probes. The link detects a dead peer sooner.
void bear_silence(TcpSocket& socket) {
  constexpr int kIdle = 4, kEach = 1;  // s
  constexpr int kGiveUp = 10'000;      // ms
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kGiveUp, sizeof kGiveUp);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdle, sizeof kIdle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kEach, sizeof kEach);
}

}  // namespace

TlsSession::TlsSession(TcpSocket socket, const TlsContext& context, std::optional<Purpose> purpose, Judge judge,
                       std::string shown)
    : socket_(std::move(socket)),
      connection_(purpose ? context.dial(socket_.native_handle(), *purpose, *this)
                          : context.accept(socket_.native_handle(), *this)),
      judge_(std::move(judge)) {
  peer_.address = std::move(shown);
  peer_.dialled = purpose.has_value();
  set_options(socket_);
  if (purpose == Purpose::copy) SSL_set_default_read_buffer_len(connection_.get(), kMuchBuffer);
}

Result<> TlsSession::judge(const PublicKey& key) {
  auto may = judge_(key, agreed_purpose(connection_.get()));
  if (!may) {
    refusal_ = may.error();
    return may;
  }
  peer_.key = key;
  peer_.id = node_id(key);
  return {};
}

// Repeats `operation` until it succeeds, waiting for the socket in between. An announced end is 0 bytes read, which the
// operation handles. Errors: link_closed.
template <typename Operation>
Task<Result<>> TlsSession::drive(Operation operation) {
  if (++busy_turns_ >= kTurnsInARow) {
    busy_turns_ = 0;
    co_await asio::post(async::use_task);
  }
  while (socket_.is_open() && !broken_) {
    ERR_clear_error();
    const int result = operation(connection_.get());
    if (result > 0) co_return Result<>();
    const int why = SSL_get_error(connection_.get(), result);
    if (why == SSL_ERROR_ZERO_RETURN) co_return Result<>();
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
      broken_ = true;
      break;
    }
    busy_turns_ = 0;
    const auto side = why == SSL_ERROR_WANT_READ ? TcpSocket::wait_read : TcpSocket::wait_write;
    const auto [error] = co_await socket_.async_wait(side, async::as_value);
    co_await throw_if_cancelled();
    if (error) break;
  }
  co_return broken();
}

Task<Result<>> TlsSession::shake_hands() {
  auto shaking = drive([](SSL* ssl) { return SSL_do_handshake(ssl); });
  auto shaken = co_await std::move(shaking);
  if (shaken) {
    const auto purpose = agreed_purpose(connection_.get());
    if (!purpose) co_return fail(errc::handshake_failed, "the peer named no purpose of the connection");
    purpose_ = *purpose;
    if (purpose_ == Purpose::rpc) SSL_set_default_read_buffer_len(connection_.get(), kMuchBuffer);
    if (purpose_ == Purpose::rpc || purpose_ == Purpose::back) bear_silence(socket_);
    char byte = kWelcome;
    if (!peer_.dialled) co_return co_await write(std::string(1, byte));
    const auto got = co_await read_some({&byte, 1});
    if (got && *got == 1 && byte == kWelcome) co_return Result<>();
    shaken = broken();
  }
  if (refusal_) co_return std::unexpected(*refusal_);
  co_return std::unexpected(take_tls_error());
}

Task<Result<std::size_t>> TlsSession::read_some(std::span<char> space) {
  std::size_t count = 0;
  auto reading = drive([&count, space](SSL* ssl) { return SSL_read_ex(ssl, space.data(), space.size(), &count); });
  const auto read = co_await std::move(reading);
  if (!read) co_return std::unexpected(read.error());
  co_return count;
}

Task<Result<bool>> TlsSession::readable() {
  std::size_t count = 0;
  char byte = 0;
  auto peeking = drive([&count, &byte](SSL* ssl) { return SSL_peek_ex(ssl, &byte, 1, &count); });
  const auto peeked = co_await std::move(peeking);
  if (!peeked) co_return std::unexpected(peeked.error());
  co_return count > 0;
}

bool TlsSession::is_quiet() const {
  if (!socket_.is_open() || broken_ || SSL_has_pending(connection_.get()) == 1) return false;
  char byte = 0;
  auto& socket = const_cast<TcpSocket&>(socket_);
  return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

Task<Result<>> TlsSession::write(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    std::size_t count = 0;
    auto writing = drive([&count, &rest](SSL* ssl) { return SSL_write_ex(ssl, rest.data(), rest.size(), &count); });
    auto written = co_await std::move(writing);
    if (!written) co_return written;
    if (count == 0) co_return broken();
    rest.remove_prefix(count);
  }
  co_return Result<>();
}

Task<void> TlsSession::finish() {
  // 0: sent, and the peer hasn't announced its end yet; this is enough.
  auto sending = drive([](SSL* ssl) {
    const int result = SSL_shutdown(ssl);
    return result == 0 ? 1 : result;
  });
  const auto sent = co_await std::move(sending);
  boost::system::error_code ignored;
  if (sent) socket_.shutdown(TcpSocket::shutdown_send, ignored);
}

void TlsSession::close() {
  boost::system::error_code ignored;
  held.reset();
  socket_.close(ignored);
}

Sha256 TlsSession::exporter(std::string_view label) const {
  Sha256 material{};
  if (SSL_export_keying_material(connection_.get(), material.data(), material.size(), label.data(), label.size(),
                                 nullptr, 0, 0) != 1) {
    throw std::runtime_error("OpenSSL exported no keying material");
  }
  return material;
}

}  // namespace corral::mesh
