// Operations of a member: tokens, copies, orders for models, doctor.
#include <algorithm>

#include "fleet/node/node_impl.h"

namespace corral::fleet {

using async::Task;

Task<Result<Invitation>> Node::Impl::invite(std::chrono::seconds lifetime) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  auto inviting = runtime_->invite(lifetime);
  auto made = co_await std::move(inviting);
  publish();  // the caller sees its own change
  co_return made;
}

Task<Result<std::vector<mesh::IssuedToken>>> Node::Impl::tokens() {
  if (!runtime_) co_return std::unexpected(no_mesh());
  co_return runtime_->tokens();
}

Task<Result<>> Node::Impl::withdraw(std::string digits) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  auto withdrawing = runtime_->withdraw(std::move(digits));
  auto withdrawn = co_await std::move(withdrawing);
  publish();
  co_return withdrawn;
}

Task<Result<mesh::NodeId>> Node::Impl::revoke(std::string node, bool all) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  const auto now = view();
  const auto found = find_node(*now, node);
  if (!found) co_return std::unexpected(found.error());
  auto revoking = runtime_->revoke((*found)->id, all);
  auto revoked = co_await std::move(revoking);
  publish();
  co_return revoked;
}

Task<Result<CopyView>> Node::Impl::copy(std::string model) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  auto ordered = runtime_->copy(model);
  publish();
  co_return ordered;
}

Task<Result<>> Node::Impl::cancel_copy(std::string model) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  auto cancelled = runtime_->cancel_copy(model);
  publish();
  co_return cancelled;
}

Task<Result<std::string>> Node::Impl::assign(std::string node, AllotCommand command, std::string model) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  const auto now = view();
  const auto found = find_node(*now, node);
  if (!found) co_return std::unexpected(found.error());
  const auto reply = runtime_->assign((*found)->id, command, model);
  if (!reply) co_return std::unexpected(reply.error());
  co_await (*reply)->done.wait();
  if (!(*reply)->result) co_return std::unexpected((*reply)->result.error());
  co_return (*reply)->waits_for;
}

Task<Result<Node::Unloading>> Node::Impl::unload(std::string model) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  const auto replies = runtime_->unload(model);
  if (!replies) co_return std::unexpected(replies.error());
  Unloading unloading;
  for (const auto& reply : *replies) {
    co_await reply->done.wait();
    if (reply->result && reply->had) unloading.told.push_back(reply->node);
    if (!reply->result) unloading.refused.push_back(reply->result.error());
  }
  co_return unloading;
}

Task<Result<Node::Split>> Node::Impl::split(std::string model, std::vector<std::string> nodes) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  const auto now = view();
  std::vector<mesh::NodeId> ids;
  for (const auto& node : nodes) {
    const auto found = find_node(*now, node);
    if (!found) co_return std::unexpected(found.error());
    ids.push_back((*found)->id);
  }
  const auto ordering = runtime_->split(model, ids);
  if (!ordering) co_return std::unexpected(ordering.error());
  const auto begun = runtime_->begin_split(*ordering);
  co_await begun->done.wait();
  if (!begun->result) co_return std::unexpected(begun->result.error());
  std::ranges::sort(ids);
  Split split{ordering->host, *ordering->ask.content, std::move(ids)};
  for (const auto& other : ordering->others) {
    if (!runtime_) co_return std::unexpected(no_mesh());
    const auto ended = runtime_->end_split(other, split.model);
    co_await ended->done.wait();
    if (ended->result) continue;
    // The group of that node remains, so the new one is ended: there must not be two.
    auto taking_back = end_split(split);
    co_await std::move(taking_back);
    co_return std::unexpected(ended->result.error());
  }
  co_return split;
}

Task<Result<>> Node::Impl::end_split(Split split) {
  if (!runtime_) co_return std::unexpected(no_mesh());
  const auto reply = runtime_->end_split(split.host, split.model);
  co_await reply->done.wait();
  co_return reply->result;
}

Task<std::vector<Finding>> Node::Impl::doctor() {
  // Leaving the mesh destroys its peers, so it must wait.
  const Change change(*this);
  Examination found;
  if (runtime_ && change.alone()) found = co_await runtime_->examine();
  co_return examine(*view(), options_, found);
}

}  // namespace corral::fleet
