#include "fleet/announce/own_node_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace corral::fleet {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

class OwnNodeStateTest : public testing::Test {
 protected:
  OwnNodeStateTest() {
    options.name = "box";
    models::ModelInfo info;
    info.name = ModelName("m");
    info.paths = {"/models/m.gguf"};
    info.checkpoint = "/models/m.gguf";
    info.size = Bytes(1000);
    std::vector<models::ModelInfo> all = {info};
    facts.catalog = std::make_shared<const models::Catalog>(std::move(all), std::vector<models::Problem>(),
                                                            std::vector<models::Problem>());
    facts.memory.push_back({.id = "ram", .name = "RAM", .total = 16ull << 30, .available = (8ull << 30) + 12'345});
  }
  void serve(residency::InstanceState state, Millis idle) {
    router::InstanceReport instance;
    auto spec = std::make_shared<residency::ModelSpec>();
    spec->name = ModelName("m");
    instance.view.spec = spec;
    instance.view.state = state;
    instance.view.idle = idle;
    instance.facts.memory_bytes = 1ull << 30;
    facts.report.instances = {instance};
  }
  mesh::NodeState state() const { return make_node_state(options, facts, {{"10.0.0.1", 8100}}); }

  NodeOptions options;
  MachineFacts facts;
};

TEST_F(OwnNodeStateTest, TellsModelsMemoryAndWhere) {
  const auto statement = state();
  EXPECT_EQ(statement.name, "box");
  ASSERT_THAT(statement.models, SizeIs(1));
  EXPECT_EQ(statement.models[0].name, "m");
  EXPECT_EQ(statement.models[0].checkpoint, "") << "a path is nobody else's business";
  EXPECT_FALSE(statement.models[0].hash);
  EXPECT_TRUE(statement.models[0].may_copy);
  ASSERT_THAT(statement.memory, SizeIs(1));
  EXPECT_EQ(statement.memory[0].free, 8ull << 30);
  EXPECT_EQ(statement.memory[0].lent, 16ull << 30);
  EXPECT_THAT(statement.addresses, SizeIs(1));
}

// With mesh_models = "*" every node would have loaded it.
TEST_F(OwnNodeStateTest, AModelOfAnInstalledProgramIsNoModelOfTheMesh) {
  auto model = std::make_shared<models::ModelInfo>();
  model->name = ModelName("espeak-ng");
  model->installed = true;
  facts.catalog = std::make_shared<const models::Catalog>(
      std::vector<models::ModelInfo>{*model}, std::vector<models::Problem>(), std::vector<models::Problem>());
  serve(residency::InstanceState::ready, Millis(0));
  facts.report.instances[0].model = model;
  const auto statement = state();
  EXPECT_THAT(statement.models, IsEmpty());
  EXPECT_THAT(statement.serving, IsEmpty());
}

TEST_F(OwnNodeStateTest, WhatMovesAllTheTimeIsNoNews) {
  serve(residency::InstanceState::ready, Millis(61'000));
  const auto before = state();
  facts.memory[0].available += 4096;
  serve(residency::InstanceState::ready, Millis(90'000));
  EXPECT_EQ(state(), before);
  serve(residency::InstanceState::ready, Millis(130'000));
  EXPECT_NE(state(), before);
}

// Told as a second and then as a minute, a model with a limit of 15 s was unloaded after a minute.
TEST_F(OwnNodeStateTest, TheIdleLimitIsAStep) {
  const auto announced_idle = [&](Millis idle) {
    serve(residency::InstanceState::ready, idle);
    return state().serving.at(0).idle_ms;
  };
  options.idle_unload = Millis(15'000);
  EXPECT_EQ(announced_idle(Millis(14'999)), 1'000u);
  EXPECT_EQ(announced_idle(Millis(15'000)), 15'000u);
  EXPECT_EQ(announced_idle(Millis(59'999)), 15'000u);
  EXPECT_EQ(announced_idle(Millis(60'000)), 60'000u);
  options.idle_unload = Millis(30 * 60'000);
  EXPECT_EQ(announced_idle(Millis(30 * 60'000 - 1)), 16 * 60'000u);
  EXPECT_EQ(announced_idle(Millis(30 * 60'000)), 30 * 60'000u);
  EXPECT_EQ(announced_idle(Millis(31 * 60'000)), 30 * 60'000u);
  EXPECT_EQ(announced_idle(Millis(32 * 60'000)), 32 * 60'000u);
}

TEST_F(OwnNodeStateTest, WhatIsServedHasAStateAndWhatMayGoIsCounted) {
  serve(residency::InstanceState::ready, Millis(61'000));
  EXPECT_EQ(state().serving.at(0).state, mesh::ServingState::ready);
  EXPECT_EQ(state().memory[0].evictable, 1ull << 30);
  serve(residency::InstanceState::ready, Millis(59'000));
  EXPECT_EQ(state().memory[0].evictable, 0u);
  serve(residency::InstanceState::loading, Millis(0));
  EXPECT_EQ(state().serving.at(0).state, mesh::ServingState::loading);
  serve(residency::InstanceState::draining, Millis(0));
  EXPECT_EQ(state().serving.at(0).state, mesh::ServingState::draining);
  serve(residency::InstanceState::evicting, Millis(0));
  EXPECT_THAT(state().serving, IsEmpty());
}

TEST_F(OwnNodeStateTest, AClientLendsNothingAndTellsNoModels) {
  options.role = mesh::Role::client;
  EXPECT_THAT(state().models, IsEmpty());
  EXPECT_EQ(state().memory[0].lent, 0u);
  options.role = mesh::Role::member;
  options.lend_memory = 0.5;
  EXPECT_EQ(state().memory[0].lent, 8ull << 30);
  options.copies = false;
  EXPECT_FALSE(state().models[0].may_copy);
}

TEST_F(OwnNodeStateTest, BeforeTheFirstLookItTellsAName) {
  EXPECT_FALSE(state().looking);
  facts = {};
  EXPECT_EQ(state().name, "box");
  EXPECT_THAT(state().models, IsEmpty());
  EXPECT_TRUE(state().looking);
}

TEST_F(OwnNodeStateTest, TellsWhatItsOwnerAndItsClientsWant) {
  options.wants = parse_wants("org/repo:Q4_K_M  other m other");
  facts.demand = {{"m", 8}};
  const auto statement = state();
  ASSERT_THAT(statement.wants, SizeIs(3));
  EXPECT_EQ(statement.wants[0], (mesh::WantedModel{"m", ""}));
  EXPECT_EQ(statement.wants[1], (mesh::WantedModel{"org/repo:Q4_K_M", "org/repo:Q4_K_M"}));
  EXPECT_EQ(statement.wants[2].name, "other");
  EXPECT_EQ(statement.demand, facts.demand);
  options.role = mesh::Role::client;  // who only asks wants something, too
  EXPECT_EQ(state().demand, facts.demand);
  EXPECT_EQ(state().wants, statement.wants);
}

TEST_F(OwnNodeStateTest, AStarWantsAllThatIsHere) {
  options.wants = parse_wants("* other");
  std::vector<std::string> names{"other"};
  for (const auto& model : state().models) names.push_back(model.name);
  std::vector<std::string> wanted;
  for (const auto& model : state().wants) wanted.push_back(model.name);
  EXPECT_THAT(wanted, UnorderedElementsAreArray(names));
  options.wants = parse_wants(fmt::format("* {}", state().models[0].name));
  EXPECT_THAT(state().wants, SizeIs(state().models.size()));
  facts = {};
  EXPECT_THAT(state().wants, SizeIs(1));
}

TEST_F(OwnNodeStateTest, TellsTheMemoryThatAModelTakesInSteps) {
  facts.contexts[ModelName("m")] = {.usable = 4096, .memory = (3ull << 30) - 5};
  EXPECT_EQ(state().models[0].predicted, 3ull << 30);
  facts.contexts.clear();
  EXPECT_EQ(state().models[0].predicted, 0u);
}

TEST_F(OwnNodeStateTest, TellsHowItsModelsCouldBeSplit) {
  models::ModelInfo info = *facts.catalog->models().front();
  info.traits.layers = 4;
  info.traits.weights = models::WeightBytes{800, 200};
  std::vector<models::ModelInfo> all = {info};
  facts.catalog = std::make_shared<const models::Catalog>(std::move(all), std::vector<models::Problem>(),
                                                          std::vector<models::Problem>());
  facts.contexts[ModelName("m")] = {.usable = 4096, .cache = 40, .compute = 7};
  const auto model = state().models[0];
  EXPECT_EQ(model.layers, 4u);
  EXPECT_EQ(model.layer_bytes, 200u);
  EXPECT_EQ(model.cache_bytes, 10u);
  EXPECT_EQ(model.ends_bytes, 200u);
  EXPECT_EQ(model.compute_bytes, 7u);
  EXPECT_EQ(model.split_context, 8192u);
  EXPECT_EQ(model.max_context, 8192u);
}

TEST_F(OwnNodeStateTest, AWorkerTakesCopiesAndAClientNever) {
  EXPECT_FALSE(state().takes_copies);
  options.auto_copy = true;
  EXPECT_TRUE(state().takes_copies);
  options.role = mesh::Role::client;
  EXPECT_FALSE(state().takes_copies);
  options.auto_copy = false;
  options.role = mesh::Role::worker;
  EXPECT_TRUE(state().takes_copies);
}

TEST(RoleOf, WhoJoinsWithoutModelsIsAWorkerUnlessItSaysOtherwise) {
  EXPECT_EQ(role_of("auto", true), mesh::Role::worker);
  EXPECT_EQ(role_of("auto", false), mesh::Role::member);
  EXPECT_EQ(role_of("member", true), mesh::Role::member);
  EXPECT_EQ(role_of("client", true), mesh::Role::client);
  EXPECT_EQ(role_of("worker", false), mesh::Role::worker);
}

}  // namespace
}  // namespace corral::fleet
