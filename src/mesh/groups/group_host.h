// One model's group, at its host: gets the grants of all nodes of its plan, runs the engine while it has them, and
// releases them. Pure: no clock, no I/O. Belongs to one loop.
//
//   waiting ──► claiming ──► standing ──► draining ──► stopping ──► waiting, or done
//      ▲ all links   │ one by one  │ another plan,   │ drained       ▲ the engine has ended,
//      │ up          │ by id       │ a recall        └───────────────┤ all is released
//      └─ back-off ──┘             └──────── a lease is lost ────────┘
//
// A lease starts here when its request is sent. So it ends here before it ends at the node that gave it, whatever the
// clocks and the network do.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "mesh/groups/backoff_jitter.h"
#include "mesh/groups/boot_time.h"
#include "mesh/groups/group_effect.h"
#include "mesh/groups/link_states.h"

namespace corral::mesh {

// Why there is another plan. A plan that is only better doesn't change a running group.
enum class PlanCause : std::uint8_t { ordered, loss, demand, idle, better };

// What all groups of a node share.
struct GroupContext {
  GrantRules rules;
  std::uint64_t epoch = 0;  // epoch of this node
  LinkStates links;
  BackoffJitter jitter;
  std::uint64_t terms = 0;  // terms used in this epoch, of all models
};

class GroupHost {
 public:
  enum class State : std::uint8_t { waiting, claiming, standing, draining, stopping, done };

  // The context must outlive it.
  GroupHost(GroupContext& shared, GroupPlan plan, BootTime now)
      : shared_(shared),
        rules_(shared.rules),
        of_{shared.epoch, 0},
        plan_(std::move(plan)),
        retry_(now),
        restart_(now) {}

  // False: nothing changes, because it is the same plan, or not worth a restart.
  bool want(GroupPlan plan, PlanCause cause, BootTime now, GroupEffects& out);
  // The model is no longer needed.
  void end(BootTime now, GroupEffects& out);

  void answer(const NodeId& from, const GrantResponse& answer, BootTime now, GroupEffects& out);
  void recalled(const NodeId& from, const GrantRecall& recall, BootTime now, GroupEffects& out);
  // The node's process has ended, and its grant with it.
  void node_ended(const NodeId& node, BootTime now, GroupEffects& out);
  // The engine failed, or ended as ordered.
  void engine_ended(const PlanTerm& of, BootTime now, GroupEffects& out);
  void engine_drained(const PlanTerm& of, BootTime now, GroupEffects& out);
  void tick(BootTime now, GroupEffects& out);

  State state() const { return state_; }
  const GroupPlan& plan() const { return plan_; }  // of the present grants, or of those it tries to get
  const PlanTerm& of() const { return of_; }
  bool is_running() const { return engine_; }
  // The end of the lease of that node; nothing: there is none.
  std::optional<BootTime> lease_of(const NodeId& node) const;
  // The node that refused the last failed claims, and why.
  struct Refusal {
    NodeId node;
    std::optional<GrantDecision> verdict;  // nothing: no answer, or no link
    bool engine = false;                   // no node refused: the engine, at this node, failed after each start
  };
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  struct Lease {
    std::optional<BootTime> until;            // nothing: not granted yet
    std::map<std::uint64_t, BootTime> asked;  // by stamp: requests without an answer
    BootTime last_asked{};
  };
  std::optional<NodeId> out_of_reach() const;
  bool has_lost_a_node(BootTime now) const;
  void claim(BootTime now, GroupEffects& out);
  void ask(const NodeId& node, BootTime now, GroupEffects& out);
  void renew(BootTime now, GroupEffects& out);
  void give_back(GroupEffects& out);
  void back_off(const NodeId& node, std::optional<GrantDecision> verdict, BootTime now, GroupEffects& out);
  void start(BootTime now, GroupEffects& out);
  void start_again(BootTime now, GroupEffects& out);
  void drain(std::optional<Millis> within, BootTime now, GroupEffects& out);
  void stop(BootTime now, GroupEffects& out);
  void leave(BootTime now, GroupEffects& out);
  Millis random_back_off(unsigned failures);
  std::optional<BootTime> first_end() const;

  GroupContext& shared_;
  const GrantRules& rules_;
  PlanTerm of_;
  GroupPlan plan_;
  std::optional<GroupPlan> next_;  // after the release of plan_
  bool ends_ = false;
  State state_ = State::waiting;
  bool engine_ = false;  // started, and not ended yet
  std::uint64_t stamp_ = 0;
  std::map<NodeId, Lease> leases_;  // of the nodes that were asked, in the order of claims
  BootTime retry_;
  unsigned failures_ = 0;         // failed claims since the last steady engine
  unsigned fails_ = 0;            // failed engines in a row
  BootTime started_{}, restart_;  // of the engine: its start, and the earliest next one
  std::optional<BootTime> drained_by_;
  std::optional<Refusal> refusal_;
};

std::string_view name_of(GroupHost::State state);

}  // namespace corral::mesh
