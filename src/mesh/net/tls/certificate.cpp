#include "mesh/net/tls/certificate.h"

#include <stdexcept>

#include <openssl/asn1.h>
#include <openssl/crypto.h>
#include <openssl/x509.h>

namespace corral::mesh {

std::shared_ptr<x509_st> make_certificate(const SigningKey& key) {
  std::shared_ptr<X509> certificate(X509_new(), [](X509* last) { X509_free(last); });
  const auto name = to_text(key.id());  // 64 characters: the most that a common name may have
  auto* raw = certificate.get();
  const bool made = raw && X509_set_version(raw, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(raw), 1) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notBefore(raw), "19700101000000Z") == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notAfter(raw), "99991231235959Z") == 1 &&
                    X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_ASC,
                                               reinterpret_cast<const unsigned char*>(name.data()),
                                               static_cast<int>(name.size()), -1, 0) == 1 &&
                    X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
                    X509_set_pubkey(raw, key.handle()) == 1 && X509_sign(raw, key.handle(), nullptr) > 0;
  if (!made) throw std::runtime_error("OpenSSL made no certificate");
  return certificate;
}

std::optional<PublicKey> key_of(x509_st* certificate) {
  unsigned char* der = nullptr;
  const int size = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der) : 0;
  if (size <= 0) return std::nullopt;
  auto key = from_spki({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return key;
}

}  // namespace corral::mesh
