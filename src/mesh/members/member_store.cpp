#include "mesh/members/member_store.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {

using async::Task;

namespace {

namespace fs = std::filesystem;

Result<> must_stand(const MemberSet& set, const PublicKey& own) {
  switch (set.standing(own)) {
    case MembershipStatus::member:
      return {};
    case MembershipStatus::revoked:
      return fail(errc::revoked, "this node was revoked: it can only leave the mesh");
    case MembershipStatus::unknown:
      break;
  }
  return fail(errc::not_a_member, "this node isn't a member of the mesh");
}

}  // namespace

Result<std::optional<MemberStore>> MemberStore::open(const fs::path& folder) {
  fs::path file = folder / kMembersFile;
  const auto bytes = read_state_file(file);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return std::nullopt;
  auto set = decode_members(**bytes);
  if (!set) {
    auto error = set.error();
    error.message =
        fmt::format("the list of members in '{}' is unusable: {}; restore the file, or remove it and join again",
                    file.native(), error.message);
    return std::unexpected(std::move(error));
  }
  return MemberStore(std::move(file), std::move(*set));
}

Result<MemberStore> MemberStore::begin(const fs::path& folder, MemberSet set) {
  MemberStore store(folder / kMembersFile, std::move(set));
  const auto text = encode(store.set());
  if (auto written = write_state_file(store.state_->file.path(), text, Durability::power_loss); !written) {
    return std::unexpected(written.error());
  }
  return store;
}

Task<Result<>> MemberStore::issue(StatePtr state, MakeRecord make) {
  const auto issued = std::make_shared<std::optional<MemberRecord>>();
  DurableFile::MakeText text = [state, make = std::move(make), issued]() -> Result<std::optional<std::string>> {
    auto record = make(state->set);
    if (!record) return std::unexpected(record.error());
    if (!*record) return std::nullopt;
    MemberSet changed = state->set;
    if (auto added = changed.add({&**record, 1}); !added) return std::unexpected(added.error());
    *issued = std::move(*record);
    state->saving = state->learnt;
    return encode(changed);
  };
  DurableFile::Done done = [state, issued](const Result<>& written) {
    if (!written || !*issued) return;
    state->saved = state->saving;
    // Peers may have sent records meanwhile.
    if (auto added = state->set.add({&**issued, 1}); !added) log::error("mesh", "{}", added.error().message);
  };
  co_return co_await state->file.changed(std::move(text), std::move(done));
}

Task<Result<>> MemberStore::admit(SigningKey own, PublicKey subject) {
  return issue(state_, [own, subject](const MemberSet& set) -> Result<std::optional<MemberRecord>> {
    if (auto may = must_stand(set, own.public_key()); !may) return std::unexpected(may.error());
    const auto standing = set.standing(subject);
    if (standing == MembershipStatus::revoked) {
      return fail(errc::revoked,
                  fmt::format("{} was revoked: it can only join again with a new key", short_text(node_id(subject))));
    }
    if (standing == MembershipStatus::member) return std::nullopt;
    return sign_admit(own, set.mesh(), subject);
  });
}

Task<Result<>> MemberStore::revoke(SigningKey own, PublicKey subject, std::vector<PublicKey> keep) {
  return issue(
      state_, [own, subject, keep = std::move(keep)](const MemberSet& set) -> Result<std::optional<MemberRecord>> {
        if (auto may = must_stand(set, own.public_key()); !may) return std::unexpected(may.error());
        if (set.standing(subject) == MembershipStatus::unknown) {
          return fail(errc::not_a_member, fmt::format("{} isn't a member of the mesh", short_text(node_id(subject))));
        }
        if (keep.size() > kMaxKept) return fail(errc::too_many, "too many kept members in one revocation");
        return sign_revoke(own, set.mesh(), subject, keep);
      });
}

Result<bool> MemberStore::learn(std::span<const MemberRecord> records) {
  auto changed = state_->set.add(records);
  if (!changed || !*changed) return changed;
  ++state_->learnt;
  state_->file.change(text_of(state_), [state = state_](const Result<>& written) {
    if (written) state->saved = state->saving;
    if (!written)
      log::error("mesh", "{}; a restart before the next save loses this change of members", written.error().message);
  });
  return true;
}

Task<Result<>> MemberStore::save() {
  return state_->file.changed(text_of(state_), [state = state_](const Result<>& written) {
    if (written) state->saved = state->saving;
  });
}

// For a write of learnt records. One write has all records that were learnt before it.
DurableFile::MakeText MemberStore::text_of(StatePtr state) {
  return [state = std::move(state)]() -> Result<std::optional<std::string>> {
    state->saving = state->learnt;
    if (state->saved == state->learnt) return std::nullopt;
    return encode(state->set);
  };
}

}  // namespace corral::mesh
