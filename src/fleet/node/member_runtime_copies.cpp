// Copies of models to this node and to others: orders of users and of the allocation.
#include <algorithm>

#include <fmt/format.h>

#include "base/secret.h"
#include "fleet/base/errors.h"
#include "fleet/base/not_found.h"
#include "fleet/copies/copy_rules.h"
#include "fleet/node/member_runtime.h"
#include "mesh/identity/errors.h"
#include "models/errors.h"

namespace corral::fleet {

std::optional<DiskModel> MemberRuntime::on_disk(const Sha256& content) const {
  if (!facts_ || !facts_->catalog) return std::nullopt;
  for (const auto& model : facts_->catalog->models()) {
    const auto known = facts_->contents.find(model->name);
    if (known == facts_->contents.end() || known->second != content) continue;
    DiskModel found{
        .name = model->name.value(), .source = {}, .paths = model->paths, .has_projector = !model->mmproj.empty()};
    // The checkpoint of the user's own files is a path, which is private.
    if (!model->checkpoint.starts_with('/')) found.source = model->checkpoint;
    if (found.has_projector) found.paths.push_back(model->mmproj);
    if (hashes_of_) found.hashes = hashes_of_(*model);
    return found;
  }
  return std::nullopt;
}

Result<const mesh::MeshModel*> MemberRuntime::find_model(const mesh::Catalog& catalog, std::string_view name) const {
  const auto found = catalog.find(name);
  // The catalog also finds models that some node wants and no node has.
  if (found.model != nullptr && found.away.empty()) return found.model;
  return std::unexpected(why_not_found(catalog, name, found, timers_.now()));
}

async::Task<Result<CopyView>> MemberRuntime::copy(std::string model) {
  if (!copies_) co_return fail(errc::no_mesh, "this node has no storage for copies");
  const auto catalog = gossip_.catalog();
  const auto found = find_model(*catalog, model);
  if (!found) co_return std::unexpected(found.error());
  auto ordered = copies_->order(**found);
  announce_copies();
  co_return ordered;
}

Result<CopyView> MemberRuntime::copy_unasked(const mesh::MeshModel& model) {
  if (!options_.takes_copies()) {
    return fail(errc::not_admin_here, "this node accepts no automatic copies (mesh_auto_copy is off)", "node");
  }
  const auto catalog = gossip_.catalog();
  for (const auto& node : catalog->nodes()) {
    if (node.reach == mesh::Reach::own || !mesh::is_routable(node.reach) || !node.node_state) continue;
    if (node.node_state->copy_by_allocation(model.content.bytes) != nullptr)
      return fail(mesh::errc::too_many, fmt::format("{} copies the model already", name_of(node.id)), "model");
  }
  // The host of a split needs the file, too.
  const auto allotment = allotter_ ? allotter_->view() : nullptr;
  const bool hosts = allotment && std::ranges::any_of(allotment->allocation.splits, [&](const auto& split) {
                       return split.model == model.content && split.plan.host == own_.id();
                     });
  const auto* self = catalog->node(own_.id());
  if (self == nullptr || (!hosts && !fits_lent_memory(*self, model)))
    return fail(errc::nowhere, "the model needs more memory than this node lends", "model");
  return copies_->order_for_allocation(model, facts_ ? facts_->disk_free : 0);
}

async::Task<Result<>> MemberRuntime::cancel_copy(std::string model) {
  if (copies_) {
    for (const auto& copy : copies_->list()) {
      if (copy.model != model && !to_hex(copy.content).starts_with(model)) continue;
      copies_->cancel(copy.content);
      on_change_();
      co_return Result<>();
    }
  }
  co_return fail(models::errc::model_not_found, fmt::format("there is no copy of '{}'", model), "model");
}

}  // namespace corral::fleet
