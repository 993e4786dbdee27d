#include "fleet/own_statement.h"

#include <gmock/gmock.h>

namespace corral::fleet {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class OwnStatementTest : public testing::Test {
 protected:
  OwnStatementTest() {
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
  void serve(residency::ServerState state, Millis idle) {
    router::ServerReport server;
    auto spec = std::make_shared<residency::ModelSpec>();
    spec->name = ModelName("m");
    server.view.spec = spec;
    server.view.state = state;
    server.view.idle = idle;
    server.facts.memory_bytes = 1ull << 30;
    facts.report.servers = {server};
  }
  mesh::Statement said() const { return make_statement(options, facts, {{"10.0.0.1", 8100}}); }

  NodeOptions options;
  MachineFacts facts;
};

TEST_F(OwnStatementTest, TellsModelsMemoryAndWhere) {
  const auto statement = said();
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

TEST_F(OwnStatementTest, WhatMovesAllTheTimeIsNoNews) {
  serve(residency::ServerState::ready, Millis(61'000));
  const auto before = said();
  facts.memory[0].available += 4096;
  serve(residency::ServerState::ready, Millis(90'000));
  EXPECT_EQ(said(), before);
  serve(residency::ServerState::ready, Millis(130'000));
  EXPECT_NE(said(), before);
}

TEST_F(OwnStatementTest, WhatIsServedHasAStateAndWhatMayGoIsCounted) {
  serve(residency::ServerState::ready, Millis(61'000));
  EXPECT_EQ(said().serving.at(0).state, mesh::ServingState::ready);
  EXPECT_EQ(said().memory[0].evictable, 1ull << 30);
  serve(residency::ServerState::ready, Millis(59'000));
  EXPECT_EQ(said().memory[0].evictable, 0u);
  serve(residency::ServerState::loading, Millis(0));
  EXPECT_EQ(said().serving.at(0).state, mesh::ServingState::loading);
  serve(residency::ServerState::draining, Millis(0));
  EXPECT_EQ(said().serving.at(0).state, mesh::ServingState::draining);
  serve(residency::ServerState::evicting, Millis(0));
  EXPECT_THAT(said().serving, IsEmpty());
}

TEST_F(OwnStatementTest, AClientLendsNothingAndTellsNoModels) {
  options.role = mesh::Role::client;
  EXPECT_THAT(said().models, IsEmpty());
  EXPECT_EQ(said().memory[0].lent, 0u);
  options.role = mesh::Role::member;
  options.lend_memory = 0.5;
  EXPECT_EQ(said().memory[0].lent, 8ull << 30);
  options.copies = false;
  EXPECT_FALSE(said().models[0].may_copy);
}

TEST_F(OwnStatementTest, BeforeTheFirstLookItTellsAName) {
  facts = {};
  EXPECT_EQ(said().name, "box");
  EXPECT_THAT(said().models, IsEmpty());
}

}  // namespace
}  // namespace corral::fleet
