#include "fleet/allotment/allot_losses.h"

#include <algorithm>

#include "fleet/base/own_names.h"
#include "fleet/base/renamed_keys.h"

namespace corral::fleet {

using mesh::ContentKey;

namespace {

constexpr Millis kLeftIdle{60'000};  // a local model that ends after this idle time counts as unused

}  // namespace

bool AllotLosses::look_at_models(const mesh::Catalog& catalog, const std::vector<LentModel>& all, Millis idle_unload,
                                 MonoTime now) {
  std::map<ContentKey, MonoTime> lent;
  std::set<ContentKey> moving;
  for (const auto& model : all) {
    const auto content = own_content(catalog, model.name.value(), own_);
    if (!content) continue;
    if (model.ready) lent.emplace(*content, now - model.idle);
    if (!model.ready) moving.insert(*content);
  }
  const auto* own = catalog.node(own_);
  const auto is_there = [&](const ContentKey& content) {
    if (moving.contains(content) || own == nullptr || !own->node_state) return true;
    return std::ranges::any_of(own->node_state->serving,
                               [&](const auto& served) { return own_content(catalog, served.name, own_) == content; });
  };
  bool marked = false;
  std::map<ContentKey, MonoTime> leaving;
  for (const auto& [content, used] : lent_) {
    if (lent.contains(content)) continue;
    if (moving.contains(content)) {
      leaving.emplace(content, used);
    } else if (given_back_.erase(content) == 0 && !is_there(content)) {  // otherwise the owner uses it now
      rest_or_decline(content, used, idle_unload, now);
      marked = true;
    }
  }
  lent_ = std::move(lent);
  lent_.merge(leaving);
  return look_at_owners(catalog, moving, now) || marked;
}

// If a local model of the owner ends after it was idle, the mesh doesn't load it again without new demand.
bool AllotLosses::look_at_owners(const mesh::Catalog& catalog, const std::set<ContentKey>& moving, MonoTime now) {
  const auto* own = catalog.node(own_);
  if (own == nullptr || !own->node_state) return false;
  std::map<ContentKey, MonoTime> owners;
  std::set<ContentKey> there = moving;
  for (const auto& served : own->node_state->serving) {
    const auto content = own_content(catalog, served.name, own_);
    if (!content) continue;
    there.insert(*content);
    if (!served.lent) owners.emplace(*content, now - Millis(served.idle_ms));
  }
  bool marked = false;
  for (const auto& [content, used] : owners_) {
    if (there.contains(content) || now - used < kLeftIdle) continue;
    marks_.rest(content, now);
    marked = true;
  }
  owners_ = std::move(owners);
  return marked;
}

bool AllotLosses::look_at_hosted(const GroupControl& control, Millis idle_unload, MonoTime now) {
  std::map<ContentKey, Group> groups;
  for (const auto& group : control.hosted()) {
    const bool stands = group.running && group.state == mesh::GroupHost::State::standing;
    const auto before = groups_.find(group.plan.model);
    // A group that is started again keeps its mark.
    groups[group.plan.model] = {stands || (before != groups_.end() && before->second.running),
                                now - Millis(group.idle_ms)};
  }
  bool marked = false;
  for (const auto& [model, group] : groups_) {
    if (groups.contains(model)) continue;
    // An order remains, and the group is made again when possible.
    if (ended_.erase(model) > 0) continue;
    // It was unloaded, or evicted for the owner, and its order ends with it.
    marked = marked || marks_.is_split(model) || group.running;
    marks_.end_split(model);
    if (group.running) rest_or_decline(model, group.used, idle_unload, now);
  }
  groups_ = std::move(groups);
  return marked;
}

// A group is lost if its host is gone, or announces that it waits again. A host that ends a group no longer announces
// it.
void AllotLosses::look_at_groups(const mesh::Catalog& catalog, mesh::HashedSince& hashed,
                                 std::span<const mesh::NodeId> lost, MonoTime now) {
  std::erase_if(lost_, [now](const auto& one) { return now - one.second >= kRemembered; });
  std::erase_if(stood_, [&](const auto& one) {
    const auto& [model, host] = one;
    const auto* node = catalog.node(host);
    const bool there = node != nullptr && mesh::is_routable(node->reach);
    if (!there) {
      const bool gone = node == nullptr || std::ranges::binary_search(lost, host);
      if (gone) lost_[model] = now;
      return gone;
    }
    if (!node->node_state) return false;
    const auto group = std::ranges::find_if(node->node_state->groups,
                                            [&](const auto& report) { return hashed(report.model) == model; });
    const bool ended = group == node->node_state->groups.end();
    const bool waits = !ended && group->stage == mesh::GroupStage::waiting;
    if (waits) lost_[model] = now;
    return ended || waits;
  });
  for (const auto& node : catalog.nodes()) {
    if (!node.node_state || !mesh::is_routable(node.reach)) continue;
    for (const auto& group : node.node_state->groups) {
      if (group.stage != mesh::GroupStage::standing) continue;
      const auto model = hashed(group.model);
      stood_[model] = node.id;
      if (group.running) lost_.erase(model);
    }
  }
}

void AllotLosses::follow_hashes(mesh::HashedSince& hashed) {
  rename_keys(hashed, owners_);
  rename_keys(hashed, lent_);
  rename_keys(hashed, given_back_);
  rename_keys(hashed, groups_);
  rename_keys(hashed, ended_);
  rename_keys(hashed, stood_);
  rename_keys(hashed, lost_);
}

void AllotLosses::hosted(const ContentKey& model) {
  ended_.erase(model);
  groups_.try_emplace(model);  // the group may end before the next comparison
}

std::optional<MonoTime> AllotLosses::last_use_of_lent(const ContentKey& model) const {
  const auto found = lent_.find(model);
  return found == lent_.end() ? std::nullopt : std::optional(found->second);
}

void AllotLosses::rest_or_decline(const ContentKey& model, MonoTime used, Millis idle_unload, MonoTime now) {
  if (now - used + kIdleSlack >= idle_unload) {
    marks_.rest(model, now);
  } else {
    marks_.decline(model, now);
  }
}

}  // namespace corral::fleet
