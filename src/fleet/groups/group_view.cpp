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

SplitNews news_of(const GroupRunner::Hosted& hosted) {
  SplitNews news;
  news.model = hosted.plan.model;
  news.name = hosted.name;
  news.state = hosted.running ? SplitNews::State::standing : SplitNews::State::making;
  if (hosted.running || hosted.under_way || !hosted.wrong_since) return news;
  news.state = SplitNews::State::stuck;
  news.since = *hosted.wrong_since;
  news.why = hosted.refusal;
  return news;
}

namespace {

bool needs_several(const mesh::AllocationInput& situation, const mesh::ContentKey& content) {
  const auto model = std::ranges::find(situation.models, content, &mesh::AllocationModel::content);
  return model != situation.models.end() && mesh::needs_several(situation, *model);
}

}  // namespace

std::vector<SplitNews> news_of(const Allotment& allotment) {
  std::vector<SplitNews> all;
  for (const auto& split : allotment.allocation.splits) {
    SplitNews news;
    news.model = split.model;
    news.host = split.plan.host;
    all.push_back(std::move(news));
  }
  using mesh::UnservedReason;
  for (const auto& lack : allotment.allocation.unserved) {
    // These models only wait for a request.
    const bool on_demand = lack.lack == UnservedReason::not_asked || lack.lack == UnservedReason::resting ||
                           lack.lack == UnservedReason::told;
    if (!needs_several(allotment.situation, lack.model)) continue;
    SplitNews news;
    news.model = lack.model;
    news.state = on_demand ? SplitNews::State::coming : SplitNews::State::lacking;
    news.why = lack.why;
    news.need = lack.need;
    news.have = lack.have;
    all.push_back(std::move(news));
  }
  // Also a group that serves: the next moment it may be lost, and then requests wait for the next one.
  for (const auto& node : allotment.situation.nodes) {
    for (const auto& held : node.holds) {
      const bool hosts = held.use == mesh::HeldModel::Use::share && held.host == node.id;
      if (!hosts || std::ranges::find(all, held.model, &SplitNews::model) != all.end()) continue;
      SplitNews news;
      news.model = held.model;
      news.host = node.id;
      all.push_back(std::move(news));
    }
  }
  return all;
}

}  // namespace corral::fleet
