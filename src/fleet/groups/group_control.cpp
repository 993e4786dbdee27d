#include "fleet/groups/group_control.h"

#include <algorithm>

#include "fleet/announce/own_node_state.h"

namespace corral::fleet {
namespace {

mesh::GroupStage stage_of(mesh::GroupHost::State state) {
  using State = mesh::GroupHost::State;
  switch (state) {
    case State::claiming:
      return mesh::GroupStage::claiming;
    case State::standing:
      return mesh::GroupStage::standing;
    case State::draining:
      return mesh::GroupStage::draining;
    case State::stopping:
      return mesh::GroupStage::stopping;
    case State::waiting:
    case State::done:
      break;
  }
  return mesh::GroupStage::waiting;
}

}  // namespace

void add_groups(const GroupControl& control, const mesh::NodeId& own, Millis idle_unload, mesh::NodeState& node_state) {
  node_state.groups.clear();
  for (const auto& group : control.hosted()) {
    auto& report = node_state.groups.emplace_back();
    report.model = group.plan.model;
    report.stage = stage_of(group.state);
    report.running = group.running;
    report.by_hand = group.by_hand;
    for (const auto& share : group.plan.split.shares)
      report.shares.push_back({share.node, share.layers, share.total()});
    report.idle_ms = idle_steps(Millis(group.idle_ms), idle_unload);
    report.tokens_per_second = group.plan.split.tokens_per_second();
    report.refusal = group.refusal;
  }
  std::ranges::sort(node_state.groups, {}, &mesh::GroupReport::model);
  node_state.shares.clear();
  if (const auto shared = control.shared(); shared && shared->host != own)
    node_state.shares.push_back({shared->host, shared->model, shared->bytes, shared->reaping});
  node_state.recalled = control.recalled();
}

}  // namespace corral::fleet
