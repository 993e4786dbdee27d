// The membership of a mesh: a set of signed records, with a copy at every node. Copies are merged by union, so nodes
// with the same records agree, in whatever order they came, without an authority.
//
//   - The founder is a member. An admit is valid if its issuer was itself admitted.
//   - A revoke is valid if its issuer was ever admitted, even if the issuer was revoked itself: nodes that were
//     disconnected can't order two revokes in time, and to admit neither key is the safe choice. It is permanent.
//   - Of the admits of a revoked key only those remain valid that every revoke of it keeps. A key without a chain of
//     valid admits from the founder is no member either.
//   - Records are compared by content, not by signature: a dishonest issuer can sign the same content in many ways, and
//     the first one stays. Of several revokes of one subject by one issuer only members that all of them keep remain,
//     and of kMaxRevokesOfPair revokes none. So no issuer can make news without end.
//
// A set is closed: each record's issuer has a chain of admits in it. Pure values, without I/O; not for several threads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/members/member_records.h"

namespace corral::mesh {

inline constexpr std::size_t kMaxRevokesOfPair = 4;  // with different kept members; more are ignored

enum class MembershipStatus { unknown, member, revoked };

struct MemberLimits {
  std::size_t records = 4096;
  std::size_t per_issuer = 256;  // admits, and as many revokes
  std::size_t bytes = 768 * 1024;
};

class MemberSet {
 public:
  explicit MemberSet(const Founding& founding, MemberLimits limits = {});

  const Founding& founding() const { return founding_; }
  const MeshId& mesh() const { return mesh_; }

  // Adds all of `records` or none; known ones cost nothing. True if the set has changed. Verifies at most one signature
  // more than there are valid new ones. Errors: forged, not_a_member (an issuer without a chain of admits, as of
  // another mesh), too_many.
  Result<bool> add(std::span<const MemberRecord> records);
  // Of the same mesh, already verified. Errors: foreign_mesh, too_many.
  Result<bool> merge(const MemberSet& other);

  MembershipStatus standing(const PublicKey& key) const;
  MembershipStatus standing(const NodeId& id) const;
  // Sorted by key.
  std::vector<PublicKey> members() const;
  // The present members that `issuer` admitted: a revoke of it usually keeps them.
  std::vector<PublicKey> admitted_by(const PublicKey& issuer) const;

  // How many records the set doesn't know: the cost of adding them.
  std::size_t count_new(std::span<const MemberRecord> records) const;

  // Sorted: admits, then revokes. Equal sets give lists with equal content; signatures may differ.
  std::vector<MemberRecord> records() const;
  std::size_t size() const;
  // Equal for equal sets.
  Sha256 digest() const;
  // Whether both have the same content.
  bool operator==(const MemberSet& other) const;

 private:
  using Pair = std::pair<PublicKey, PublicKey>;  // issuer, subject

  bool is_new(const MemberRecord& record) const;
  void put(const MemberRecord& record);
  Result<> check_limits() const;
  void derive();
  std::string meaning() const;

  Founding founding_;
  MeshId mesh_;
  MemberLimits limits_;
  std::map<Pair, Admit> admits_;
  std::map<Pair, std::vector<Revoke>> revokes_;  // with different kept members, sorted

  // Derived from the above.
  std::set<PublicKey> ever_;  // admitted at any time by a chain from the founder, including revoked keys
  std::set<PublicKey> members_;
  std::map<NodeId, MembershipStatus> by_id_;
};

// File and wire: see docs/modules/mesh.md.
std::string encode(const MemberSet& set);
// Verifies everything, including signatures. Errors: malformed, unsupported_version, and those of add().
Result<MemberSet> decode_members(std::string_view bytes, MemberLimits limits = {});

}  // namespace corral::mesh
