// Grants a node's memory to one host at a time, for one plan. The node itself is the authority, because a mesh of two
// nodes has no majority. Pure: no clock, no I/O. Belongs to one loop.
//
//            ask                 return, end of the lease, of its host's process, or of a recall
//   free ──────────► granted ────────────────────────────────────────────────► reaping ──► free
//                    └─ ask ─┘ renews                                                 reaped
#pragma once

#include <map>
#include <optional>

#include "mesh/groups/boot_time.h"
#include "mesh/groups/group_effect.h"
#include "mesh/net/token_bucket.h"

namespace corral::mesh {

class GrantManager {
 public:
  struct Grant {
    NodeId host;
    GrantRequest ask;
    BootTime until;
  };
  enum class State : std::uint8_t { free, granted, reaping };

  // `former`: the host of this node's grant before its restart (RememberHolder). That host may have it again at once,
  // others after the time of a lease.
  GrantManager(const GrantRules& rules, std::optional<NodeId> former, BootTime now)
      : rules_(rules), former_(former), settled_(now + rules.lease) {}

  // Messages of hosts. A grant ends with its lease unless the host asks again.
  void ask(const NodeId& host, const GrantRequest& ask, BootTime now, GroupEffects& out);
  void given_back(const NodeId& host, const GrantRelease& given, GroupEffects& out);
  // The host's process has certainly ended, so it no longer uses its lease.
  void host_ended(const NodeId& host, GroupEffects& out);
  // The grant ends now, because this node can't keep it.
  void give_up(GroupEffects& out) { end(out); }
  // All processes and memory of OpenWorker are gone.
  void reaped(GroupEffects& out);

  // Sets the most memory to lend; 0 by default.
  void lend(std::uint64_t bytes);
  // The owner needs the memory: a grant ends within `rules.recall`, and no new one is given until lend().
  void recall(BootTime now, GroupEffects& out);
  void tick(BootTime now, GroupEffects& out);

  State state() const { return state_; }
  // Including a grant that is being reaped.
  const std::optional<Grant>& grant() const { return grant_; }

 private:
  struct LastMessage {
    PlanTerm of;
    std::uint64_t stamp = 0;
  };
  // Each new grant costs a line on the disk, and the start and the end of a worker.
  static constexpr RateLimit kGrantPace{.each_second = 0.5, .at_once = 8};
  struct Host {
    std::map<ContentKey, LastMessage> models;  // the newest message about each
    TokenBucket grants{kGrantPace};
  };
  bool is_newer(const NodeId& host, const auto& message);
  GrantDecision decision_on(const NodeId& host, const GrantRequest& ask, BootTime now) const;
  void end(GroupEffects& out);
  void notify_recall(BootTime now, GroupEffects& out);

  GrantRules rules_;
  std::optional<NodeId> former_;
  BootTime settled_;
  State state_ = State::free;
  std::optional<Grant> grant_;
  std::uint64_t lent_ = 0;
  std::optional<BootTime> recalled_;  // the latest end of the grant
  std::map<NodeId, Host> hosts_;      // hosts that sent a message
};

}  // namespace corral::mesh
