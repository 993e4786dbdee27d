// The shared context of a node's TLS connections: TLS 1.3 only, Ed25519 certificates both ways, no resumption. Also
// connects OpenSSL to our sockets.
#pragma once

#include <memory>

#include "mesh/identity/keys.h"
#include "mesh/net/stream.h"

struct ssl_ctx_st;
struct ssl_st;

namespace corral::mesh {

// Decides on the peer's key, in the middle of the handshake. A rejected peer gets an alert: certificate_revoked for
// revoked, unknown_ca for all others.
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
  // Over a connected, non-blocking socket. `judge` outlives the connection.
  Connection dial(int socket, Purpose purpose, CertificateVerifier& judge) const;
  Connection accept(int socket, CertificateVerifier& judge) const;

 private:
  Connection make(int socket, CertificateVerifier& judge) const;

  std::shared_ptr<ssl_ctx_st> context_;
};

// The purpose by ALPN; none before, or if the peer sent none.
std::optional<Purpose> agreed_purpose(const ssl_st* connection);

// Why the last step of a handshake failed, from the peer's alert or OpenSSL. Empties OpenSSL's list of errors.
Error take_tls_error();

}  // namespace corral::mesh
