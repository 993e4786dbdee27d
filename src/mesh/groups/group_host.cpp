#include "mesh/groups/group_host.h"

#include <algorithm>

namespace corral::mesh {
namespace {

constexpr std::size_t kMaxOpen = 8;  // requests to one node that wait for their answers

}  // namespace

std::string_view name_of(GroupHost::State state) {
  constexpr std::string_view kNames[] = {"waiting", "claiming", "standing", "draining", "stopping", "done"};
  return kNames[static_cast<std::size_t>(state)];
}

bool GroupHost::want(GroupPlan plan, PlanCause cause, BootTime now, GroupEffects& out) {
  const auto& last = next_ ? *next_ : plan_;
  if (!ends_ && digest_of(plan) == digest_of(last)) return false;
  if (state_ == State::standing && cause == PlanCause::better) return false;
  ends_ = false;
  next_ = std::move(plan);
  if (state_ == State::standing && engine_) {
    drain(std::nullopt, now, out);
  } else if (state_ == State::waiting || state_ == State::claiming || state_ == State::standing) {
    leave(now, out);
  }
  return true;
}

void GroupHost::end(BootTime now, GroupEffects& out) {
  ends_ = true;
  next_.reset();
  if (state_ == State::standing && engine_) {
    drain(std::nullopt, now, out);
  } else if (state_ == State::waiting || state_ == State::claiming || state_ == State::standing) {
    leave(now, out);
  }
}

void GroupHost::answer(const NodeId& from, const GrantResponse& answer, BootTime now, GroupEffects& out) {
  const auto found = leases_.find(from);
  if (answer.of != of_ || found == leases_.end()) {
    // An answer to an earlier try: its grant is released.
    if (answer.verdict == GrantDecision::granted && answer.of.epoch == of_.epoch)
      out.push_back(SendMessage{from, GrantRelease{answer.model, answer.of, ++stamp_}});
    return;
  }
  auto& lease = found->second;
  const auto asked = lease.asked.find(answer.stamp);
  if (asked == lease.asked.end()) return;
  if (answer.verdict == GrantDecision::granted) {
    // The lease starts with the request, which was before the grant.
    const auto until = asked->second + std::min(rules_.lease, Millis(answer.lease_ms));
    lease.until = std::max(lease.until.value_or(until), until);
    lease.asked.erase(lease.asked.begin(), std::next(asked));
    if (state_ == State::claiming) claim(now, out);
    return;
  }
  lease.asked.erase(asked);
  lease.until.reset();
  if (state_ == State::claiming) {
    back_off(from, answer.verdict, now, out);
  } else {
    refusal_ = Refusal{.node = from, .verdict = answer.verdict};
    stop(now, out);
  }
}

// Only a running engine needs a drain.
void GroupHost::recalled(const NodeId& from, const GrantRecall& recall, BootTime now, GroupEffects& out) {
  if (recall.of != of_ || !leases_.contains(from)) return;
  refusal_ = Refusal{.node = from, .verdict = GrantDecision::recalled};
  // Leaves a part of the time for the end of the engine.
  const auto within = std::max(Millis(recall.within_ms) - 2 * rules_.stop_before, Millis(0));
  if (state_ == State::standing && engine_) {
    drain(within, now, out);
  } else if (state_ == State::draining) {
    drained_by_ = std::min(drained_by_.value_or(now + within), now + within);
  } else if (state_ == State::claiming || state_ == State::standing) {
    back_off(from, GrantDecision::recalled, now, out);
  }
}

void GroupHost::node_ended(const NodeId& node, BootTime now, GroupEffects& out) {
  const auto found = leases_.find(node);
  if (found == leases_.end()) return;
  found->second.until.reset();
  if (state_ == State::claiming) {
    back_off(node, std::nullopt, now, out);
  } else {
    stop(now, out);
  }
}

void GroupHost::engine_ended(const PlanTerm& of, BootTime now, GroupEffects& out) {
  if (of != of_ || !engine_) return;
  engine_ = false;
  if (state_ == State::draining || state_ == State::stopping) {
    leave(now, out);
  } else if (state_ == State::standing && !out_of_reach()) {
    start_again(now, out);
  }
}

void GroupHost::engine_drained(const PlanTerm& of, BootTime now, GroupEffects& out) {
  if (of == of_ && state_ == State::draining) stop(now, out);
}

void GroupHost::tick(BootTime now, GroupEffects& out) {
  switch (state_) {
    case State::waiting:
      if (now >= retry_ && !out_of_reach()) {
        of_ = {shared_.epoch, ++shared_.terms};
        state_ = State::claiming;
        claim(now, out);
      }
      return;
    case State::claiming:
      // Also nodes that weren't asked yet: otherwise the claims would block the other nodes without end.
      if (const auto node = out_of_reach()) return back_off(*node, std::nullopt, now, out);
      for (const auto& [node, lease] : leases_) {
        const bool silent = !lease.until && now - lease.last_asked >= rules_.answer;
        if (silent) return back_off(node, std::nullopt, now, out);
      }
      if (const auto end = first_end(); end && now >= *end - rules_.stop_before)
        return back_off(leases_.begin()->first, std::nullopt, now, out);
      return renew(now, out);
    case State::standing:
    case State::draining:
      if (now >= *first_end() - rules_.stop_before) return stop(now, out);
      if (state_ == State::draining && drained_by_ && now >= *drained_by_) return stop(now, out);
      renew(now, out);
      if (engine_ && now - started_ >= rules_.steady) failures_ = fails_ = 0;
      // Waiting is useless: release the others for another plan.
      if (!engine_ && has_lost_a_node(now)) return leave(now, out);
      // The engine ended with a link that is back, or failed a while ago.
      if (state_ == State::standing && !engine_ && now >= restart_ && !out_of_reach()) start(now, out);
      return;
    case State::stopping:
    case State::done:
      return;
  }
}

std::optional<BootTime> GroupHost::lease_of(const NodeId& node) const {
  const auto found = leases_.find(node);
  return found == leases_.end() ? std::nullopt : found->second.until;
}

// The first node of the plan, in the order of ids, without a link.
std::optional<NodeId> GroupHost::out_of_reach() const {
  std::optional<NodeId> first;
  for (const auto& share : plan_.split.shares) {
    if (!shared_.links.is_up(share.node) && (!first || share.node < *first)) first = share.node;
  }
  return first;
}

bool GroupHost::has_lost_a_node(BootTime now) const {
  return std::ranges::any_of(plan_.split.shares, [&](const SplitShare& share) {
    return shared_.links.is_lost(share.node, rules_.patience, now);
  });
}

// Claims the next node in the order of ids if all before it have granted; then starts the engine.
void GroupHost::claim(BootTime now, GroupEffects& out) {
  if (const auto node = out_of_reach()) return back_off(*node, std::nullopt, now, out);
  for (const auto& node : plan_.nodes()) {
    const auto found = leases_.find(node);
    if (found == leases_.end()) return ask(node, now, out);
    if (!found->second.until) return;
  }
  state_ = State::standing;
  refusal_.reset();
  start(now, out);
}

void GroupHost::ask(const NodeId& node, BootTime now, GroupEffects& out) {
  auto& lease = leases_[node];
  lease.last_asked = now;
  lease.asked.emplace(++stamp_, now);
  if (lease.asked.size() > kMaxOpen) lease.asked.erase(lease.asked.begin());
  out.push_back(
      SendMessage{node, GrantRequest{plan_.model, of_, stamp_, digest_of(plan_), plan_.share_of(node)->total()}});
}

void GroupHost::renew(BootTime now, GroupEffects& out) {
  for (const auto& [node, lease] : leases_) {
    if (lease.until && now - lease.last_asked >= rules_.renew && shared_.links.is_up(node)) ask(node, now, out);
  }
}

void GroupHost::give_back(GroupEffects& out) {
  for (const auto& [node, lease] : leases_) out.push_back(SendMessage{node, GrantRelease{plan_.model, of_, ++stamp_}});
  leases_.clear();
}

void GroupHost::back_off(const NodeId& node, std::optional<GrantDecision> verdict, BootTime now, GroupEffects& out) {
  refusal_ = Refusal{.node = node, .verdict = verdict};
  leave(now, out);
}

void GroupHost::start(BootTime now, GroupEffects& out) {
  engine_ = true;
  started_ = now;
  out.push_back(StartEngine{plan_, of_});
}

// The engine failed. If it fails early several times, waits before the next start, and then releases the nodes.
void GroupHost::start_again(BootTime now, GroupEffects& out) {
  if (now - started_ >= rules_.steady) {
    failures_ = fails_ = 0;
    return start(now, out);
  }
  fails_ = std::min(fails_ + 1, rules_.max_fails);
  if (fails_ < rules_.max_fails) {
    restart_ = now + random_back_off(fails_);
    return;
  }
  refusal_ = Refusal{.node = plan_.split.host, .verdict = std::nullopt, .engine = true};
  leave(now, out);
}

void GroupHost::drain(std::optional<Millis> within, BootTime now, GroupEffects& out) {
  state_ = State::draining;
  if (within) drained_by_ = now + *within;
  out.push_back(DrainEngine{of_, within});
}

void GroupHost::stop(BootTime now, GroupEffects& out) {
  if (state_ == State::stopping) return;
  if (!engine_) return leave(now, out);
  state_ = State::stopping;
  out.push_back(StopEngine{of_});
}

// No engine runs: releases the grants, and begins the next plan, or this one again; waits first after a refusal.
void GroupHost::leave(BootTime now, GroupEffects& out) {
  give_back(out);
  drained_by_.reset();
  retry_ = now;
  if (next_) {
    plan_ = std::move(*next_);
    next_.reset();
    refusal_.reset();
    failures_ = fails_ = 0;
  } else if (refusal_) {
    failures_ = std::min(failures_ + 1, 16U);
    retry_ += random_back_off(failures_);
  }
  restart_ = now;
  state_ = ends_ ? State::done : State::waiting;
}

Millis GroupHost::random_back_off(unsigned failures) {
  const auto max = std::min(rules_.max_back_off, rules_.min_back_off * (1 << failures));
  return shared_.jitter.between(rules_.min_back_off, max);
}

std::optional<BootTime> GroupHost::first_end() const {
  std::optional<BootTime> first;
  for (const auto& [node, lease] : leases_) {
    if (lease.until && (!first || *lease.until < *first)) first = lease.until;
  }
  return first;
}

}  // namespace corral::mesh
