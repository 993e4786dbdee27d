// The part of a node in all groups: it grants its memory to hosts, and it hosts. Events in, effects out; no clock, no
// I/O and no threads. Belongs to one loop. Its runner
//   - reports links, messages and ends of processes as they happen, and calls tick() every kGroupTick;
//   - carries out take() after each call, in order;
//   - passes the time of CLOCK_BOOTTIME. After a stop (SIGSTOP, suspend) it calls tick() before anything else.
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
    std::uint64_t epoch = 0;
    std::optional<NodeId> former;  // host of the last RememberHolder of the previous epoch
    std::uint64_t seed = 0;        // for back-offs
    GrantRules rules;
  };
  Groups(const Options& options, BootTime now);
  // Each GroupHost refers to it.
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Links. `epoch`: the peer's epoch, from its hello. `last_received`: when something was received from it last.
  void link_up(const NodeId& node, std::uint64_t epoch, BootTime now);
  void link_down(const NodeId& node, LinkEnd how, BootTime last_received, BootTime now);
  void message(const NodeId& from, const GroupMessage& message, BootTime now);

  // As host. One plan for each model; this node is its host. False: nothing changes, or this node has no share in the
  // plan.
  bool want(GroupPlan plan, PlanCause cause, BootTime now);
  void end(const ContentKey& model, BootTime now);
  void engine_ended(const ContentKey& model, const PlanTerm& of, BootTime now);
  void engine_drained(const ContentKey& model, const PlanTerm& of, BootTime now);

  // This node has learnt that its epoch is higher: later claims have this epoch.
  void live_anew(std::uint64_t epoch) { shared_.epoch = epoch; }

  // As a node that grants its memory.
  void lend(std::uint64_t bytes);
  void recall(BootTime now);
  // The grant ends now, because this node can't keep it (its disk can't store the host).
  void give_up(BootTime now);
  void worker_reaped(BootTime now);

  void tick(BootTime now);
  GroupEffects take();

  const GrantManager& granter() const { return granter_; }
  const std::map<ContentKey, GroupHost>& hosted() const { return hosts_; }
  // Lost nodes of a hosted plan, in the order of ids: the model needs a new plan.
  std::vector<NodeId> lost(const ContentKey& model, BootTime now) const;
  // Of all nodes that had a link to this one, sorted.
  std::vector<NodeId> lost(BootTime now) const;

 private:
  void handle(const NodeId& from, const GroupMessage& message, BootTime now, GroupEffects& out);
  void node_ended(const NodeId& node, BootTime now, GroupEffects& out);
  // Messages to this node itself arrive at once; finished groups are forgotten.
  void settle(GroupEffects out, BootTime now);

  NodeId own_;
  GroupContext shared_;
  GrantManager granter_;
  std::map<ContentKey, GroupHost> hosts_;
  GroupEffects effects_;
};

}  // namespace corral::mesh
