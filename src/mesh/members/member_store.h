// The members of this node's mesh, kept on disk. Belongs to one loop. A change blocks that loop for the write of one
// small file, unless there is a thread for the disk (use_disk). Its tasks may outlive the store: they own what they
// use.
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
  // Nothing if this node is in no mesh. An unreadable file is an error and stays where it is, because trust needs the
  // records. Errors: malformed, unsupported_version, forged, and the system's own, with the path.
  static Result<std::optional<MemberStore>> open(const std::filesystem::path& folder);
  // Creates the file with `set`, the result of a join or a founding. Errors: the system's own.
  static Result<MemberStore> begin(const std::filesystem::path& folder, MemberSet set);

  MemberStore(MemberStore&&) = default;
  MemberStore& operator=(MemberStore&&) = default;

  // Writes files on the thread of `disk` from now on, see DurableFile.
  void use_disk(async::Executor loop, async::ThreadPool& disk) { state_->file.use_disk(loop, disk); }
  // See DurableFile.
  async::Task<bool> finish(async::Timers& timers, Millis within) const { return state_->file.finish(timers, within); }

  const MemberSet& set() const { return state_->set; }

  // Signs and keeps an admit. It is on the disk before it is valid, so that no crash can undo it. Errors: not_a_member,
  // revoked (the own key, or the subject), too_many, and the system's own.
  async::Task<Result<>> admit(SigningKey own, PublicKey subject);
  // `keep`: keys admitted by the subject that stay members. A node that leaves revokes itself. Errors: as above; the
  // subject must be a member or revoked already.
  async::Task<Result<>> revoke(SigningKey own, PublicKey subject, std::vector<PublicKey> keep);

  // Adds records of peers. They are valid at once and written later, so that a busy or full disk can't delay a revoke.
  // If the write fails, save() is due. True if something is new. Errors: those of MemberSet::add.
  Result<bool> learn(std::span<const MemberRecord> records);
  // Writes what isn't on the disk yet. Errors: the system's own.
  async::Task<Result<>> save();

 private:
  struct State {
    DurableFile file;
    MemberSet set;
    // Counts calls of learn() with news: all, those on the disk, and those in the running write.
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
