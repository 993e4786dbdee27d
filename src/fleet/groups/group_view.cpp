#include "fleet/groups/group_view.h"

#include <algorithm>

namespace corral::fleet {

using State = mesh::GroupHost::State;

GroupView view_of(const GroupRunner::Hosted& hosted, std::string model) {
  GroupView view{.model = std::move(model), .content = hosted.plan.model, .status = std::string(name_of(hosted.state))};
  if (hosted.running) {
    view.status = "ready";
  } else if (hosted.state == State::standing) {
    view.status = hosted.under_way ? "loading" : "waiting";
  }
  const auto& split = hosted.plan.split;
  for (const auto& share : split.shares) view.parts.push_back({share.node, share.layers, share.total()});
  view.tokens_per_second = split.tokens_per_second();
  view.load_seconds = split.load_s;
  view.progress = hosted.load_progress;
  view.by_hand = hosted.by_hand;
  view.problem = hosted.refusal;
  return view;
}

ShareView view_of(const GroupRunner::Shared& shared) {
  const auto* status = shared.reaping ? "ending" : shared.ready ? "ready" : "starting";
  return {shared.model_name, shared.host, status, shared.bytes, shared.problem};
}

SplitStatus split_status_of(const GroupRunner::Hosted& hosted) {
  SplitStatus status;
  status.model = hosted.plan.model;
  status.name = hosted.name;
  status.state = hosted.running ? SplitStatus::State::standing : SplitStatus::State::making;
  if (hosted.running || hosted.under_way || !hosted.wrong_since) return status;
  status.state = SplitStatus::State::stuck;
  status.since = *hosted.wrong_since;
  status.why = hosted.refusal;
  return status;
}

namespace {

bool needs_several(const mesh::AllocationInput& situation, const mesh::ContentKey& content) {
  const auto model = std::ranges::find(situation.models, content, &mesh::AllocationModel::content);
  return model != situation.models.end() && mesh::needs_several(situation, *model);
}

}  // namespace

std::vector<SplitStatus> split_status_of(const Allotment& allotment) {
  std::vector<SplitStatus> all;
  for (const auto& split : allotment.allocation.splits) {
    SplitStatus status;
    status.model = split.model;
    status.host = split.plan.host;
    all.push_back(std::move(status));
  }
  using mesh::UnservedReason;
  for (const auto& entry : allotment.allocation.unserved) {
    // These models only wait for a request.
    const bool on_demand = entry.reason == UnservedReason::not_asked || entry.reason == UnservedReason::resting ||
                           entry.reason == UnservedReason::ordered;
    if (!needs_several(allotment.situation, entry.model)) continue;
    SplitStatus status;
    status.model = entry.model;
    status.state = on_demand ? SplitStatus::State::coming : SplitStatus::State::unavailable;
    status.why = entry.why;
    status.need = entry.need;
    status.have = entry.have;
    all.push_back(std::move(status));
  }
  // Also a group that serves: the next moment it may be lost, and then requests wait for the next one.
  for (const auto& node : allotment.situation.nodes) {
    for (const auto& held : node.holds) {
      const bool hosts = held.use == mesh::HeldModel::Use::share && held.host == node.id;
      if (!hosts || std::ranges::find(all, held.model, &SplitStatus::model) != all.end()) continue;
      SplitStatus status;
      status.model = held.model;
      status.host = node.id;
      all.push_back(std::move(status));
    }
  }
  return all;
}

}  // namespace corral::fleet
