// The records that members sign about members. A record contains whole public keys, so it can be verified alone, and
// only the keys, so the same record has the same bytes everywhere. Pure; safe on every thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mesh/identity/bytes.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

// Hash of the founding: with the id a node can check the first member.
struct MeshId {
  Sha256 bytes{};
  friend auto operator<=>(const MeshId&, const MeshId&) = default;
};
std::string short_text(const MeshId& id);

struct Founding {
  PublicKey founder;
  std::array<std::uint8_t, 16> nonce{};
  friend auto operator<=>(const Founding&, const Founding&) = default;
};
Founding found_mesh(const PublicKey& founder);
MeshId mesh_id(const Founding& founding);

// `issuer` admits `subject`.
struct Admit {
  PublicKey issuer;
  PublicKey subject;
  Signature signature;
  friend auto operator<=>(const Admit&, const Admit&) = default;
};

// `issuer` revokes `subject`, permanently. Of the members that the subject admitted, those in `keep` stay.
struct Revoke {
  PublicKey issuer;
  PublicKey subject;
  std::vector<PublicKey> keep;  // sorted, each once, kMaxKept at most
  Signature signature;
  friend auto operator<=>(const Revoke&, const Revoke&) = default;
};

inline constexpr std::size_t kMaxKept = 256;

using MemberRecord = std::variant<Admit, Revoke>;

Admit sign_admit(const SigningKey& issuer, const MeshId& mesh, const PublicKey& subject);
// Sorts `keep`. It must not hold more than kMaxKept.
Revoke sign_revoke(const SigningKey& issuer, const MeshId& mesh, const PublicKey& subject, std::vector<PublicKey> keep);
// Costs 0.1 ms.
bool is_genuine(const MeshId& mesh, const MemberRecord& record);

const PublicKey& issuer_of(const MemberRecord& record);
const PublicKey& subject_of(const MemberRecord& record);

// Record: kind (1 admit, 2 revoke), issuer, subject, for a revoke the count of `keep` (16 bits) and its keys,
// signature.
inline constexpr std::size_t kAdmitBytes = 1 + 32 + 32 + 64;
std::size_t encoded_size(const MemberRecord& record);
void encode(const MemberRecord& record, std::string& out);
// The next record of `in`. Checks its form only, not its signature. Errors: malformed, unsupported_version.
Result<MemberRecord> decode_record(ByteReader& in);

}  // namespace corral::mesh
