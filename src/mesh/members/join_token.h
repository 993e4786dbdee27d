// Join token: an invitation to a mesh, one line of text that an administrator of a member brings to the new node. It
// has the issuer's addresses and id, and a one-time secret. One node with the text may join once.
//
// The secret is the seed of a key. Only that key's public half leaves the token: the issuer keeps a hash of it, and the
// new node signs with the key, over the connection itself (see TokenProof). So neither the issuer's file nor a recorded
// connection is enough to join.
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
  std::vector<NodeId> pins;    // nodes that may answer; the issuer first. 1 to kMaxPins
  std::vector<Address> seeds;  // their addresses. 1 to kMaxSeeds
  Secret secret{};
  WallTime expires;  // by the issuer's clock alone; in seconds
  friend bool operator==(const JoinToken&, const JoinToken&) = default;
};

inline constexpr std::size_t kMaxPins = 4;
inline constexpr std::size_t kMaxSeeds = 8;
inline constexpr std::size_t kLongestToken = 4096;  // characters

SigningKey token_key(const JoinToken& token);
TokenId token_id(const PublicKey& token_key);

// Letters, digits, '-' and '_', on one line. The last bytes are a checksum.
std::string to_text(const JoinToken& token);
// Ignores spaces and line ends, which mail programs and terminals insert. Errors: token_malformed (no token at all),
// token_mistyped (a wrong or missing character), unsupported_version.
Result<JoinToken> parse_token(std::string_view text);

// Proof that the node `joiner` has the token; valid on one connection only.
struct TokenProof {
  PublicKey token;
  Signature signature;
};
// `binding`: Stream::exporter(kJoinExporter), equal at both ends of one connection only.
inline constexpr std::string_view kJoinExporter = "EXPORTER-corral-join";
TokenProof make_proof(const JoinToken& token, const PublicKey& joiner, const Sha256& binding);
// Costs 0.1 ms.
bool is_genuine(const TokenProof& proof, const MeshId& mesh, const PublicKey& joiner, const Sha256& binding);

}  // namespace corral::mesh
