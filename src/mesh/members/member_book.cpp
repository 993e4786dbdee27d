#include "mesh/members/member_book.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

Result<> write(const fs::path& file, const MemberSet& set) {
  return write_state_file(file, encode(set), Survives::power_loss);
}

Result<> must_stand(const MemberSet& set, const PublicKey& own) {
  switch (set.standing(own)) {
    case Standing::member:
      return {};
    case Standing::revoked:
      return fail(errc::revoked, "this node was thrown out of the mesh");
    case Standing::unknown:
      break;
  }
  return fail(errc::not_a_member, "this node isn't a member of the mesh");
}

}  // namespace

Result<std::optional<MemberBook>> MemberBook::open(const fs::path& folder) {
  fs::path file = folder / kMembersFile;
  const auto bytes = read_state_file(file);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return std::nullopt;
  auto set = decode_members(**bytes);
  if (!set) {
    auto error = set.error();
    error.message =
        fmt::format("the members in '{}' can't be used: {}; bring the file back, or remove it and join again",
                    file.native(), error.message);
    return std::unexpected(std::move(error));
  }
  return MemberBook(std::move(file), std::move(*set));
}

Result<MemberBook> MemberBook::begin(const fs::path& folder, MemberSet set) {
  MemberBook book(folder / kMembersFile, std::move(set));
  if (auto written = write(book.file_, book.set_); !written) return std::unexpected(written.error());
  return book;
}

Result<> MemberBook::issue(MemberRecord record) {
  MemberSet changed = set_;
  if (auto added = changed.add({&record, 1}); !added) return std::unexpected(added.error());
  if (auto written = write(file_, changed); !written) return written;
  set_ = std::move(changed);
  unsaved_ = false;
  return {};
}

Result<> MemberBook::admit(const SigningKey& own, const PublicKey& subject) {
  if (auto may = must_stand(set_, own.public_key()); !may) return may;
  const auto standing = set_.standing(subject);
  if (standing == Standing::revoked) {
    return fail(errc::revoked, fmt::format("{} was thrown out of the mesh; it comes back with a new key only",
                                           short_text(node_id(subject))));
  }
  if (standing == Standing::member) return {};
  return issue(sign_admit(own, set_.mesh(), subject));
}

Result<> MemberBook::revoke(const SigningKey& own, const PublicKey& subject, std::vector<PublicKey> keep) {
  if (auto may = must_stand(set_, own.public_key()); !may) return may;
  if (set_.standing(subject) == Standing::unknown) {
    return fail(errc::not_a_member, fmt::format("{} isn't a member of the mesh", short_text(node_id(subject))));
  }
  if (keep.size() > kMostKept) return fail(errc::too_many, "a revocation can't keep so many members");
  return issue(sign_revoke(own, set_.mesh(), subject, std::move(keep)));
}

Result<bool> MemberBook::learn(std::span<const MemberRecord> records) {
  auto changed = set_.add(records);
  if (!changed || !*changed) return changed;
  unsaved_ = true;
  if (auto saved = save(); !saved)
    log::error("mesh", "{}; the change of members holds until a restart", saved.error().message);
  return true;
}

Result<> MemberBook::save() {
  if (!unsaved_) return {};
  auto written = write(file_, set_);
  if (written) unsaved_ = false;
  return written;
}

}  // namespace corral::mesh
