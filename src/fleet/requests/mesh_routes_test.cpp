// Names of models that others have, and the node that a request goes to.
#include "fleet/requests/mesh_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/timer.h"
#include "base/secret.h"
#include "fleet/base/errors.h"
#include "mesh/support_for_tests.h"
#include "models/errors.h"

namespace corral::fleet {
namespace {

using testing::HasSubstr;

class MeshRoutesTest : public testing::Test {
 protected:
  static mesh::NodeId id(unsigned number) { return mesh::test_key(number).id(); }
  static Sha256 hash(unsigned char fill) {
    Sha256 made{};
    made.fill(fill);
    return made;
  }
  static mesh::ModelOnDisk model(std::string name, unsigned char content = 0) {
    mesh::ModelOnDisk made;
    made.name = std::move(name);
    made.recipe = "llamacpp";
    made.bytes = 1 << 20;
    made.predicted = 2 << 20;
    made.context_trained = 4096;
    made.context_usable = 2048;
    made.architecture = "llama";
    if (content != 0) made.hash = hash(content);
    return made;
  }
  // Node 0 is this one.
  mesh::NodeState& at(unsigned number) {
    auto& state = states_[number];
    if (state.name.empty()) {
      state.name = "node" + std::to_string(number);
      state.memory = {{.name = "cpu", .total = 1 << 30, .free = 1 << 29, .lent = 1 << 30}};
    }
    return state;
  }
  void serve(unsigned number, const std::string& name) {
    at(number).serving.push_back({.name = name, .context = 1024, .slots = 4});
  }
  void publish() {
    std::vector<mesh::KnownNode> known;
    for (const auto& [number, state] : states_) {
      const auto reach = number == 0             ? mesh::Reach::own
                         : away.contains(number) ? mesh::Reach::away
                                                 : mesh::Reach::linked;
      const auto word = std::make_shared<mesh::NodeState>(state);
      const bool speaks = !silent.contains(number) && !starting.contains(number);
      known.push_back({id(number), reach, Millis(1), speaks ? word : nullptr});
      known.back().since = began;
      if (starting.contains(number)) known.back().before = word;
      if (silent.contains(number)) known.back().expected_until = timers.now() + std::chrono::seconds(10);
    }
    catalog = mesh::make_catalog(std::move(known));
  }
  Result<SelectedNode> choose(const models::ModelInfo& wanted, std::vector<unsigned> not_these = {},
                              std::uint64_t conversation = 0) {
    std::map<mesh::NodeId, std::string> avoid;
    for (const auto number : not_these) avoid[id(number)] = "it failed";
    const std::map<mesh::NodeId, std::uint32_t> busy;
    return routes.choose({wanted, conversation, avoid, busy});
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  const MonoTime began = timers.now();
  std::set<unsigned> away, starting, silent;
  std::shared_ptr<const mesh::Catalog> catalog;
  MeshRoutes routes{[this] { return catalog; }, timers};

 private:
  std::map<unsigned, mesh::NodeState> states_;
};

TEST_F(MeshRoutesTest, InNoMeshThereIsNothing) {
  const auto found = routes.find("m");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, models::errc::model_not_found);
  models::ModelInfo wanted;
  wanted.name = ModelName("m");
  EXPECT_EQ(choose(wanted).error().code, errc::nowhere);
}

TEST_F(MeshRoutesTest, AModelOfOthersIsFoundWithWhatTheySayOfIt) {
  at(0);
  at(1).models = {model("m", 7)};
  publish();
  const auto found = routes.find("m");
  ASSERT_TRUE(found) << found.error().message;
  const auto* far = as_remote_model(**found);
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->name.value(), "m");
  EXPECT_EQ(far->traits.architecture, "llama");
  EXPECT_EQ(far->traits.context_length, 4096u);
  EXPECT_EQ(far->here_as, "");
  EXPECT_TRUE(far->paths.empty());
  EXPECT_THAT(far->at, testing::ElementsAre("node1"));
  const auto chosen = choose(**found);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->node, id(1));
  EXPECT_EQ(chosen->node_name, "node1");
  EXPECT_EQ(chosen->model, "m");
  EXPECT_EQ(chosen->content, to_hex(hash(7)));
  EXPECT_EQ(chosen->context, 2048u);
  EXPECT_EQ(routes.find("other").error().code, models::errc::model_not_found);
}

TEST_F(MeshRoutesTest, ANameThatMeansTwoThingsListsThem) {
  at(0);
  at(1).models = {model("m", 7)};
  at(2).models = {model("m", 8)};
  publish();
  const auto found = routes.find("m");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::ambiguous_model);
  EXPECT_EQ(kind_of(found.error().code), ErrorKind::conflict);
  EXPECT_THAT(found.error().message, HasSubstr("m@07070707"));
  EXPECT_THAT(found.error().message, HasSubstr("m@08080808"));
  const auto exact = routes.find("m@08080808");
  ASSERT_TRUE(exact) << exact.error().message;
  const auto chosen = choose(**exact);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->node, id(2));
  EXPECT_EQ(chosen->model, "m");
}

TEST_F(MeshRoutesTest, WhatANodeHasThatIsAwayComesBack) {
  at(0);
  at(1).models = {model("m", 7)};
  away.insert(1);
  timers.advance(std::chrono::seconds(3));
  publish();
  const auto found = routes.find("m");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_reach);
  EXPECT_EQ(kind_of(found.error().code), ErrorKind::unavailable);
  EXPECT_EQ(found.error().message, "'m' is on node1, which has been unreachable for 3 s");
  EXPECT_EQ(found.error().retry_after, std::chrono::seconds(1));
  timers.advance(std::chrono::minutes(10));
  EXPECT_THAT(routes.find("m").error().message, HasSubstr("for 10 min"));
  EXPECT_EQ(routes.find("m").error().retry_after, std::chrono::seconds(30));
  EXPECT_EQ(routes.find("n").error().code, models::errc::model_not_found);
}

// It said in its life before that it has it, and in this one not yet what it has.
TEST_F(MeshRoutesTest, WhatANodeHadThatJustStartsIsKnown) {
  at(0);
  at(1).models = {model("m", 7)};
  starting.insert(1);
  publish();
  const auto found = routes.find("m");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_reach);
  EXPECT_THAT(found.error().message, HasSubstr("node1, which has just started"));
  EXPECT_EQ(found.error().retry_after, std::chrono::seconds(1));
  // Who has it besides serves it.
  at(2).models = {model("m", 7)};
  publish();
  const auto other = routes.find("m");
  ASSERT_TRUE(other) << other.error().message;
  const auto chosen = choose(**other);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->node, id(2));
}

// A wish for what only a node has that is away.
TEST_F(MeshRoutesTest, AWishHidesNobodyThatIsAway) {
  at(0).wants = {{"m", "org/m:Q4"}};
  at(1).models = {model("m", 7)};
  away.insert(1);
  publish();
  EXPECT_EQ(routes.find("m").error().code, errc::out_of_reach);
  at(1).models.clear();
  publish();
  EXPECT_EQ(routes.find("m").error().code, models::errc::model_not_found);
}

TEST_F(MeshRoutesTest, ANodeThatKnowsNobodyYetDoesNotSayThatThereIsNothing) {
  at(0);
  at(1);
  silent.insert(1);
  publish();
  const auto found = routes.find("m");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::out_of_reach);
  EXPECT_THAT(found.error().message, HasSubstr(mesh::short_text(id(1))));
  EXPECT_EQ(found.error().retry_after, std::chrono::seconds(1));
  timers.advance(std::chrono::seconds(10));
  EXPECT_EQ(routes.find("m").error().code, models::errc::model_not_found);
}

// A request that was begun for one content is never answered by another one of that name.
TEST_F(MeshRoutesTest, ARequestStaysWithItsContent) {
  at(0);
  at(1).models = {model("m", 7)};
  publish();
  const auto wanted = *routes.find("m");
  at(1).models = {model("m", 8)};
  at(2).models = {model("renamed", 7)};
  publish();
  auto chosen = choose(*wanted);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->node, id(2));
  EXPECT_EQ(chosen->model, "renamed");
  at(2).models.clear();
  publish();
  chosen = choose(*wanted);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, errc::nowhere);  // there is such a model, so it isn't unknown
  EXPECT_TRUE(chosen.error().retry_after);
}

TEST_F(MeshRoutesTest, AConversationStaysAtItsHostUntilThatFails) {
  at(0);
  for (const unsigned node : {1, 2, 3}) {
    at(node).models = {model("m", 7)};
    serve(node, "m");
  }
  publish();
  const auto wanted = *routes.find("m");
  for (std::uint64_t conversation = 1; conversation < 20; ++conversation) {
    const auto first = choose(*wanted, {}, conversation);
    ASSERT_TRUE(first);
    for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(choose(*wanted, {}, conversation)->node, first->node);
    unsigned host = 0;
    for (const unsigned node : {1, 2, 3})
      if (id(node) == first->node) host = node;
    const auto second = choose(*wanted, {host}, conversation);
    ASSERT_TRUE(second);
    EXPECT_NE(second->node, first->node);
    EXPECT_EQ(choose(*wanted, {}, conversation)->node, second->node);
    EXPECT_FALSE(second->alone);
  }
  EXPECT_TRUE(choose(*wanted, {1, 2})->alone);
  const auto no_node = choose(*wanted, {1, 2, 3});
  ASSERT_FALSE(no_node);
  EXPECT_EQ(no_node.error().code, errc::nowhere);
}

TEST_F(MeshRoutesTest, OwnModelsThatHaveNoRoomGoToOthersOfTheSameContent) {
  at(0).models = {model("m", 7)};
  at(1).models = {model("m", 7)};
  publish();
  models::ModelInfo own;
  own.name = ModelName("m");
  own.recipe = "llamacpp";
  const auto chosen = choose(own);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->node, id(1));
  EXPECT_EQ(as_remote_model(**routes.find("m@07070707"))->here_as, "m");
}

// Copies are made for people and for the allocation, never for a request.
TEST_F(MeshRoutesTest, WhatFitsNowhereThatHasItIsRefusedThoughAnotherNodeTakesCopies) {
  at(0);
  at(1).models = {model("m", 1)};
  at(1).models[0].may_copy = true;
  at(1).memory[0].total = at(1).memory[0].free = at(1).memory[0].lent = 1024;
  at(2).disk_free = 1 << 30;
  at(2).takes_copies = true;
  publish();
  const auto far = routes.find("m");
  ASSERT_TRUE(far);
  const auto refused = choose(**far);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::nowhere);
  EXPECT_THAT(refused.error().message, HasSubstr("node1: the model needs"));
  EXPECT_TRUE(refused.error().retry_after);
  // Once it is there, requests go there.
  at(2).models = at(1).models;
  publish();
  const auto chosen = choose(**far);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->node, id(2));
}

}  // namespace
}  // namespace corral::fleet
