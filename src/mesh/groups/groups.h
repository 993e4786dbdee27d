// All that a node does in groups: it grants itself to hosts, and hosts itself. It is told what happens and says what is
// to be done; it has no clock, no I/O and no threads. Belongs to one loop. Who runs it:
//   - tells it links, messages and ends of processes as they happen, and tick() every kGroupTick;
//   - carries out take() after each call, in order;
//   - passes the time of CLOCK_BOOTTIME. Who stood still (SIGSTOP, suspend) calls tick() before anything else.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "mesh/groups/grant_manager.h"
#include "mesh/groups/group_host.h"

namespace corral::mesh {

inline constexpr Millis kGroupTick{250};

class Groups {
 public:
  struct Options {
    NodeId own;
    std::uint64_t life = 0;        // boot epoch
    std::optional<NodeId> former;  // what RememberHolder said last in the life before
    std::uint64_t seed = 0;        // for back-offs
    GrantRules rules;
  };
  Groups(const Options& options, BootTime now);
  // What it hosts refers to it.
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Links. `life`: the peer's boot epoch, as its hello says. `heard`: when it was heard last.
  void link_up(const NodeId& node, std::uint64_t life, BootTime now);
  void link_down(const NodeId& node, LinkEnd how, BootTime heard, BootTime now);
  void message(const NodeId& from, const GroupMessage& message, BootTime now);

  // As host. One plan for each model; this node is its host. False: nothing changes, or it is no plan to carry out, as
  // this node has no share in it.
  bool want(GroupPlan plan, PlanCause cause, BootTime now);
  void end(const ContentKey& model, BootTime now);
  void engine_ended(const ContentKey& model, const PlanTerm& of, BootTime now);
  void engine_drained(const ContentKey& model, const PlanTerm& of, BootTime now);

  // This node has learnt that it lived longer than it knew: what it claims from now on counts as of this life.
  void live_anew(std::uint64_t life) { shared_.life = life; }

  // As a node that grants itself.
  void lend(std::uint64_t bytes);
  void recall(BootTime now);
  // What is granted ends now, as this node can't keep to it (nobody could write down who has it).
  void give_up(BootTime now);
  void worker_reaped(BootTime now);

  void tick(BootTime now);
  GroupEffects take();

  const GrantManager& granter() const { return granter_; }
  const std::map<ContentKey, GroupHost>& hosted() const { return hosts_; }
  // Nodes of a hosted plan that are gone for good, in the order of ids: it has to be planned anew.
  std::vector<NodeId> lost(const ContentKey& model, BootTime now) const;
  // Of all nodes that had a link to this one, sorted.
  std::vector<NodeId> lost(BootTime now) const;

 private:
  void handle(const NodeId& from, const GroupMessage& message, BootTime now, GroupEffects& out);
  void node_ended(const NodeId& node, BootTime now, GroupEffects& out);
  // What goes to this node itself arrives at once; groups that are done are forgotten.
  void settle(GroupEffects out, BootTime now);

  NodeId own_;
  GroupContext shared_;
  GrantManager granter_;
  std::map<ContentKey, GroupHost> hosts_;
  GroupEffects effects_;
};

}  // namespace corral::mesh
