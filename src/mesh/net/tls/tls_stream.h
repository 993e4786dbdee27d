// One TLS connection over TCP: the handshake, then a Stream.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "mesh/net/stream.h"
#include "mesh/net/tls/tls_context.h"

namespace corral::mesh {

using TcpSocket = async::asio::basic_stream_socket<async::asio::ip::tcp, async::Executor>;

// Shared between the stream and operations of it that still unwind.
class TlsSession final : public CertificateVerifier, public std::enable_shared_from_this<TlsSession> {
 public:
  using Judge = std::function<Result<>(const PublicKey& key, std::optional<Purpose> purpose)>;

  // Dials when a purpose is given, waits for the peer's hello otherwise. `shown`: the peer's address for people.
  TlsSession(TcpSocket socket, const TlsContext& context, std::optional<Purpose> purpose, Judge judge,
             std::string shown);

  // Until both sides know that they accept each other: the accepting side sends a first byte. Errors: as Network::dial,
  // without deadlines.
  async::Task<Result<>> shake_hands();
  async::Task<Result<std::size_t>> read_some(std::span<char> space);
  async::Task<Result<>> write(std::string bytes);
  async::Task<void> finish();
  async::Task<Result<bool>> readable();
  bool is_quiet() const;
  void close();

  const Peer& peer() const { return peer_; }
  Purpose purpose() const { return purpose_; }
  Sha256 exporter(std::string_view label) const;

  // Destroyed with the connection.
  std::shared_ptr<void> held;

 private:
  Result<> judge(const PublicKey& key) override;
  template <typename Operation>
  async::Task<Result<>> drive(Operation operation);

  TcpSocket socket_;
  TlsContext::Connection connection_;
  const Judge judge_;
  Peer peer_;
  Purpose purpose_{};
  std::optional<Error> refusal_;  // of the peer's key
  bool broken_ = false;           // OpenSSL must not be asked again
  int busy_turns_ = 0;
};

class TlsStream final : public Stream {
 public:
  explicit TlsStream(std::shared_ptr<TlsSession> session) : session_(std::move(session)) {}
  ~TlsStream() override { session_->close(); }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  const Peer& peer() const override { return session_->peer(); }
  Purpose purpose() const override { return session_->purpose(); }
  async::Task<Result<std::size_t>> read_some(std::span<char> space) override { return read_from(session_, space); }
  async::Task<Result<>> write(std::string_view bytes) override { return write_to(session_, std::string(bytes)); }
  async::Task<void> finish() override { return finish_it(session_); }
  void close() override { session_->close(); }
  async::Task<Result<bool>> readable() override { return wait_for_bytes(session_); }
  bool is_quiet() const override { return session_->is_quiet(); }
  Sha256 exporter(std::string_view label) const override { return session_->exporter(label); }

 private:
  using Session = std::shared_ptr<TlsSession>;
  static async::Task<Result<std::size_t>> read_from(Session session, std::span<char> space) {
    co_return co_await session->read_some(space);
  }
  static async::Task<Result<>> write_to(Session session, std::string bytes) {
    co_return co_await session->write(std::move(bytes));
  }
  static async::Task<void> finish_it(Session session) { co_await session->finish(); }
  static async::Task<Result<bool>> wait_for_bytes(Session session) { co_return co_await session->readable(); }

  Session session_;
};

}  // namespace corral::mesh
