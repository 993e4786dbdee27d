// The members of this node's mesh, kept on disk. Belongs to one loop. A change blocks that loop for the time of one
// small file, unless there is a thread for the disk (use_disk). Its tasks outlive the book: they own what they use.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "async/task.h"
#include "mesh/members/durable_file.h"
#include "mesh/members/member_set.h"

namespace corral::mesh {

inline constexpr const char* kMembersFile = "members";

class MemberStore {
 public:
  // Nothing when this node is in no mesh. A file that can't be read is an error and stays where it is: who is trusted
  // isn't guessed. Errors: malformed, unsupported_version, forged, and the system's own, with the path.
  static Result<std::optional<MemberStore>> open(const std::filesystem::path& folder);
  // Keeps `set`, which a join or a founding gave, in place of nothing. Errors: the system's own.
  static Result<MemberStore> begin(const std::filesystem::path& folder, MemberSet set);

  MemberStore(MemberStore&&) = default;
  MemberStore& operator=(MemberStore&&) = default;

  // Files are written on that thread from now on, see DurableFile.
  void use_disk(async::Executor loop, async::ThreadPool& disk) { state_->file.use_disk(loop, disk); }
  // See DurableFile.
  async::Task<bool> finish(async::Timers& timers, Millis within) const { return state_->file.finish(timers, within); }

  const MemberSet& set() const { return state_->set; }

  // Signs and keeps. On the disk before it holds here: an admit that a crash could undo was none. Errors:
  // not_a_member, revoked (the own key, or the subject), too_many, and the system's own.
  async::Task<Result<>> admit(SigningKey own, PublicKey subject);
  // `keep`: those of the subject's own admits that stay members. Errors: as above; the subject must be a
  // member or revoked already. Throwing oneself out is leaving.
  async::Task<Result<>> revoke(SigningKey own, PublicKey subject, std::vector<PublicKey> keep);

  // What others told. Holds at once, and is written then: neither a busy disk nor a full one may keep a revoked node
  // in. If the write fails, save() is due. True when something is new. Errors: those of MemberSet::add.
  Result<bool> learn(std::span<const MemberRecord> records);
  // Writes what isn't on the disk yet. Errors: the system's own.
  async::Task<Result<>> save();

 private:
  struct State {
    DurableFile file;
    MemberSet set;
    // Of what learn() was told: how often, and how much of that the last write has, or is to have.
    std::uint64_t learnt = 0, saved = 0, saving = 0;
  };
  using StatePtr = std::shared_ptr<State>;
  // The record that a set lacks, if it lacks one.
  using MakeRecord = std::function<Result<std::optional<MemberRecord>>(const MemberSet&)>;

  MemberStore(std::filesystem::path file, MemberSet set)
      : state_(std::make_shared<State>(DurableFile(std::move(file)), std::move(set))) {}
  static async::Task<Result<>> issue(StatePtr state, MakeRecord make);
  static DurableFile::MakeText text_of(StatePtr state);

  StatePtr state_;
};

}  // namespace corral::mesh
