// The small rules by themselves: moves of a server, sharing the NPU, leases, faults.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "residency/lease_table.h"
#include "residency/npu_rule.h"
#include "residency/server_state.h"
#include "residency/state.h"

namespace corral::residency {
namespace {

constexpr ServerState kStates[] = {
    ServerState::queued,    ServerState::loading,  ServerState::ready,    ServerState::in_use, ServerState::downsizing,
    ServerState::downsized, ServerState::draining, ServerState::evicting, ServerState::gone,   ServerState::failed};
static_assert(std::size(kStates) == kServerStateCount);

TEST(ServerStates, ChildrenMayEndByThemselvesAtAnyTime) {
  for (ServerState state : kStates) {
    const bool has_child = takes_slot(state);
    EXPECT_EQ(may_move(state, ServerState::failed), has_child) << name_of(state);
  }
}

TEST(ServerStates, NothingLeavesTheEnd) {
  for (ServerState to : kStates) {
    EXPECT_FALSE(may_move(ServerState::gone, to));
    EXPECT_FALSE(may_move(ServerState::failed, to));
  }
}

TEST(ServerStates, OnlyLoadsAndDrainingServersAreToldToStop) {
  for (ServerState state : kStates) {
    const bool may = state == ServerState::loading || state == ServerState::draining;
    EXPECT_EQ(may_move(state, ServerState::evicting), may) << name_of(state);
  }
}

ModelSpec on_npu(const char* recipe, ModelType type) {
  ModelSpec spec;
  spec.recipe = recipe;
  spec.type = type;
  spec.device = Device::npu;
  spec.npu = npu_use(recipe, spec.device);
  return spec;
}

TEST(NpuRule, IsSymmetric) {
  std::vector<ModelSpec> specs{ModelSpec{}};
  for (const char* recipe : {"flm", "ryzenai-llm", "oga-hybrid", "whispercpp"}) {
    for (ModelType type : kModelTypes) specs.push_back(on_npu(recipe, type));
  }
  for (const ModelSpec& a : specs) {
    for (const ModelSpec& b : specs) EXPECT_EQ(may_share_npu(a, b), may_share_npu(b, a)) << a.recipe << " " << b.recipe;
  }
}

TEST(NpuRule, FlmSharesBetweenOneLlmOneTranscriptionAndOneEmbedding) {
  const ModelType sharing[] = {ModelType::llm, ModelType::transcription, ModelType::embedding};
  for (ModelType a : kModelTypes) {
    for (ModelType b : kModelTypes) {
      const bool may = a != b && std::ranges::count(sharing, a) > 0 && std::ranges::count(sharing, b) > 0;
      EXPECT_EQ(may_share_npu(on_npu("flm", a), on_npu("flm", b)), may) << name_of(a) << " " << name_of(b);
    }
  }
}

TEST(NpuRule, PolicyFollowsRecipeAndEffectiveDevice) {
  EXPECT_EQ(npu_use("flm", Device::npu), NpuPolicy::coexist);
  EXPECT_EQ(npu_use("ryzenai-llm", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(npu_use("oga-npu", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(npu_use("oga-hybrid", Device::gpu | Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(npu_use("whispercpp", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(npu_use("whispercpp", Device::cpu), NpuPolicy::none);
  EXPECT_EQ(npu_use("llamacpp", Device::gpu), NpuPolicy::none);
  EXPECT_EQ(npu_use("oga-cpu", Device::cpu), NpuPolicy::none);
  EXPECT_EQ(npu_use("sd-cpp", Device::gpu), NpuPolicy::none);
}

TEST(LeaseTable, AReturnedLeaseIsNeverKnownAgain) {
  LeaseTable table;
  Server server;
  const LeaseId first = table.take(server);
  EXPECT_EQ(table.give_back(first).server, &server);
  const LeaseId second = table.take(server);  // the same slot
  EXPECT_NE(first, second);
  EXPECT_EQ(table.give_back(first).server, nullptr);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.give_back(second).server, &server);
  EXPECT_EQ(table.give_back(LeaseId(12345)).server, nullptr);
  EXPECT_EQ(table.give_back(LeaseId()).server, nullptr);
}

TEST(LeaseTable, ADeadServersLeasesEndAndOthersStay) {
  LeaseTable table;
  Server dead;
  Server alive;
  const LeaseId lost = table.take(dead);
  const LeaseId kept = table.take(alive);
  table.drop_all(dead);
  EXPECT_EQ(table.give_back(lost).server, nullptr);
  EXPECT_EQ(table.give_back(kept).server, &alive);
}

TEST(LoadFaults, FaultsOfTheModelItselfAreNotRetried) {
  for (LoadFault fault : {LoadFault::file_not_found, LoadFault::invalid, LoadFault::never_fits}) {
    EXPECT_FALSE(worth_a_retry(fault)) << name_of(fault);
  }
  for (LoadFault fault : {LoadFault::out_of_memory, LoadFault::crashed, LoadFault::deadline, LoadFault::other}) {
    EXPECT_TRUE(worth_a_retry(fault)) << name_of(fault);
  }
}

}  // namespace
}  // namespace corral::residency
