// Who is a member: a set of signed records that every node holds a copy of. Copies are merged by union, so nodes that
// have seen the same records agree, in whatever order they came; nobody has to be asked.
//
//   - The founder is a member. An admit counts when its issuer was itself admitted.
//   - A revoke counts when its issuer was ever admitted, even if that one was thrown out itself: who throws out whom
//     can't be ordered in time between nodes that were apart, and letting nobody in is the safe side. It counts for
//     ever.
//   - Of the admits of a revoked key those stand that every revoke of it keeps. Who is left without a chain of standing
//     admits from the founder is no member either.
//   - What is signed counts, not the signature: a dishonest issuer can sign the same in many ways, and the first one
//     that came stays. Of several revokes of one subject by one issuer only what all of them keep stands, and of
//     kMaxRevokesOfPair nothing. So no issuer has news for ever.
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

inline constexpr std::size_t kMaxRevokesOfPair = 4;  // that keep different members; more say nothing new

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

  // All of `records` or none of them; those that are known cost nothing. True when the set has changed. Verifies at
  // most one signature more than there are good new ones. Errors: forged, not_a_member (an issuer without a chain of
  // admits, as of another mesh), too_many.
  Result<bool> add(std::span<const MemberRecord> records);
  // Of the same mesh, already verified. Errors: foreign_mesh, too_many.
  Result<bool> merge(const MemberSet& other);

  MembershipStatus standing(const PublicKey& key) const;
  MembershipStatus standing(const NodeId& id) const;
  // Sorted by key.
  std::vector<PublicKey> members() const;
  // Those that `issuer` admitted and that are members now: what a revoke of it would usually keep.
  std::vector<PublicKey> admitted_by(const PublicKey& issuer) const;

  // How many of them the set doesn't know: what it costs to add them.
  std::size_t news_in(std::span<const MemberRecord> records) const;

  // Sorted: admits, then revokes. Equal sets give lists that say the same; signatures may differ.
  std::vector<MemberRecord> records() const;
  std::size_t size() const;
  // Equal for equal sets.
  Sha256 digest() const;
  // Whether both say the same.
  bool operator==(const MemberSet& other) const;

 private:
  using Pair = std::pair<PublicKey, PublicKey>;  // issuer, subject

  bool is_news(const MemberRecord& record) const;
  void put(const MemberRecord& record);
  Result<> check_limits() const;
  void derive();
  std::string meaning() const;

  Founding founding_;
  MeshId mesh_;
  MemberLimits limits_;
  std::map<Pair, Admit> admits_;
  std::map<Pair, std::vector<Revoke>> revokes_;  // that keep different members, sorted

  // Derived from the above.
  std::set<PublicKey> ever_;  // admitted at any time by a chain from the founder, whatever was revoked since
  std::set<PublicKey> members_;
  std::map<NodeId, MembershipStatus> by_id_;
};

// File and wire: see docs/modules/mesh.md.
std::string encode(const MemberSet& set);
// Everything is verified, the signatures too. Errors: malformed, unsupported_version, and those of add().
Result<MemberSet> decode_members(std::string_view bytes, MemberLimits limits = {});

}  // namespace corral::mesh
