// Copies of models to this node and to others: what people, the allocation and other nodes want of them.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/secret.h"
#include "fleet/copy_rules.h"
#include "fleet/errors.h"
#include "fleet/not_found.h"
#include "fleet/presence.h"
#include "mesh/identity/errors.h"
#include "models/errc.h"

namespace corral::fleet {

using async::Task;

namespace {

const mesh::MeshModel* find_content(const mesh::Catalog& catalog, const Sha256& content) {
  for (const auto& model : catalog.models())
    if (!model.content.pending && model.content.bytes == content) return &model;
  return nullptr;
}

}  // namespace

std::optional<DiskModel> Presence::on_disk(const Sha256& content) const {
  if (!facts_ || !facts_->catalog) return std::nullopt;
  for (const auto& model : facts_->catalog->models()) {
    const auto known = facts_->contents.find(model->name);
    if (known == facts_->contents.end() || known->second != content) continue;
    DiskModel found{
        .name = model->name.value(), .source = {}, .paths = model->paths, .has_projector = !model->mmproj.empty()};
    // Of one's own files the checkpoint is the path, which is nobody else's business.
    if (!model->checkpoint.starts_with('/')) found.source = model->checkpoint;
    if (found.has_projector) found.paths.push_back(model->mmproj);
    if (hashes_of_) found.hashes = hashes_of_(*model);
    return found;
  }
  return std::nullopt;
}

Result<const mesh::MeshModel*> Presence::find_model(const mesh::Catalog& catalog, std::string_view name) const {
  const auto found = catalog.find(name);
  // One that somebody wants, and nobody is known to have, is found as well.
  if (found.model != nullptr && found.away.empty()) return found.model;
  return std::unexpected(why_not_found(catalog, name, found, timers_.now()));
}

Result<CopyView> Presence::copy(std::string_view model) {
  if (!copies_) return fail(errc::no_mesh, "this node keeps no copies");
  const auto catalog = gossip_.catalog();
  const auto found = find_model(*catalog, model);
  if (!found) return std::unexpected(found.error());
  auto ordered = copies_->order(**found);
  tell_of_copies();
  return ordered;
}

Result<std::shared_ptr<Presence::CopyReply>> Presence::copy_at(const mesh::NodeId& node, std::string_view model) {
  const auto catalog = gossip_.catalog();
  const auto found = find_model(*catalog, model);
  if (!found) return std::unexpected(found.error());
  if ((*found)->content.pending) {
    return fail(mesh::errc::not_offered,
                fmt::format("the content of '{}' is just being hashed where it is: try again in a while", model),
                "model");
  }
  return ask_of_copy(node, CopyWish::by_admin, (*found)->content.bytes);
}

std::shared_ptr<Presence::CopyReply> Presence::copy_state_at(const mesh::NodeId& node, const Sha256& content) {
  return ask_of_copy(node, CopyWish::tell, content);
}

std::shared_ptr<Presence::CopyReply> Presence::ask_of_copy(const mesh::NodeId& node, CopyWish wish,
                                                           const Sha256& content) {
  auto reply = std::make_shared<CopyReply>(executor_);
  tasks_.spawn("mesh: copy elsewhere", take_reply(node, wish, content, reply));
  return reply;
}

Task<void> Presence::take_reply(mesh::NodeId node, CopyWish wish, Sha256 content, std::shared_ptr<CopyReply> into) {
  // Also when this node leaves the mesh meanwhile.
  struct Told {
    CopyReply& reply;
    ~Told() { reply.done.set(); }
  };
  const Told told{*into};
  auto asking = errands_.ask(node, wish, content);
  auto answer = co_await std::move(asking);
  if (answer) {
    answer->to = node;
  } else {
    answer.error().message = fmt::format("{}: {}", name_of(node), answer.error().message);
  }
  into->result = std::move(answer);
}

Result<CopyView> Presence::obey(const mesh::NodeId& from, const CopyAsk& ask) {
  if (!copies_) return fail(errc::no_mesh, "this node keeps no copies");
  if (ask.wish == CopyWish::tell) {
    if (const auto* copy = copies_->view_of(ask.content)) return told_to(from, *copy, options_.admin);
    return fail(models::errc::model_not_found, "there is no such copy: it was given up there");
  }
  if (!options_.admin) {
    return fail(errc::not_admin_here,
                "it takes no orders from administrators of other nodes: run corral mesh pull MODEL there, or set "
                "mesh_admin = true there",
                "node");
  }
  log::info("mesh", "an administrator of {} orders a copy", name_of(from));
  const auto catalog = gossip_.catalog();
  const auto* model = find_content(*catalog, ask.content);
  if (model == nullptr) return fail(mesh::errc::not_offered, "it knows no node that has this model", "model");
  auto ordered = copies_->order(*model, from);
  tell_of_copies();
  return ordered;
}

Result<CopyView> Presence::copy_unasked(const mesh::MeshModel& model) {
  if (!options_.takes_copies()) {
    return fail(errc::not_admin_here, "this node lets the mesh copy no models to it (its setting mesh_auto_copy)",
                "node");
  }
  const auto catalog = gossip_.catalog();
  for (const auto& node : catalog->nodes()) {
    if (node.reach == mesh::Reach::own || !mesh::is_routable(node.reach) || !node.said) continue;
    if (node.said->copy_by_allocation(model.content.bytes) != nullptr)
      return fail(mesh::errc::too_many, fmt::format("{} copies it already", name_of(node.id)), "model");
  }
  // The host of a split needs the file, too.
  const auto allotment = allotter_ ? allotter_->view() : nullptr;
  const bool hosts = allotment && std::ranges::any_of(allotment->allocation.splits, [&](const auto& split) {
                       return split.model == model.content && split.plan.host == own_.id();
                     });
  const auto* self = catalog->node(own_.id());
  if (self == nullptr || (!hosts && !fits_lent_memory(*self, model)))
    return fail(errc::nowhere, "the model takes more memory than this node has for it", "model");
  return copies_->order_for_allocation(model, facts_ ? facts_->disk_free : 0);
}

Result<> Presence::cancel_copy(std::string_view model) {
  if (copies_) {
    for (const auto& copy : copies_->list()) {
      if (copy.model != model && !to_hex(copy.content).starts_with(model)) continue;
      copies_->cancel(copy.content);
      on_change_();
      return {};
    }
  }
  return fail(models::errc::model_not_found, fmt::format("there is no copy of '{}'", model), "model");
}

}  // namespace corral::fleet
