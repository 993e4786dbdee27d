#include "mesh/members/member_records.h"

#include <algorithm>

#include "base/secret.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::uint8_t kAdmitKind = 1;
constexpr std::uint8_t kRevokeKind = 2;

void put_keep(const std::vector<PublicKey>& keep, ByteWriter& out) {
  out.number<std::uint16_t>(static_cast<std::uint16_t>(keep.size()));
  for (const auto& key : keep) out.raw(key.bytes);
}

std::string signed_body(const MeshId& mesh, const MemberRecord& record) {
  std::string body;
  ByteWriter out(body);
  out.raw(mesh.bytes).raw(issuer_of(record).bytes).raw(subject_of(record).bytes);
  if (const auto* revoke = std::get_if<Revoke>(&record)) put_keep(revoke->keep, out);
  return body;
}

Domain domain_of(const MemberRecord& record) {
  return std::holds_alternative<Admit>(record) ? Domain::admit : Domain::revoke;
}

}  // namespace

std::string short_text(const MeshId& id) { return to_hex(id.bytes).substr(0, 12); }

Founding found_mesh(const PublicKey& founder) { return {founder, random_bytes<16>()}; }

MeshId mesh_id(const Founding& founding) {
  std::string body;
  ByteWriter(body).raw(founding.founder.bytes).raw(founding.nonce);
  return {tagged_hash("mesh", body)};
}

Admit sign_admit(const SigningKey& issuer, const MeshId& mesh, const PublicKey& subject) {
  Admit admit{issuer.public_key(), subject, {}};
  admit.signature = issuer.sign(Domain::admit, signed_body(mesh, admit));
  return admit;
}

Revoke sign_revoke(const SigningKey& issuer, const MeshId& mesh, const PublicKey& subject,
                   std::vector<PublicKey> keep) {
  std::ranges::sort(keep);
  keep.erase(std::ranges::unique(keep).begin(), keep.end());
  Revoke revoke{issuer.public_key(), subject, std::move(keep), {}};
  revoke.signature = issuer.sign(Domain::revoke, signed_body(mesh, revoke));
  return revoke;
}

bool is_genuine(const MeshId& mesh, const MemberRecord& record) {
  const auto& signature = std::visit([](const auto& one) -> const Signature& { return one.signature; }, record);
  return verify(issuer_of(record), domain_of(record), signed_body(mesh, record), signature);
}

const PublicKey& issuer_of(const MemberRecord& record) {
  return std::visit([](const auto& one) -> const PublicKey& { return one.issuer; }, record);
}
const PublicKey& subject_of(const MemberRecord& record) {
  return std::visit([](const auto& one) -> const PublicKey& { return one.subject; }, record);
}

std::size_t encoded_size(const MemberRecord& record) {
  const auto* revoke = std::get_if<Revoke>(&record);
  return kAdmitBytes + (revoke ? 2 + revoke->keep.size() * 32 : 0);
}

void encode(const MemberRecord& record, std::string& text) {
  ByteWriter out(text);
  const auto* revoke = std::get_if<Revoke>(&record);
  out.number<std::uint8_t>(revoke ? kRevokeKind : kAdmitKind);
  out.raw(issuer_of(record).bytes).raw(subject_of(record).bytes);
  if (revoke) put_keep(revoke->keep, out);
  out.raw(std::visit([](const auto& one) -> const Signature& { return one.signature; }, record).bytes);
}

Result<MemberRecord> decode_record(ByteReader& in) {
  const auto kind = in.number<std::uint8_t>();
  if (in.ok() && kind != kAdmitKind && kind != kRevokeKind) {
    return fail(errc::unsupported_version, "a record of members has an unknown kind: update corral");
  }
  const PublicKey issuer{in.fixed<32>()}, subject{in.fixed<32>()};
  std::vector<PublicKey> keep;
  if (kind == kRevokeKind) {
    const auto count = in.number<std::uint16_t>();
    if (count > kMaxKept) return fail(errc::malformed, "a revocation keeps too many members");
    for (std::size_t i = 0; i < count && in.ok(); ++i) keep.push_back({in.fixed<32>()});
    if (!std::ranges::is_sorted(keep, std::ranges::less_equal())) {
      return fail(errc::malformed, "a revocation has unsorted kept members");
    }
  }
  const Signature signature{in.fixed<64>()};
  if (!in.ok()) return fail(errc::malformed, "a record of members is cut off");
  if (kind == kAdmitKind && issuer == subject) return fail(errc::malformed, "a member admits itself");
  if (kind == kAdmitKind) return Admit{issuer, subject, signature};
  return Revoke{issuer, subject, std::move(keep), signature};
}

}  // namespace corral::mesh
