// An invitation to join a mesh: one line of text that an administrator of a member carries to the new node. It says
// where to go, by which key to know the issuer, and holds a one-time secret. Whoever has the text may join once.
//
// The secret is the seed of a key. Only that key's public half leaves the token: the issuer keeps a hash of it, and the
// new node signs with it, over the connection itself (see TokenProof). So neither what the issuer stores nor what went
// over a connection lets anybody join.
//
// Pure; safe on every thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "mesh/identity/address.h"
#include "mesh/members/member_records.h"

namespace corral::mesh {

// Hash of the token's public key. Its first digits name it in lists.
struct TokenId {
  Sha256 bytes{};
  friend auto operator<=>(const TokenId&, const TokenId&) = default;
};
std::string short_text(const TokenId& id);  // 8 hexadecimal digits

struct JoinToken {
  using Secret = std::array<std::uint8_t, 16>;

  MeshId mesh;
  std::vector<NodeId> pins;    // who may answer; the issuer first. 1 to kMaxPins
  std::vector<Address> seeds;  // where. 1 to kMaxSeeds
  Secret secret{};
  WallTime expires;  // by the issuer's clock, which alone decides; in seconds
  friend bool operator==(const JoinToken&, const JoinToken&) = default;
};

inline constexpr std::size_t kMaxPins = 4;
inline constexpr std::size_t kMaxSeeds = 8;
inline constexpr std::size_t kLongestToken = 4096;  // characters

SigningKey token_key(const JoinToken& token);
TokenId token_id(const PublicKey& token_key);

// Letters, digits, '-' and '_', on one line. The last bytes are a checksum.
std::string to_text(const JoinToken& token);
// Spaces and line ends that a mail or a terminal put in don't matter. Errors: token_malformed (no token at all),
// token_mistyped (one that a character is wrong in, or missing), unsupported_version.
Result<JoinToken> parse_token(std::string_view text);

// "I hold this token, and I am `joiner`, on this connection": worth nothing on any other.
struct TokenProof {
  PublicKey token;
  Signature signature;
};
// `binding`: what Stream::exporter gives for kJoinExporter, equal at both ends of one connection only.
inline constexpr std::string_view kJoinExporter = "EXPORTER-corral-join";
TokenProof make_proof(const JoinToken& token, const PublicKey& joiner, const Sha256& binding);
// Costs 0.1 ms.
bool is_genuine(const TokenProof& proof, const MeshId& mesh, const PublicKey& joiner, const Sha256& binding);

}  // namespace corral::mesh
