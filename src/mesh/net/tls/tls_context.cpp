#include "mesh/net/tls/tls_context.h"

#include <cerrno>
#include <stdexcept>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "mesh/identity/errors.h"
#include "mesh/net/tls/certificate.h"

namespace corral::mesh {
namespace {

constexpr long kMaxCertificateBytes = 8 * 1024;

// A socket for OpenSSL, because OpenSSL's own type of socket raises SIGPIPE.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}
int bio_read(BIO* bio, char* space, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(socket_of(bio), space, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}
long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* bio_method() {
  static const auto* const method = [] {
    auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "corral socket");
    if (!made || BIO_meth_set_write(made, bio_write) != 1 || BIO_meth_set_read(made, bio_read) != 1 ||
        BIO_meth_set_ctrl(made, bio_control) != 1) {
      throw std::runtime_error("OpenSSL made no BIO method");
    }
    return made;
  }();
  return method;
}

// Checks only the key: no chain, name or date.
int verify_certificate(X509_STORE_CTX* store, void*) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* judge = static_cast<CertificateVerifier*>(SSL_get_app_data(ssl));
  const auto key = key_of(X509_STORE_CTX_get0_cert(store));
  const auto may =
      key ? judge->judge(*key) : Result<>(fail(errc::handshake_failed, "the peer's certificate has no Ed25519 key"));
  if (may) {
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
  }
  const bool revoked = may.error().code == errc::revoked;
  X509_STORE_CTX_set_error(store, revoked ? X509_V_ERR_CERT_REVOKED : X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
  return 0;
}

// Selects the first known name of the peer's list.
int select_purpose(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                   unsigned int size, void*) {
  for (unsigned int at = 0; at < size && at + 1 + offered[at] <= size; at += 1 + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (!purpose_of(name)) continue;
    *out = offered + at + 1;
    *out_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

TlsContext::TlsContext(const SigningKey& key)
    : context_(SSL_CTX_new(TLS_method()), [](SSL_CTX* last) { SSL_CTX_free(last); }) {
  auto* context = context_.get();
  const auto certificate = make_certificate(key);
  const bool made =
      context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1 &&
      SSL_CTX_set1_groups_list(context, "X25519") == 1 && SSL_CTX_set1_sigalgs_list(context, "ed25519") == 1 &&
      SSL_CTX_set1_client_sigalgs_list(context, "ed25519") == 1 &&
      SSL_CTX_use_certificate(context, certificate.get()) == 1 && SSL_CTX_use_PrivateKey(context, key.handle()) == 1;
  if (!made) throw std::runtime_error("OpenSSL made no TLS context");
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_max_cert_list(context, kMaxCertificateBytes);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context, verify_certificate, nullptr);
  SSL_CTX_set_alpn_select_cb(context, select_purpose, nullptr);
}

TlsContext::Connection TlsContext::make(int socket, CertificateVerifier& judge) const {
  Connection connection(SSL_new(context_.get()), [](SSL* last) { SSL_free(last); });
  BIO* bio = BIO_new(bio_method());
  if (!connection || !bio) throw std::bad_alloc();
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(connection.get(), bio, bio);
  SSL_set_app_data(connection.get(), &judge);
  return connection;
}

TlsContext::Connection TlsContext::dial(int socket, Purpose purpose, CertificateVerifier& judge) const {
  auto connection = make(socket, judge);
  const auto name = alpn_of(purpose);
  std::string offered(1, static_cast<char>(name.size()));
  offered.append(name);
  if (SSL_set_alpn_protos(connection.get(), reinterpret_cast<const unsigned char*>(offered.data()),
                          static_cast<unsigned int>(offered.size())) != 0) {
    throw std::bad_alloc();
  }
  SSL_set_connect_state(connection.get());
  return connection;
}

TlsContext::Connection TlsContext::accept(int socket, CertificateVerifier& judge) const {
  auto connection = make(socket, judge);
  SSL_set_accept_state(connection.get());
  return connection;
}

std::optional<Purpose> agreed_purpose(const ssl_st* connection) {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(connection, &name, &size);
  return purpose_of({reinterpret_cast<const char*>(name), size});
}

Error take_tls_error() {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  const auto error = [](errc cause, std::string text) { return Error(make_error_code(cause), std::move(text)); };
  if (code == 0) return error(errc::handshake_failed, "the peer closed the connection in the handshake");
  switch (ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return error(errc::revoked, "the peer says that this node was revoked");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return error(errc::not_a_member, "the peer doesn't know this node");
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return error(errc::unsupported_version, "the peer has another version of the protocol, or isn't corral");
    case SSL_R_WRONG_VERSION_NUMBER:
      return error(errc::handshake_failed, "the peer doesn't use TLS");
    default:
      break;
  }
  const char* reason = ERR_reason_error_string(code);
  return error(errc::handshake_failed, fmt::format("TLS: {}", reason ? reason : "unknown error"));
}

}  // namespace corral::mesh
