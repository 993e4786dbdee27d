#include "mesh/groups/grant_manager.h"

#include <algorithm>
#include <tuple>

namespace corral::mesh {
namespace {

constexpr std::size_t kMaxHosts = 4096;  // as members
constexpr std::size_t kMaxModels = 32;   // of one host

// A token bucket uses only differences of times.
MonoTime as_mono(BootTime time) { return MonoTime(time.time_since_epoch()); }

}  // namespace

void GrantManager::ask(const NodeId& host, const GrantRequest& ask, BootTime now, GroupEffects& out) {
  tick(now, out);
  if (!is_newer(host, ask)) return;
  // A host with a newer plan of the same model has dropped the last one. A host with a newer epoch has dropped all.
  if (grant_ && grant_->host == host) {
    const auto& old = grant_->ask;
    if (old.of.epoch < ask.of.epoch || (old.model == ask.model && old.of < ask.of)) end(out);
  }
  auto decision = decision_on(host, ask, now);
  const bool fresh = decision == GrantDecision::granted && state_ == State::free;
  if (fresh && !hosts_[host].grants.take(as_mono(now))) decision = GrantDecision::too_often;
  Millis lease{0};
  if (decision == GrantDecision::granted) {
    auto until = now + rules_.lease;
    if (recalled_) until = std::min(until, *recalled_);
    lease = until - now;
    grant_ = Grant{host, ask, until};
    state_ = State::granted;
    if (fresh) {
      out.push_back(RememberHolder{host});
      out.push_back(OpenWorker{host, ask});
    }
  }
  out.push_back(SendMessage{
      host, GrantResponse{ask.model, ask.of, ask.stamp, decision, static_cast<std::uint32_t>(lease.count())}});
  if (decision == GrantDecision::granted && recalled_) notify_recall(now, out);
}

// False for late and repeated messages.
bool GrantManager::is_newer(const NodeId& host, const auto& message) {
  if (hosts_.size() >= kMaxHosts && !hosts_.contains(host)) return false;
  auto& models = hosts_[host].models;
  auto& last = models[message.model];
  if (std::tie(message.of, message.stamp) <= std::tie(last.of, last.stamp)) return false;
  last = {message.of, message.stamp};
  if (models.size() > kMaxModels) {
    models.erase(std::ranges::min_element(models, {}, [](const auto& one) { return one.second.of; }));
  }
  return true;
}

GrantDecision GrantManager::decision_on(const NodeId& host, const GrantRequest& ask, BootTime now) const {
  if (state_ == State::reaping) return GrantDecision::reaping;
  if (state_ == State::granted) {
    const auto& old = grant_->ask;
    const auto about = [](const GrantRequest& one) { return std::tie(one.model, one.of, one.plan, one.bytes); };
    const bool same = grant_->host == host && about(old) == about(ask);
    return same ? GrantDecision::granted : GrantDecision::taken;
  }
  if (recalled_) return GrantDecision::recalled;
  if (former_ && former_ != host && now < settled_) return GrantDecision::settling;
  return ask.bytes > lent_ ? GrantDecision::too_little : GrantDecision::granted;
}

void GrantManager::given_back(const NodeId& host, const GrantRelease& given, GroupEffects& out) {
  if (!is_newer(host, given) || !grant_ || grant_->host != host) return;
  if (grant_->ask.model == given.model && grant_->ask.of <= given.of) end(out);
}

void GrantManager::host_ended(const NodeId& host, GroupEffects& out) {
  if (grant_ && grant_->host == host) end(out);
  if (former_ == host) former_.reset();
}

void GrantManager::end(GroupEffects& out) {
  if (state_ != State::granted) return;
  state_ = State::reaping;
  out.push_back(ReapWorker{grant_->host, grant_->ask.of});
}

void GrantManager::reaped(GroupEffects& out) {
  if (state_ != State::reaping) return;
  state_ = State::free;
  grant_.reset();
  former_.reset();
  out.push_back(RememberHolder{});
}

void GrantManager::lend(std::uint64_t bytes) {
  lent_ = bytes;
  recalled_.reset();
}

void GrantManager::recall(BootTime now, GroupEffects& out) {
  if (recalled_) return;
  recalled_ = now + rules_.recall;
  if (state_ == State::granted) notify_recall(now, out);
}

void GrantManager::notify_recall(BootTime now, GroupEffects& out) {
  const auto left = std::max(*recalled_ - now, Millis(0));
  const auto within = static_cast<std::uint32_t>(left.count());
  out.push_back(SendMessage{grant_->host, GrantRecall{grant_->ask.model, grant_->ask.of, within}});
}

void GrantManager::tick(BootTime now, GroupEffects& out) {
  if (state_ == State::granted && now >= grant_->until) end(out);
}

}  // namespace corral::mesh
