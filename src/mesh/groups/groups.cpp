#include "mesh/groups/groups.h"

namespace corral::mesh {

Groups::Groups(const Options& options, BootTime now)
    : own_(options.own),
      shared_{options.rules, options.epoch, LinkStates(options.own), BackoffJitter(options.seed)},
      granter_(options.rules, options.former, now) {}

void Groups::link_up(const NodeId& node, std::uint64_t epoch, BootTime now) {
  GroupEffects out;
  if (shared_.links.up(node, epoch)) node_ended(node, now, out);
  settle(std::move(out), now);
}

void Groups::link_down(const NodeId& node, LinkEnd how, BootTime last_received, BootTime now) {
  GroupEffects out;
  shared_.links.down(node, how, last_received);
  if (how == LinkEnd::ended) node_ended(node, now, out);
  settle(std::move(out), now);
}

void Groups::node_ended(const NodeId& node, BootTime now, GroupEffects& out) {
  granter_.host_ended(node, out);
  for (auto& [model, host] : hosts_) host.node_ended(node, now, out);
}

void Groups::message(const NodeId& from, const GroupMessage& message, BootTime now) {
  GroupEffects out;
  handle(from, message, now, out);
  settle(std::move(out), now);
}

bool Groups::want(GroupPlan plan, PlanCause cause, BootTime now) {
  if (!plan.share_of(own_)) return false;
  const auto found = hosts_.find(plan.model);
  if (found == hosts_.end()) {
    const auto model = plan.model;
    hosts_.try_emplace(model, shared_, std::move(plan), now);
    return true;
  }
  GroupEffects out;
  const bool changes = found->second.want(std::move(plan), cause, now, out);
  settle(std::move(out), now);
  return changes;
}

void Groups::end(const ContentKey& model, BootTime now) {
  const auto found = hosts_.find(model);
  if (found == hosts_.end()) return;
  GroupEffects out;
  found->second.end(now, out);
  settle(std::move(out), now);
}

void Groups::engine_ended(const ContentKey& model, const PlanTerm& of, BootTime now) {
  const auto found = hosts_.find(model);
  if (found == hosts_.end()) return;
  GroupEffects out;
  found->second.engine_ended(of, now, out);
  settle(std::move(out), now);
}

void Groups::engine_drained(const ContentKey& model, const PlanTerm& of, BootTime now) {
  const auto found = hosts_.find(model);
  if (found == hosts_.end()) return;
  GroupEffects out;
  found->second.engine_drained(of, now, out);
  settle(std::move(out), now);
}

void Groups::lend(std::uint64_t bytes) { granter_.lend(bytes); }

void Groups::recall(BootTime now) {
  GroupEffects out;
  granter_.recall(now, out);
  settle(std::move(out), now);
}

void Groups::give_up(BootTime now) {
  GroupEffects out;
  granter_.give_up(out);
  settle(std::move(out), now);
}

void Groups::worker_reaped(BootTime now) {
  GroupEffects out;
  granter_.reaped(out);
  settle(std::move(out), now);
}

void Groups::tick(BootTime now) {
  GroupEffects out;
  for (auto& [model, host] : hosts_) host.tick(now, out);
  granter_.tick(now, out);
  settle(std::move(out), now);
}

GroupEffects Groups::take() { return std::exchange(effects_, {}); }

std::vector<NodeId> Groups::lost(const ContentKey& model, BootTime now) const {
  std::vector<NodeId> lost;
  const auto found = hosts_.find(model);
  if (found == hosts_.end()) return lost;
  for (const auto& node : found->second.plan().nodes()) {
    if (shared_.links.is_lost(node, shared_.rules.patience, now)) lost.push_back(node);
  }
  return lost;
}

std::vector<NodeId> Groups::lost(BootTime now) const { return shared_.links.lost(shared_.rules.patience, now); }

void Groups::handle(const NodeId& from, const GroupMessage& message, BootTime now, GroupEffects& out) {
  if (const auto* ask = std::get_if<GrantRequest>(&message)) {
    granter_.ask(from, *ask, now, out);
  } else if (const auto* given = std::get_if<GrantRelease>(&message)) {
    granter_.given_back(from, *given, out);
  } else if (const auto* answer = std::get_if<GrantResponse>(&message)) {
    const auto host = hosts_.find(answer->model);
    // Without a host the group is done, and its release is on the way.
    if (host != hosts_.end()) host->second.answer(from, *answer, now, out);
  } else if (const auto* recall = std::get_if<GrantRecall>(&message)) {
    const auto host = hosts_.find(recall->model);
    if (host != hosts_.end()) host->second.recalled(from, *recall, now, out);
  }
}

void Groups::settle(GroupEffects out, BootTime now) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto* sent = std::get_if<SendMessage>(&out[i]);
    if (sent && sent->to == own_) {
      const auto message = sent->message;
      handle(own_, message, now, out);
    } else {
      effects_.push_back(std::move(out[i]));
    }
  }
  std::erase_if(hosts_, [](const auto& one) { return one.second.state() == GroupHost::State::done; });
}

}  // namespace corral::mesh
