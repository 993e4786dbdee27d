#include "api/admin/load_split.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/base/errors.h"
#include "fleet/base/remote_models.h"
#include "mesh/catalog/hashed_since.h"

namespace corral::api {
namespace {

bool is_over(const mesh::GroupReport& group, const std::vector<mesh::NodeId>& nodes) {
  std::vector<mesh::NodeId> held;
  for (const auto& share : group.shares) held.push_back(share.node);
  std::ranges::sort(held);
  return held == nodes;
}

// Whether this node's part of the model in memory belongs to a group, not to a local load.
bool is_group_here(const fleet::MeshView& view, const mesh::ContentKey& model) {
  return std::ranges::any_of(view.groups, [&](const fleet::GroupView& group) {
    return group.content == model && group.status != "waiting" && group.status != "claiming";
  });
}

bool is_ready_here(const fleet::MeshView& view, const mesh::ContentKey& model) {
  return std::ranges::any_of(
      view.groups, [&](const fleet::GroupView& group) { return group.content == model && group.status == "ready"; });
}

}  // namespace

// The node state of a new node lacks its models and its name at first.
async::Task<Result<fleet::MemberRuntime::Split>> SplitLoad::order() {
  const auto last = context_.timers.now() + kFirstWords;
  while (true) {
    auto ordering = context_.node->ask(&fleet::MemberRuntime::split, model_->name.value(), nodes_);
    auto split = co_await std::move(ordering);
    const auto view = context_.node->view();
    const bool unnamed =
        std::ranges::any_of(view->nodes, [&](const auto& node) { return node.id != view->self && !node.node_state; });
    const bool may_change = !split && (split.error().code == fleet::errc::nowhere ||
                                       (split.error().code == fleet::errc::node_not_found && unnamed));
    if (!may_change || context_.timers.now() >= last) co_return split;
    co_await context_.timers.sleep_for(kLook);
  }
}

async::Task<Result<bool>> SplitLoad::run() {
  if (context_.node == nullptr)
    co_return fail(fleet::errc::no_mesh, "this server is in no mesh: it cannot split a model", "split");
  auto split = co_await order();
  if (!split) {
    auto error = split.error();
    if (error.param.empty() || error.param == "node") error.param = "split";
    co_return std::unexpected(std::move(error));
  }
  // If this node is the host, its own load of the model is unloaded to free memory for the group.
  const auto now = context_.node->view();
  if (!fleet::is_remote(*model_) && split->host == now->self && !is_group_here(*now, split->model)) {
    const auto report = co_await context_.router.report();
    const auto here = std::ranges::find_if(report.instances, [&](const router::InstanceReport& instance) {
      return instance.view.spec->name == model_->name;
    });
    if (here != report.instances.end() && !here->view.lent) co_await context_.router.unload(model_->name);
  }
  while (true) {
    // Its file may have been hashed meanwhile.
    if (const auto& catalog = context_.node->view()->catalog) split->model = mesh::HashedSince(*catalog)(split->model);
    auto found = look(*split);
    if (found && !*found && !forgotten_) {
      auto ending = context_.node->ask(&fleet::MemberRuntime::end_split, *split);
      co_await std::move(ending);
    }
    if (found) co_return std::move(*found);
    looked_ = true;
    co_await context_.timers.sleep_for(kLook);
  }
}

std::optional<Result<bool>> SplitLoad::look(const fleet::MemberRuntime::Split& split) {
  const auto view = context_.node->view();
  if (!view->in_mesh() || !view->catalog) return fail(fleet::errc::no_mesh, "this node left its mesh", "split");
  std::string trouble;
  const auto* host = view->catalog->node(split.host);
  const mesh::GroupReport* group = nullptr;
  if (host == nullptr || !host->node_state || !mesh::is_routable(host->reach)) {
    trouble = "the host of the split can't be reached";
  } else {
    const auto at = std::ranges::find(host->node_state->groups, split.model, &mesh::GroupReport::model);
    // A group over other nodes has yet to be replaced.
    if (at != host->node_state->groups.end() && is_over(*at, split.nodes)) group = &*at;
  }
  progress_.stage = "waiting";
  forgotten_ = false;
  if (group != nullptr) {
    // A group that was just unloaded is still in node states for a moment, because these are published with delay. A
    // node knows its own groups at once.
    const bool stands = group->stage == mesh::GroupStage::standing && group->running &&
                        (split.host != view->self || is_ready_here(*view, split.model));
    if (stands && looked_) return Result<bool>(true);
    progress_.stage = group->stage == mesh::GroupStage::standing ? "loading" : std::string(name_of(group->stage));
    if (group->stage == mesh::GroupStage::waiting) trouble = group->refusal;
  } else if (view->allotment && trouble.empty()) {
    const auto& allocation = view->allotment->allocation;
    for (const auto* missing : {&allocation.unserved, &allocation.unsplit}) {
      const auto unserved = std::ranges::find(*missing, split.model, &mesh::Unserved::model);
      if (unserved != missing->end()) trouble = unserved->why;
    }
    forgotten_ = std::ranges::none_of(host->node_state->split_orders, [&](const mesh::SplitOrder& order) {
      return order.model == split.model && order.nodes == split.nodes;
    });
    if (forgotten_) trouble = fmt::format("the host {} was restarted, or got another order", host->node_state->name);
  }
  const auto now = context_.timers.now();
  if (trouble.empty()) {
    if (group != nullptr) troubled_.reset();
    if (group != nullptr) return std::nullopt;
    trouble = "the split was not started";
  }
  if (!troubled_) troubled_ = now;
  if (now - *troubled_ < (forgotten_ ? kForgotten : kPatience)) return std::nullopt;
  Error error(make_error_code(fleet::errc::nowhere), fmt::format("'{}' isn't split: {}", model_->name.value(), trouble),
              "split");
  return std::unexpected(std::move(error));
}

}  // namespace corral::api
