#include "fleet/membership/static_bootstrap.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mesh/identity/errors.h"
#include "mesh/peers/dial/dial_policy.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kDialTimeout{1'500};  // a machine that isn't up yet doesn't delay the others

}  // namespace

BootstrapReply answer_of(const Error& why) {
  const auto& code = why.code;
  if (code == mesh::errc::unreachable || code == mesh::errc::bad_address) return BootstrapReply::silence;
  if (code == mesh::errc::wrong_peer || code == mesh::errc::handshake_failed) return BootstrapReply::wrong_node;
  return BootstrapReply::refusal;
}

bool founds(const mesh::NodeId& own, const std::map<mesh::NodeId, std::optional<BootstrapReply>>& named) {
  return !named.empty() && std::ranges::all_of(named, [&](const auto& entry) {
    const auto& [node, answer] = entry;
    return own < node && answer && *answer != BootstrapReply::refusal;
  });
}

mesh::Founding configured_founding(const mesh::PublicKey& founder) { return {founder, {}}; }

StaticBootstrap::StaticBootstrap(async::Executor executor, async::Timers& timers, mesh::SigningKey key,
                                 const std::vector<StaticPeer>& peers)
    : executor_(executor),
      timers_(timers),
      key_(std::move(key)),
      network_(executor, key_, timers, {.dial = kDialTimeout}),
      tasks_(executor) {
  for (const auto& peer : peers)
    if (peer.node != key_.id()) named_[peer.node].addresses.push_back(peer.address);
}

Task<void> StaticBootstrap::ask_one(mesh::NodeId node, std::shared_ptr<Round> round) {
  auto joining = mesh::join_by_name(network_, timers_, key_, node, named_.at(node).addresses, mesh::JoinOptions());
  auto joined = co_await std::move(joining);
  auto& named = named_.at(node);
  if (joined) {
    named.answer.reset();
    if (!round->joined) round->joined = std::move(*joined);
  } else {
    named.answer = answer_of(joined.error());
    named.reply = joined.error().message;
  }
  if (--round->left == 0 || round->joined) round->done.set();
}

Task<void> StaticBootstrap::ask(std::shared_ptr<Round> round) {
  if (named_.empty()) co_return;  // only itself is named
  for (const auto& [node, named] : named_) tasks_.spawn("mesh: ask a named node", ask_one(node, round));
  co_await round->done.wait();
  co_await stop();
}

Task<void> StaticBootstrap::run(BeforeRound before_round, OnRound on_round) {
  const mesh::DialRules pace;
  const auto since = timers_.now();
  std::minstd_rand chance(std::random_device{}());
  while (true) {
    const auto next = before_round();
    if (next == Next::end) co_return;
    if (next == Next::ask) {
      const auto round = round_ = std::make_shared<Round>(executor_, named_.size());
      auto asking = ask(round);
      co_await std::move(asking);
      round_.reset();
      if (!round->cut) on_round(std::move(round->joined));
      if (before_round() == Next::end) co_return;
    }
    const auto passed = std::chrono::duration_cast<Millis>(timers_.now() - since);
    const auto pause = mesh::next_beat(pace, passed, std::uniform_real_distribution<double>(0, 1)(chance));
    co_await timers_.sleep_for(pause);
  }
}

void StaticBootstrap::cut() {
  if (!round_) return;
  round_->cut = true;
  tasks_.cancel();
  round_->done.set();
}

Task<void> StaticBootstrap::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

bool StaticBootstrap::founds() const {
  std::map<mesh::NodeId, std::optional<BootstrapReply>> answers;
  for (const auto& [node, named] : named_) answers.emplace(node, named.answer);
  return fleet::founds(key_.id(), answers);
}

std::vector<UnjoinedPeer> StaticBootstrap::unmet() const {
  std::vector<UnjoinedPeer> list;
  for (const auto& [node, named] : named_)
    if (named.answer) list.push_back({node, named.reply});
  return list;
}

std::string StaticBootstrap::problem() const {
  std::vector<std::string> reasons;
  for (const auto& one : unmet()) reasons.push_back(fmt::format("{}: {}", mesh::short_text(one.node), one.why));
  return fmt::format("no node in mesh_peers admits this node yet: {}", fmt::join(reasons, "; "));
}

}  // namespace corral::fleet
