// A node's memory as something that one host at a time has, for one plan. The node fences itself: there is no majority
// in a mesh of two, so whoever has the memory decides who may use it. Pure: no clock, no I/O. Belongs to one loop.
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

  // `former`: who had this node's grant when its last life ended (RememberHolder). That one may have it again at once,
  // others when a lease has passed.
  GrantManager(const GrantRules& rules, std::optional<NodeId> former, BootTime now)
      : rules_(rules), former_(former), settled_(now + rules.lease) {}

  // What comes from hosts. An ask by itself counts for as long as a lease only.
  void ask(const NodeId& host, const GrantRequest& ask, BootTime now, GroupEffects& out);
  void given_back(const NodeId& host, const GrantRelease& given, GroupEffects& out);
  // Its process is gone for sure: what it believed went with it.
  void host_ended(const NodeId& host, GroupEffects& out);
  // What is granted ends now, as this node can't keep to it.
  void give_up(GroupEffects& out) { end(out); }
  // What OpenWorker began is gone to the last process and byte.
  void reaped(GroupEffects& out);

  // What is lent at most; 0 by default: nothing is.
  void lend(std::uint64_t bytes);
  // The owner wants the memory: what is granted ends within `rules.recall`, and nothing is granted until lend().
  void recall(BootTime now, GroupEffects& out);
  void tick(BootTime now, GroupEffects& out);

  State state() const { return state_; }
  // Also while it is being reaped.
  const std::optional<Grant>& grant() const { return grant_; }

 private:
  struct Heard {
    PlanTerm of;
    std::uint64_t stamp = 0;
  };
  // Each new grant costs a line on the disk, and a worker that is started and ended.
  static constexpr RateLimit kGrantPace{.each_second = 0.5, .at_once = 8};
  struct Host {
    std::map<ContentKey, Heard> models;  // the newest about each
    TokenBucket grants{kGrantPace};
  };
  bool is_news(const NodeId& host, const auto& message);
  GrantDecision verdict_on(const NodeId& host, const GrantRequest& ask, BootTime now) const;
  void end(GroupEffects& out);
  void tell_recall(BootTime now, GroupEffects& out);

  GrantRules rules_;
  std::optional<NodeId> former_;
  BootTime settled_;
  State state_ = State::free;
  std::optional<Grant> grant_;
  std::uint64_t lent_ = 0;
  std::optional<BootTime> recalled_;  // when what is granted ends at the latest
  std::map<NodeId, Host> hosts_;      // that were heard
};

}  // namespace corral::mesh
