#include "fleet/view/mesh_changes.h"

#include <algorithm>
#include <map>

namespace corral::fleet {
namespace {

using Kind = MeshChange::Kind;

std::map<std::string, std::string_view, std::less<>> models_of(const MeshView& view) {
  std::map<std::string, std::string_view, std::less<>> models;
  if (!view.catalog) return models;
  for (const auto& model : view.catalog->models()) models.emplace(model.name, mesh::name_of(model.status));
  return models;
}

MeshChange of_node(Kind kind, const NodeView& node) {
  MeshChange change{.kind = kind};
  change.node = node.name;
  return change;
}

void compare_nodes(const MeshView& before, const MeshView& after, std::vector<MeshChange>& changes) {
  for (const auto& node : after.nodes) {
    if (node.reach == mesh::Reach::own) continue;
    const auto* old = before.find(node.id);
    if (old == nullptr) changes.push_back(of_node(Kind::admitted, node));
    const bool was = old != nullptr && mesh::is_routable(old->reach), is = mesh::is_routable(node.reach);
    if (was == is) continue;
    auto change = of_node(is ? Kind::reachable : Kind::away, node);
    if (!is) change.cause = node.last_end;
    changes.push_back(std::move(change));
  }
  for (const auto& node : before.nodes) {
    if (node.reach != mesh::Reach::own && after.find(node.id) == nullptr)
      changes.push_back(of_node(Kind::removed, node));
  }
}

void compare_models(const MeshView& before, const MeshView& after, std::vector<MeshChange>& changes) {
  if (before.catalog == after.catalog) return;
  const auto old = models_of(before), now = models_of(after);
  const auto add = [&](const std::string& model, std::string_view from, std::string_view to) {
    MeshChange change{.kind = Kind::model};
    change.model = model;
    change.from = from;
    change.to = to;
    changes.push_back(std::move(change));
  };
  for (const auto& [model, status] : now) {
    const auto was = old.find(model);
    if (was == old.end()) {
      add(model, {}, status);
    } else if (was->second != status) {
      add(model, was->second, status);
    }
  }
  for (const auto& [model, status] : old)
    if (!now.contains(model)) add(model, status, {});
}

// The cause of a failure may contain folders of this machine, so events do not contain it.
void compare_copies(const MeshView& before, const MeshView& after, std::vector<MeshChange>& changes) {
  const auto add = [&](const CopyView& copy, std::string_view from, std::string_view to) {
    MeshChange change{.kind = Kind::copy};
    change.model = copy.model;
    change.from = from;
    change.to = to;
    changes.push_back(std::move(change));
  };
  const auto find = [](const MeshView& view, const Sha256& content) {
    const auto at = std::ranges::find(view.copies, content, &CopyView::content);
    return at == view.copies.end() ? nullptr : &*at;
  };
  for (const auto& copy : after.copies) {
    const auto* old = find(before, copy.content);
    if (old == nullptr || old->state != copy.state)
      add(copy, old != nullptr ? name_of(old->state) : std::string_view(), name_of(copy.state));
  }
  // Ended copies disappear from the list at some time.
  for (const auto& copy : before.copies) {
    const bool ended = copy.state == CopyState::done || copy.state == CopyState::failed;
    if (!ended && find(after, copy.content) == nullptr) add(copy, name_of(copy.state), {});
  }
}

void compare_groups(const MeshView& before, const MeshView& after, std::vector<MeshChange>& changes) {
  const auto add = [&](const std::string& model, const std::string& from, const std::string& to,
                       const std::string& cause) {
    MeshChange change{.kind = Kind::group};
    change.model = model;
    change.from = from;
    change.to = to;
    change.cause = cause;
    changes.push_back(std::move(change));
  };
  const auto find = [](const MeshView& view, const mesh::ContentKey& content) {
    const auto at = std::ranges::find(view.groups, content, &GroupView::content);
    return at == view.groups.end() ? nullptr : &*at;
  };
  for (const auto& group : after.groups) {
    const auto* old = find(before, group.content);
    if (old == nullptr || old->status != group.status || old->problem != group.problem)
      add(group.model, old != nullptr ? old->status : std::string(), group.status, group.problem);
  }
  for (const auto& group : before.groups)
    if (find(after, group.content) == nullptr) add(group.model, group.status, {}, {});
}

void compare_shares(const MeshView& before, const MeshView& after, std::vector<MeshChange>& changes) {
  const auto add = [&](const MeshView& view, const ShareView& share, const std::string& from, const std::string& to) {
    MeshChange change{.kind = Kind::share};
    change.node = view.name_of(share.host);
    change.model = share.model;
    change.from = from;
    change.to = to;
    change.cause = share.problem;
    changes.push_back(std::move(change));
  };
  const auto &old = before.share, &now = after.share;
  const bool same = old && now && old->host == now->host && old->model == now->model;
  if (old && !same) add(before, *old, old->status, {});
  if (!now || (same && old->status == now->status && old->problem == now->problem)) return;
  add(after, *now, same ? old->status : std::string(), now->status);
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::status:
      return "status";
    case Kind::admitted:
      return "admitted";
    case Kind::removed:
      return "removed";
    case Kind::reachable:
      return "reachable";
    case Kind::away:
      return "away";
    case Kind::model:
      return "model";
    case Kind::copy:
      return "copy";
    case Kind::group:
      return "group";
    case Kind::share:
      return "share";
  }
  return "";
}

std::vector<MeshChange> changes_between(const MeshView& before, const MeshView& after) {
  std::vector<MeshChange> changes;
  if (before.phase != after.phase) {
    MeshChange change{.kind = Kind::status};
    change.from = name_of(before.phase);
    change.to = name_of(after.phase);
    change.cause = after.problem;
    changes.push_back(std::move(change));
  }
  compare_nodes(before, after, changes);
  compare_models(before, after, changes);
  compare_copies(before, after, changes);
  compare_groups(before, after, changes);
  compare_shares(before, after, changes);
  return changes;
}

}  // namespace corral::fleet
