#include "fleet/view/mesh_changes.h"

#include <gmock/gmock.h>

namespace corral::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

mesh::NodeId id(std::uint8_t number) {
  mesh::NodeId made;
  made.bytes[0] = number;
  return made;
}

NodeView node(std::uint8_t number, mesh::Reach reach) {
  NodeView made{.id = id(number)};
  made.name = std::string(1, static_cast<char>('a' + number));
  made.reach = reach;
  made.last_end = "silent";
  return made;
}

MeshView view(std::vector<NodeView> nodes) {
  MeshView made;
  made.phase = MeshPhase::member;
  made.nodes = std::move(nodes);
  return made;
}

std::vector<std::string> changes(const MeshView& before, const MeshView& after) {
  std::vector<std::string> texts;
  for (const auto& change : changes_between(before, after)) {
    std::string text(name_of(change.kind));
    for (const auto& part : {change.node, change.model, change.from, change.to, change.cause})
      if (!part.empty()) text += " " + part;
    texts.push_back(text);
  }
  return texts;
}

TEST(MeshChanges, NothingIsToldOfTheSame) {
  const auto same = view({node(0, mesh::Reach::own), node(1, mesh::Reach::linked)});
  EXPECT_THAT(changes(same, same), IsEmpty());
}

TEST(MeshChanges, NodesComeGoAndAreThrownOut) {
  const auto alone = view({node(0, mesh::Reach::own)});
  const auto with = view({node(0, mesh::Reach::own), node(1, mesh::Reach::linked)});
  const auto cut = view({node(0, mesh::Reach::own), node(1, mesh::Reach::away)});
  EXPECT_THAT(changes(alone, with), ElementsAre("admitted b", "reachable b"));
  EXPECT_THAT(changes(with, cut), ElementsAre("away b silent"));
  EXPECT_THAT(changes(cut, with), ElementsAre("reachable b"));
  EXPECT_THAT(changes(with, alone), ElementsAre("removed b"));
  EXPECT_THAT(changes(MeshView(), alone), ElementsAre("status none member"));
}

TEST(MeshChanges, ModelsComeAreServedAndGo) {
  const auto with = [](std::optional<mesh::ServingState> serving, bool there) {
    auto made = view({node(0, mesh::Reach::own)});
    mesh::NodeState node_state;
    node_state.memory.push_back({.name = "ram", .total = 1 << 30, .free = 1 << 30, .lent = 1 << 30});
    mesh::ModelOnDisk model;
    model.name = "m";
    model.bytes = 1;
    if (there) node_state.models.push_back(model);
    if (serving) {
      mesh::ServedModel served;
      served.name = "m";
      served.state = *serving;
      node_state.serving.push_back(served);
    }
    made.catalog = mesh::make_catalog({{.id = id(0),
                                        .reach = mesh::Reach::own,
                                        .round_trip = {},
                                        .node_state = std::make_shared<const mesh::NodeState>(node_state)}});
    return made;
  };
  EXPECT_THAT(changes(with({}, false), with({}, true)), ElementsAre("model m unloaded"));
  EXPECT_THAT(changes(with({}, true), with(mesh::ServingState::ready, true)), ElementsAre("model m unloaded ready"));
  EXPECT_THAT(changes(with(mesh::ServingState::ready, true), with({}, false)), ElementsAre("model m ready"));
}

TEST(MeshChanges, CopiesAreToldByTheirState) {
  const auto with = [](std::vector<CopyState> states) {
    auto made = view({node(0, mesh::Reach::own)});
    for (const auto state : states) {
      CopyView copy{.model = "m", .state = state};
      if (state == CopyState::failed) copy.problem = "why";
      copy.done = static_cast<std::uint64_t>(state);
      made.copies.push_back(copy);
    }
    return made;
  };
  EXPECT_THAT(changes(with({}), with({CopyState::waiting})), ElementsAre("copy m waiting"));
  EXPECT_THAT(changes(with({CopyState::waiting}), with({CopyState::copying})), ElementsAre("copy m waiting copying"));
  EXPECT_THAT(changes(with({CopyState::copying}), with({CopyState::failed})), ElementsAre("copy m copying failed"));
  EXPECT_THAT(changes(with({CopyState::copying}), with({})), ElementsAre("copy m copying"));
  EXPECT_THAT(changes(with({CopyState::done}), with({})), IsEmpty());
  EXPECT_THAT(changes(with({CopyState::copying}), with({CopyState::copying})), IsEmpty());
}

TEST(MeshChanges, GroupsOfThisNodeAndWhatOthersHaveOfItsMemory) {
  const auto alone = view({node(0, mesh::Reach::own), node(1, mesh::Reach::linked)});
  auto loading = alone, ready = alone, waiting = alone;
  loading.groups = {{.model = "m", .content = {}, .status = "loading", .progress = 0.3}};
  ready.groups = {{.model = "m", .content = {}, .status = "ready"}};
  waiting.groups = {{.model = "m", .content = {}, .status = "waiting", .problem = "no"}};
  EXPECT_THAT(changes(alone, loading), ElementsAre("group m loading"));
  EXPECT_THAT(changes(loading, ready), ElementsAre("group m loading ready"));
  EXPECT_THAT(changes(ready, ready), IsEmpty());
  EXPECT_THAT(changes(ready, waiting), ElementsAre("group m ready waiting no"));
  EXPECT_THAT(changes(waiting, alone), ElementsAre("group m waiting"));
  auto starting = alone, other = alone;
  starting.share = ShareView{.model = "m", .host = id(1), .status = "starting"};
  other.share = ShareView{.model = "n", .host = id(1), .status = "ready"};
  EXPECT_THAT(changes(alone, starting), ElementsAre("share b m starting"));
  EXPECT_THAT(changes(starting, other), ElementsAre("share b m starting", "share b n ready"));
  EXPECT_THAT(changes(other, alone), ElementsAre("share b n ready"));
}

}  // namespace
}  // namespace corral::fleet
