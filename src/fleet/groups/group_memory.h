// This node's memory as hosts elsewhere have it: one at a time, with a worker of its own. What lets a host have it
// waits until the disk knows who that is; nothing else waits for the disk.
//
// A disk that is full or hangs: who asks is refused, and problem() says why, until it writes again. What this node
// hosts itself goes on: its own engines end with it, so nobody need know of them after a restart.
//
// Belongs to the mesh's loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/task_group.h"
#include "fleet/groups/group_runner.h"
#include "fleet/groups/holder_file.h"
#include "mesh/net/token_bucket.h"

namespace corral::fleet {

class GroupMemory {
 public:
  // All outlive it. `file` has been read: it says `former`. `settle` has what the core says carried out.
  GroupMemory(const GroupParts& parts, mesh::NodeId own, HolderFile& file, std::optional<mesh::NodeId> former,
              mesh::Groups& groups, std::function<void()> settle)
      : parts_(parts),
        own_(own),
        file_(file),
        noted_(former),
        groups_(groups),
        settle_(std::move(settle)),
        settled_(parts.timers.now() + mesh::GrantRules().lease) {}

  // Carries it out, now or once the disk has answered; false: it isn't about this node's memory.
  bool take(const mesh::GroupEffect& effect);
  // True: it is an ask that can't be heeded now, and was answered.
  bool refuses(const mesh::NodeId& from, const mesh::GroupMessage& message);
  // Now and then.
  void look();

  void lend(std::uint64_t bytes) { lent_ = bytes; }
  bool recalled() const { return recalled_; }
  std::optional<GroupRunner::Shared> shared() const;
  const std::string& problem() const { return problem_; }
  async::Task<Result<std::string>> worker_for(mesh::NodeId host, mesh::ContentKey model, mesh::PlanTerm of);

  // As of GroupReports. True: it was the worker that is here.
  bool worker_ready(const mesh::NodeId& host, mesh::PlanTerm of, std::string socket);
  bool worker_failed(const mesh::NodeId& host, mesh::PlanTerm of, Error why);
  bool worker_reaped(const mesh::NodeId& host, mesh::PlanTerm of);
  bool recall(const mesh::NodeId& host, mesh::PlanTerm of);

  // What another host has is asked back.
  void take_back(mesh::BootTime now);
  // Tells whoever has it to give it back; nobody gets it any more.
  void wind_down(mesh::BootTime now);
  // Ends what runs.
  void force(mesh::BootTime now);
  // Nothing of others is here.
  bool is_quiet() const { return !worker_ && !groups_.granter().grant(); }

 private:
  // What runs here for a host.
  struct Worker {
    enum class State : std::uint8_t { starting, ready, failed, restarting, reaping };
    static constexpr mesh::RateLimit kAgain{.each_second = 0.2, .at_once = 3};  // one that ended by itself
    WorkerOrder order;
    State state = State::starting;
    std::string socket;
    std::optional<Error> failure;
    mesh::TokenBucket again{kAgain};
  };

  void note(const std::optional<mesh::NodeId>& host);
  void go_on(bool noted);
  void refuse(const mesh::NodeId& host, mesh::GrantResponse answer);
  void disk_answered(const Result<>& written);
  void say_problem(std::string cause);
  void carry_out(const mesh::GroupEffect& effect);
  void open(const mesh::OpenWorker& effect);
  void reap(const mesh::ReapWorker& effect);
  void apply_lend();
  bool is_granted(const mesh::NodeId& host, const mesh::PlanTerm& of) const;
  bool is_worker(const mesh::NodeId& host, const mesh::PlanTerm& of) const;

  const GroupParts& parts_;
  const mesh::NodeId own_;
  HolderFile& file_;
  std::optional<mesh::NodeId> noted_;  // what the file says, or is about to
  mesh::Groups& groups_;
  const std::function<void()> settle_;
  const MonoTime settled_;  // who had it in the life before believes in it no longer

  std::shared_ptr<Worker> worker_;
  std::optional<mesh::NodeId> noting_;     // that host is being written down,
  std::deque<mesh::GroupEffect> waiting_;  // and this waits for it
  std::string problem_;
  MonoTime disk_again_{};

  std::uint64_t lent_ = 0;
  std::optional<std::uint64_t> in_force_;
  bool taken_back_ = false;
  bool recalled_ = false;
  MonoTime rest_until_{};
  bool winding_ = false;
};

}  // namespace corral::fleet
