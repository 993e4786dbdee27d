// The members of this node's mesh, kept on disk. Belongs to one loop; writing blocks it for the time of one small file,
// which happens when the members change.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "mesh/members/member_set.h"

namespace corral::mesh {

inline constexpr const char* kMembersFile = "members";

class MemberBook {
 public:
  // Nothing when this node is in no mesh. A file that can't be read is an error and stays where it is: who is trusted
  // isn't guessed. Errors: malformed, unsupported_version, forged, and the system's own, with the path.
  static Result<std::optional<MemberBook>> open(const std::filesystem::path& folder);
  // Keeps `set`, which a join or a founding gave, in place of nothing. Errors: the system's own.
  static Result<MemberBook> begin(const std::filesystem::path& folder, MemberSet set);

  const MemberSet& set() const { return set_; }

  // Signs and keeps. On the disk before it holds here: an admit that a crash could undo was none. Errors:
  // not_a_member, revoked (the own key, or the subject), too_many, and the system's own.
  Result<> admit(const SigningKey& own, const PublicKey& subject);
  // `keep`: those of the subject's own admits that stay members. Errors: as above; the subject must be a
  // member or revoked already. Throwing oneself out is leaving.
  Result<> revoke(const SigningKey& own, const PublicKey& subject, std::vector<PublicKey> keep);

  // What others told. Holds from now on even when it can't be written: a full disk must not keep a revoked node in.
  // Then save() is due. True when something is new. Errors: those of MemberSet::add.
  Result<bool> learn(std::span<const MemberRecord> records);
  // Writes what isn't on the disk yet. Errors: the system's own.
  Result<> save();

 private:
  MemberBook(std::filesystem::path file, MemberSet set) : file_(std::move(file)), set_(std::move(set)) {}
  Result<> issue(MemberRecord record);

  std::filesystem::path file_;
  MemberSet set_;
  bool unsaved_ = false;
};

}  // namespace corral::mesh
