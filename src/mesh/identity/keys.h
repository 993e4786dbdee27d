// Keys, the ids made from them, and signatures. A node is identified by its key: Ed25519, because one key has one
// encoding (a pin can't be written in two ways), a signature needs no randomness (the same content has the same bytes
// everywhere), and TLS 1.3 supports it. Plain values; safe on every thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/sha256.h"

struct evp_pkey_st;

namespace corral::mesh {

struct PublicKey {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};

struct Signature {
  std::array<std::uint8_t, 64> bytes{};
  friend auto operator<=>(const Signature&, const Signature&) = default;
};

// SHA-256 of the public key in the form of a certificate (SubjectPublicKeyInfo in DER).
struct NodeId {
  Sha256 bytes{};
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
  friend std::ostream& operator<<(std::ostream& out, const NodeId& id);
};

NodeId node_id(const PublicKey& key);
std::string to_text(const NodeId& id);     // 64 hexadecimal digits
std::string short_text(const NodeId& id);  // the first 12, for messages
std::optional<NodeId> parse_node_id(std::string_view hex);

// The key in the 44 bytes of SubjectPublicKeyInfo. None for any other kind of key.
std::optional<PublicKey> from_spki(std::string_view der);

// The purpose of a signature. A signature for one purpose is invalid for every other, TLS included.
enum class Domain { admit, revoke, epoch, join, announce, copy };

// Copies share one key.
class SigningKey {
 public:
  using Seed = std::array<std::uint8_t, 32>;

  static SigningKey generate();
  // The same seed gives the same key.
  static SigningKey from_seed(const Seed& seed);
  // PKCS #8 in PEM, as `openssl genpkey -algorithm ed25519` writes it. Errors: unusable_identity.
  static Result<SigningKey> from_pem(std::string_view pem);
  std::string to_pem() const;

  const PublicKey& public_key() const { return public_; }
  NodeId id() const { return node_id(public_); }
  Signature sign(Domain domain, std::string_view body) const;

  evp_pkey_st* handle() const { return key_.get(); }  // for TLS

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_;
};

// Costs 0.1 ms.
bool verify(const PublicKey& key, Domain domain, std::string_view body, const Signature& signature);

// From the system's generator. Throws if that fails.
void fill_random(std::uint8_t* bytes, std::size_t count);
template <std::size_t N>
std::array<std::uint8_t, N> random_bytes() {
  std::array<std::uint8_t, N> bytes;
  fill_random(bytes.data(), N);
  return bytes;
}

// SHA-256 of a value, with a tag in front that separates kinds of values.
Sha256 tagged_hash(std::string_view tag, std::string_view body);

template <std::size_t N>
std::string_view as_text(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

}  // namespace corral::mesh
