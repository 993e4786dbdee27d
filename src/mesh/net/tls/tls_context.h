// What all TLS connections of a node share: TLS 1.3 only, Ed25519 certificates both ways, no resumption. And the way
// OpenSSL reads and writes our sockets.
#pragma once

#include <memory>

#include "mesh/identity/keys.h"
#include "mesh/net/stream.h"

struct ssl_ctx_st;
struct ssl_st;

namespace corral::mesh {

// Decides on the key that a peer has shown, in the middle of the handshake. What it refuses, the peer is told by an
// alert: certificate_revoked for revoked, unknown_ca for all else.
class CertificateVerifier {
 public:
  virtual Result<> judge(const PublicKey& key) = 0;

 protected:
  ~CertificateVerifier() = default;
};

class TlsContext {
 public:
  explicit TlsContext(const SigningKey& key);

  using Connection = std::unique_ptr<ssl_st, void (*)(ssl_st*)>;
  // Over a socket that is connected and doesn't block. `judge` outlives the connection.
  Connection dial(int socket, Purpose purpose, CertificateVerifier& judge) const;
  Connection accept(int socket, CertificateVerifier& judge) const;

 private:
  Connection make(int socket, CertificateVerifier& judge) const;

  std::shared_ptr<ssl_ctx_st> context_;
};

// What was agreed on by ALPN; none before, or when the peer asked for nothing.
std::optional<Purpose> agreed_purpose(const ssl_st* connection);

// Why the last step of a handshake failed, as the peer's alert or OpenSSL tells it. Empties OpenSSL's list of errors.
Error take_tls_error();

}  // namespace corral::mesh
