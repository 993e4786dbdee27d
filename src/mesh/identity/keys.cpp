#include "mesh/identity/keys.h"

#include <cstring>
#include <stdexcept>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "base/secret.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

// SEQUENCE { SEQUENCE { OID 1.3.101.112 } BIT STRING { key } } (RFC 8410).
constexpr std::string_view kSpkiHead("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Digest = std::unique_ptr<EVP_MD_CTX, Free>;

[[noreturn]] void broken(const char* what) { throw std::runtime_error(std::string("OpenSSL: ") + what + " failed"); }

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key, const char* what) {
  if (!key) broken(what);
  return {key, [](EVP_PKEY* last) { EVP_PKEY_free(last); }};
}

std::string_view name_of(Domain domain) {
  switch (domain) {
    case Domain::admit:
      return "admit";
    case Domain::revoke:
      return "revoke";
    case Domain::epoch:
      return "epoch";
    case Domain::join:
      return "join";
    case Domain::announce:
      return "announce";
    case Domain::copy:
      return "copy";
  }
  return "";
}

// TLS and X.509 sign texts with another begin, so our signatures are never valid there.
std::string signed_text(Domain domain, std::string_view body) {
  std::string text("corral/1 ");
  text.append(name_of(domain)).push_back('\0');
  return text.append(body);
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// OpenSSL's own callback would wait for a passphrase at a terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

std::ostream& operator<<(std::ostream& out, const NodeId& id) { return out << short_text(id); }

NodeId node_id(const PublicKey& key) { return {sha256({kSpkiHead, as_text(key.bytes)})}; }
std::string to_text(const NodeId& id) { return to_hex(id.bytes); }
std::string short_text(const NodeId& id) { return to_hex(id.bytes).substr(0, 12); }

std::optional<NodeId> parse_node_id(std::string_view hex) {
  const auto digest = parse_sha256(hex);
  return digest ? std::optional(NodeId{*digest}) : std::nullopt;
}

std::optional<PublicKey> from_spki(std::string_view der) {
  PublicKey key;
  if (der.size() != kSpkiHead.size() + key.bytes.size() || !der.starts_with(kSpkiHead)) return std::nullopt;
  std::memcpy(key.bytes.data(), der.data() + kSpkiHead.size(), key.bytes.size());
  return key;
}

SigningKey::SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {
  std::size_t size = public_.bytes.size();
  if (EVP_PKEY_get_raw_public_key(key_.get(), public_.bytes.data(), &size) != 1) broken("EVP_PKEY_get_raw_public_key");
}

SigningKey SigningKey::generate() { return from_seed(random_bytes<32>()); }

SigningKey SigningKey::from_seed(const Seed& seed) {
  return SigningKey(owned(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()),
                          "EVP_PKEY_new_raw_private_key"));
}

Result<SigningKey> SigningKey::from_pem(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  EVP_PKEY* key = bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr) : nullptr;
  ERR_clear_error();
  if (!key) return fail(errc::unusable_identity, "it is not a private key in PEM without a passphrase");
  auto held = owned(key, "");
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
    return fail(errc::unusable_identity,
                "it is not an Ed25519 key; make one with "
                "'openssl genpkey -algorithm ed25519'");
  }
  return SigningKey(std::move(held));
}

std::string SigningKey::to_pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    broken("PEM_write_bio_PKCS8PrivateKey");
  }
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Signature SigningKey::sign(Domain domain, std::string_view body) const {
  const auto text = signed_text(domain, body);
  const Digest context(EVP_MD_CTX_new());
  Signature signature;
  std::size_t size = signature.bytes.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.bytes.data(), &size, bytes_of(text), text.size()) != 1) {
    broken("EVP_DigestSign");
  }
  return signature;
}

bool verify(const PublicKey& key, Domain domain, std::string_view body, const Signature& signature) {
  const auto text = signed_text(domain, body);
  const auto handle =
      owned(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.bytes.data(), key.bytes.size()), "a public key");
  const Digest context(EVP_MD_CTX_new());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, handle.get()) != 1) {
    broken("EVP_DigestVerifyInit");
  }
  const bool fits =
      EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(), bytes_of(text), text.size()) == 1;
  ERR_clear_error();
  return fits;
}

void fill_random(std::uint8_t* bytes, std::size_t count) {
  if (RAND_bytes(bytes, static_cast<int>(count)) != 1) broken("RAND_bytes");
}

Sha256 tagged_hash(std::string_view tag, std::string_view body) {
  constexpr std::string_view kEnd("\0", 1);
  return sha256({"corral/1 ", tag, kEnd, body});
}

}  // namespace corral::mesh
