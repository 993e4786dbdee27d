// Grants of this node's memory to other hosts: one host at a time, with a worker for it. A grant is sent after the disk
// has recorded its host; nothing else waits for the disk.
//
// While the disk is full or hangs, hosts are refused, and problem() says why. Groups that this node hosts continue:
// their engines end with this process, so a restart needs no record of them.
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
  // All outlive it. `file` has been read and contained `former`. `settle` carries out pending effects of the core.
  GroupMemory(const GroupParts& parts, mesh::NodeId own, HolderFile& file, std::optional<mesh::NodeId> former,
              mesh::Groups& groups, std::function<void()> settle)
      : parts_(parts),
        own_(own),
        file_(file),
        noted_(former),
        groups_(groups),
        settle_(std::move(settle)),
        settled_(parts.timers.now() + mesh::GrantRules().lease) {}

  // Carries out the effect, now or after the disk has answered; false: the effect doesn't concern this node's memory.
  bool take(const mesh::GroupEffect& effect);
  // True: the message is a request for a grant that is impossible now, and was answered.
  bool refuses(const mesh::NodeId& from, const mesh::GroupMessage& message);
  // Called from time to time.
  void look();

  void lend(std::uint64_t bytes) { lent_ = bytes; }
  bool recalled() const { return recalled_; }
  std::optional<GroupRunner::Shared> shared() const;
  const std::string& problem() const { return problem_; }
  async::Task<Result<std::string>> worker_for(mesh::NodeId host, mesh::ContentKey model, mesh::PlanTerm of);

  // As in GroupReports. True: the worker is the current one.
  bool worker_ready(const mesh::NodeId& host, mesh::PlanTerm of, std::string socket);
  bool worker_failed(const mesh::NodeId& host, mesh::PlanTerm of, Error why);
  bool worker_reaped(const mesh::NodeId& host, mesh::PlanTerm of);
  bool recall(const mesh::NodeId& host, mesh::PlanTerm of);

  // Recalls the memory that another host uses.
  void take_back(mesh::BootTime now);
  // Recalls the memory; no host gets it from now on.
  void wind_down(mesh::BootTime now);
  // Ends what runs.
  void force(mesh::BootTime now);
  // No other host uses memory here.
  bool is_quiet() const { return !worker_ && !groups_.granter().grant(); }

 private:
  // A worker for a host.
  struct Worker {
    enum class State : std::uint8_t { starting, ready, failed, restarting, reaping };
    static constexpr mesh::RateLimit kAgain{.each_second = 0.2, .at_once = 3};  // restarts of a worker that exited
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
  void set_problem(std::string cause);
  void carry_out(const mesh::GroupEffect& effect);
  void open(const mesh::OpenWorker& effect);
  void reap(const mesh::ReapWorker& effect);
  void apply_lend();
  bool is_granted(const mesh::NodeId& host, const mesh::PlanTerm& of) const;
  bool is_worker(const mesh::NodeId& host, const mesh::PlanTerm& of) const;

  const GroupParts& parts_;
  const mesh::NodeId own_;
  HolderFile& file_;
  std::optional<mesh::NodeId> noted_;  // content of the file, written or being written
  mesh::Groups& groups_;
  const std::function<void()> settle_;
  const MonoTime settled_;  // leases of the previous epoch have expired by then

  std::shared_ptr<Worker> worker_;
  std::optional<mesh::NodeId> noting_;     // this host is being recorded,
  std::deque<mesh::GroupEffect> waiting_;  // and these effects wait for that
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
