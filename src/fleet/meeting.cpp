#include "fleet/meeting.h"

#include <algorithm>

#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

Answer answer_of(const Error& why) {
  const auto& code = why.code;
  if (code == mesh::errc::unreachable || code == mesh::errc::bad_address) return Answer::silence;
  if (code == mesh::errc::wrong_peer || code == mesh::errc::handshake_failed) return Answer::stranger;
  return Answer::refusal;
}

bool founds(const mesh::NodeId& own, const std::map<mesh::NodeId, std::optional<Answer>>& named) {
  return !named.empty() && std::ranges::all_of(named, [&](const auto& entry) {
    const auto& [node, answer] = entry;
    return own < node && answer && *answer != Answer::refusal;
  });
}

mesh::Founding configured_founding(const mesh::PublicKey& founder) { return {founder, {}}; }

Meeting::Meeting(async::Executor executor, async::Timers& timers, mesh::Network& network, mesh::SigningKey key,
                 const std::vector<StaticPeer>& peers)
    : executor_(executor), timers_(timers), network_(network), key_(std::move(key)), tasks_(executor) {
  for (const auto& peer : peers)
    if (peer.node != key_.id()) named_[peer.node].addresses.push_back(peer.address);
}

Task<void> Meeting::ask_one(mesh::NodeId node, std::shared_ptr<Round> round) {
  auto joining = mesh::join_by_name(network_, timers_, key_, node, named_.at(node).addresses, mesh::JoinOptions());
  auto joined = co_await std::move(joining);
  auto& named = named_.at(node);
  if (joined) {
    named.answer.reset();
    if (!round->joined) round->joined = std::move(*joined);
  } else {
    named.answer = answer_of(joined.error());
    named.said = joined.error().message;
  }
  if (--round->left == 0 || round->joined) round->done.set();
}

Task<std::optional<mesh::MemberSet>> Meeting::ask() {
  if (named_.empty()) co_return std::nullopt;
  const auto round = std::make_shared<Round>(executor_, named_.size());
  for (const auto& [node, named] : named_) tasks_.spawn("mesh: ask a named node", ask_one(node, round));
  co_await round->done.wait();
  co_await stop();
  co_return std::move(round->joined);
}

Task<void> Meeting::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

bool Meeting::founds() const {
  std::map<mesh::NodeId, std::optional<Answer>> answers;
  for (const auto& [node, named] : named_) answers.emplace(node, named.answer);
  return fleet::founds(key_.id(), answers);
}

std::vector<Unmet> Meeting::unmet() const {
  std::vector<Unmet> list;
  for (const auto& [node, named] : named_)
    if (named.answer) list.push_back({node, named.said});
  return list;
}

}  // namespace corral::fleet
