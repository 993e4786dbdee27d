// The allocation at this node, and orders of administrators for this and other nodes.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "fleet/allotment/allot_split.h"
#include "fleet/allotment/assign_forecast.h"
#include "fleet/allotment/router_allot_actions.h"
#include "fleet/base/errors.h"
#include "fleet/base/own_names.h"
#include "fleet/node/member_runtime.h"
#include "mesh/catalog/split_orders.h"
#include "mesh/identity/errors.h"
#include "models/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

const mesh::MeshModel* model_of(const mesh::Catalog& catalog, const mesh::ContentKey& content) {
  const auto models = catalog.models();
  const auto at = std::ranges::find(models, content, &mesh::MeshModel::content);
  return at == models.end() ? nullptr : &*at;
}

// The node hosts the model as a split, or has an order to.
bool hosts(const mesh::NodeState& state, const mesh::ContentKey& content) {
  const auto is_it = [&](const auto& one) { return one.model == content; };
  return std::ranges::any_of(state.groups, is_it) || std::ranges::any_of(state.split_orders, is_it);
}

// The node holds the model for the mesh, or hosts it.
bool lends(const mesh::NodeState& state, const mesh::MeshModel& model, const mesh::NodeId& node) {
  if (hosts(state, model.content)) return true;
  return std::ranges::any_of(model.copies, [&](const mesh::ModelCopy& copy) {
    return copy.node->id == node && copy.serving != nullptr && copy.serving->lent;
  });
}

// The nodes where a model's group ends when `host` hosts it.
std::vector<mesh::NodeId> other_hosts(const mesh::Catalog& catalog, const mesh::ContentKey& model,
                                      const mesh::NodeId& host) {
  std::vector<mesh::NodeId> others;
  for (const auto& node : catalog.nodes()) {
    if (node.id == host || !node.node_state || !mesh::is_routable(node.reach)) continue;
    if (hosts(*node.node_state, model)) others.push_back(node.id);
  }
  return others;
}

std::unexpected<Error> just_left() { return fail(errc::no_mesh, "this node has just left the mesh"); }

}  // namespace

AllotterOptions MemberRuntime::allotter_options() const {
  return {.idle_unload = std::max(options_.idle_unload, Millis(1000)), .assigned_at_start = options_.assigned_at_start};
}

std::string MemberRuntime::kept_orders() const {
  auto text = read_state_file(orders_file_->path());
  if (!text) log::warning("mesh", "the orders of this node are lost: {}", text.error().message);
  return text && *text ? std::move(**text) : std::string();
}

void MemberRuntime::keep_orders(std::string text) {
  orders_file_->write(std::move(text), [](const Result<>& kept) {
    if (!kept)
      log::error("mesh", "can't save the orders of this node, they will be lost at a restart: {}",
                 kept.error().message);
  });
}

std::unique_ptr<Allotter> MemberRuntime::make_allotter(const AllotConfig& config) {
  const auto write = [](const std::filesystem::path& file, std::string_view text) {
    return write_state_file(file, text);
  };
  orders_file_ = std::make_unique<KeptFile>(executor_, timers_, *config.disk, options_.folder / kOrdersFile, write);
  AllotterParts parts{
      .own = own_.id(),
      .timers = timers_,
      .actions = *config.actions,
      .groups = group_control_.get(),
      .copy = [this](const mesh::MeshModel& model, bool ordered) { return copy_for_allocation(model, ordered); },
      .catalog = [this] { return gossip_.catalog(); },
      .lent = [this] { return facts_ ? lent_models(facts_->report) : std::vector<LentModel>(); },
      .kept = kept_orders(),
      .keep = [this](std::string text) { keep_orders(std::move(text)); },
      .on_change = [this] { announce(); },
      .on_new_view = [this] { on_change_(); },
      .on_look = [this] { publish_splits(); }};
  return std::make_unique<Allotter>(executor_, std::move(parts), allotter_options());
}

void MemberRuntime::look_at_allocation() const {
  if (allotter_) allotter_->look();
}

Result<> MemberRuntime::copy_for_allocation(const mesh::MeshModel& model, bool ordered) {
  if (!copies_ || model.content.pending) return fail(mesh::errc::not_offered, "the model can't be copied yet", "model");
  const auto started = ordered ? copies_->order(model) : copy_unasked(model);
  announce_copies();
  return started ? Result<>() : std::unexpected(started.error());
}

// A child process without work gets the same sandbox as a worker.
Task<void> MemberRuntime::look_for_fences() {
  auto looking = inspector_->examine();
  const auto found = co_await std::move(looking);
  works_ = found && may_work(*found);
  if (facts_) announce();
}

Result<> MemberRuntime::obey_order(const mesh::NodeId& from, const AllotAsk& ask) {
  if (!allotter_) return fail(errc::no_mesh, "this node holds no models for the mesh");
  if (!options_.admin) {
    return fail(errc::not_admin_here,
                "it accepts no orders from administrators of other nodes: run the command there, or set mesh_admin = "
                "true there",
                "node");
  }
  log::info("mesh", "carrying out an order of an administrator of {}", name_of(from));
  return carry_out(ask);
}

Result<> MemberRuntime::carry_out(const AllotAsk& ask) {
  if (!allotter_) return fail(errc::no_mesh, "this node holds no models for the mesh");
  if (options_.role == mesh::Role::client && ask.command != AllotCommand::release)
    return fail(errc::lends_nothing, "it lends nothing (its mesh_role is client)", "node");
  const auto catalog = gossip_.catalog();
  if (ask.content && model_of(*catalog, *ask.content) == nullptr)
    return fail(models::errc::model_not_found, "it knows no node with this model", "model");
  switch (ask.command) {
    case AllotCommand::assign:
      allotter_->assign(AllotMarks::Named{ask.name, ask.content});
      return {};
    case AllotCommand::nothing:
      allotter_->assign(std::nullopt);
      return {};
    case AllotCommand::release:
      allotter_->release();
      return {};
    case AllotCommand::unload:
      if (auto may = may_take_away(*ask.content, ask.name); !may) return may;
      allotter_->unload({&*ask.content, 1});
      return {};
    case AllotCommand::split:
      return allotter_->split(*ask.content, ask.nodes, ask.stamp);
    case AllotCommand::end_split:
      allotter_->end_split(*ask.content);
      return {};
  }
  return {};
}

std::shared_ptr<MemberRuntime::AllotReply> MemberRuntime::order(const mesh::NodeId& node, AllotAsk ask) {
  auto reply = std::make_shared<AllotReply>(executor_);
  reply->node = name_of(node);
  if (*ends_) {
    reply->result = just_left();
    reply->done.set();
  } else if (node == own_.id()) {
    reply->result = carry_out(ask);
    if (!reply->result && reply->result.error().code == errc::assigned)
      reply->result.error().message = fmt::format("{}: {}", reply->node, reply->result.error().message);
    reply->done.set();
  } else {
    reply->result = just_left();
    tasks_.spawn("mesh: order", take_reply(node, std::move(ask), reply));
  }
  return reply;
}

Task<void> MemberRuntime::take_reply(mesh::NodeId node, AllotAsk ask, std::shared_ptr<AllotReply> into) {
  // Also if this node leaves the mesh meanwhile.
  struct SetDone {
    AllotReply& reply;
    ~SetDone() { reply.done.set(); }
  };
  const SetDone set_done{*into};
  auto asking = orders_.ask(node, std::move(ask));
  auto answer = co_await std::move(asking);
  if (!answer) answer.error().message = fmt::format("{}: {}", into->node, answer.error().message);
  into->result = std::move(answer);
}

Task<Result<std::string>> MemberRuntime::assign(std::string node, AllotCommand command, std::string model) {
  const auto id = find(node);
  if (!id) co_return std::unexpected(id.error());
  AllotAsk ask{.command = command};
  std::string waits_for;
  if (command == AllotCommand::assign) {
    const auto catalog = gossip_.catalog();
    const auto found = find_model(*catalog, model);
    if (!found) co_return std::unexpected(found.error());
    ask.name = (*found)->name;
    ask.content = (*found)->content;
    if (const auto view = allotter_ ? allotter_->view() : nullptr)
      waits_for = why_assigned_waits(view->situation, view->rules, *id, *ask.content);
  }
  const auto reply = order(*id, std::move(ask));
  co_await reply->done.wait();
  if (!reply->result) co_return std::unexpected(reply->result.error());
  co_return waits_for;
}

Task<Result<MemberRuntime::Unloading>> MemberRuntime::unload(std::string model) {
  struct Asked {
    std::shared_ptr<AllotReply> reply;
    bool has = false;  // holds the model for the mesh, or hosts it
  };
  std::vector<Asked> asked;
  {
    const auto catalog = gossip_.catalog();
    const auto found = find_model(*catalog, model);
    if (!found) co_return std::unexpected(found.error());
    const AllotAsk ask{.command = AllotCommand::unload, .name = (*found)->name, .content = (*found)->content};
    for (const auto& node : catalog->nodes()) {
      const bool own = node.id == own_.id();
      if (own ? options_.role == mesh::Role::client : !mesh::is_routable(node.reach)) continue;
      const bool has = node.node_state && lends(*node.node_state, **found, node.id);
      // This node gets the order in any case: its mark keeps the model unloaded at all nodes.
      if (own || has) asked.push_back({order(node.id, ask), has});
    }
  }
  Unloading unloading;
  for (const auto& [reply, has] : asked) {
    co_await reply->done.wait();
    if (reply->result && has) unloading.accepted.push_back(reply->node);
    if (!reply->result) unloading.refused.push_back(reply->result.error());
  }
  co_return unloading;
}

Result<> MemberRuntime::may_take_away(const mesh::ContentKey& content, std::string_view name) {
  if (!allotter_ || !allotter_->is_assigned(content)) return {};
  return fail(errc::assigned,
              fmt::format("it is assigned to {} and keeps it: free it first with `corral mesh assign {} auto`", name,
                          name_of(own_.id())),
              "model");
}

Task<Result<>> MemberRuntime::may_unload(ModelName model) {
  const auto catalog = gossip_.catalog();
  const auto content = own_content(*catalog, model.value(), own_.id());
  auto may = content ? may_take_away(*content, model.value()) : Result<>();
  if (!may) may.error().message = fmt::format("{}: {}", name_of(own_.id()), may.error().message);
  co_return may;
}

Task<Result<>> MemberRuntime::unloaded_here(std::vector<ModelName> models) {
  if (!allotter_) co_return Result<>();
  const auto catalog = gossip_.catalog();
  std::vector<mesh::ContentKey> contents;
  for (const auto& model : models) {
    if (const auto content = own_content(*catalog, model.value(), own_.id())) contents.push_back(*content);
  }
  allotter_->unload(contents);
  co_return Result<>();
}

Task<Result<MemberRuntime::Split>> MemberRuntime::split(std::string model, std::vector<std::string> nodes) {
  std::vector<mesh::NodeId> ids;
  for (const auto& node : nodes) {
    const auto found = find(node);
    if (!found) co_return std::unexpected(found.error());
    ids.push_back(*found);
  }
  const auto catalog = gossip_.catalog();
  const auto found = find_model(*catalog, model);
  if (!found) co_return std::unexpected(found.error());
  const auto content = (*found)->content;
  // An existing host of this split stays its host: free memory changes all the time.
  auto host = host_over(*catalog, content, ids);
  if (!host) {
    const auto plan = plan_by_hand(make_situation(*catalog, timers_.now()), content, ids);
    if (!plan) co_return std::unexpected(plan.error());
    host = plan->host;
  }
  const auto others = other_hosts(*catalog, content, *host);
  const auto begun = order(*host, {.command = AllotCommand::split,
                                   .name = (*found)->name,
                                   .content = content,
                                   .nodes = ids,
                                   .stamp = mesh::next_stamp(*catalog, content)});
  const auto ends = ends_;
  co_await begun->done.wait();
  if (!begun->result) co_return std::unexpected(begun->result.error());
  std::ranges::sort(ids);
  Split split{*host, content, std::move(ids)};
  const AllotAsk end{.command = AllotCommand::end_split, .content = content};
  for (const auto& other : others) {
    if (*ends) co_return just_left();
    const auto ended = order(other, end);
    co_await ended->done.wait();
    if (ended->result) continue;
    // The group of that node remains, so the new one is ended: there must not be two.
    if (!*ends) {
      const auto taken_back = order(*host, end);
      co_await taken_back->done.wait();
    }
    co_return std::unexpected(ended->result.error());
  }
  co_return split;
}

Task<Result<>> MemberRuntime::end_split(Split split) {
  const auto reply = order(split.host, {.command = AllotCommand::end_split, .content = split.model});
  co_await reply->done.wait();
  co_return reply->result;
}

}  // namespace corral::fleet
