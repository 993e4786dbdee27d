// The small rules by themselves: moves of an instance, sharing the NPU, leases, faults.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/recipe_table.h"
#include "residency/instance_state.h"
#include "residency/lease_table.h"
#include "residency/npu_rule.h"
#include "residency/state.h"

namespace corral::residency {
namespace {

constexpr InstanceState kStates[] = {InstanceState::queued,   InstanceState::loading,    InstanceState::ready,
                                     InstanceState::in_use,   InstanceState::downsizing, InstanceState::downsized,
                                     InstanceState::draining, InstanceState::evicting,   InstanceState::gone,
                                     InstanceState::failed};
static_assert(std::size(kStates) == kInstanceStateCount);

TEST(InstanceStates, ChildrenMayEndByThemselvesAtAnyTime) {
  for (InstanceState state : kStates) {
    const bool has_child = takes_slot(state);
    EXPECT_EQ(may_move(state, InstanceState::failed), has_child) << name_of(state);
  }
}

TEST(InstanceStates, NothingLeavesTheEnd) {
  for (InstanceState to : kStates) {
    EXPECT_FALSE(may_move(InstanceState::gone, to));
    EXPECT_FALSE(may_move(InstanceState::failed, to));
  }
}

TEST(InstanceStates, OnlyLoadsAndDrainingInstancesAreToldToStop) {
  for (InstanceState state : kStates) {
    const bool may = state == InstanceState::loading || state == InstanceState::draining;
    EXPECT_EQ(may_move(state, InstanceState::evicting), may) << name_of(state);
  }
}

ModelSpec on_npu(const char* recipe, ModelType type) {
  ModelSpec spec;
  spec.recipe = recipe;
  spec.type = type;
  spec.device = Device::npu;
  spec.npu = RecipeTable().npu_use(recipe, spec.device);
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
  EXPECT_EQ(RecipeTable().npu_use("flm", Device::npu), NpuPolicy::coexist);
  EXPECT_EQ(RecipeTable().npu_use("ryzenai-llm", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("oga-npu", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("oga-hybrid", Device::gpu | Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("whispercpp", Device::npu), NpuPolicy::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("whispercpp", Device::cpu), NpuPolicy::none);
  EXPECT_EQ(RecipeTable().npu_use("llamacpp", Device::gpu), NpuPolicy::none);
  EXPECT_EQ(RecipeTable().npu_use("oga-cpu", Device::cpu), NpuPolicy::none);
  EXPECT_EQ(RecipeTable().npu_use("sd-cpp", Device::gpu), NpuPolicy::none);
}

TEST(LeaseTable, AReturnedLeaseIsNeverKnownAgain) {
  LeaseTable table;
  Instance instance;
  const LeaseId first = table.take(instance);
  EXPECT_EQ(table.give_back(first).instance, &instance);
  const LeaseId second = table.take(instance);  // the same slot
  EXPECT_NE(first, second);
  EXPECT_EQ(table.give_back(first).instance, nullptr);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.give_back(second).instance, &instance);
  EXPECT_EQ(table.give_back(LeaseId(12345)).instance, nullptr);
  EXPECT_EQ(table.give_back(LeaseId()).instance, nullptr);
}

TEST(LeaseTable, ADeadInstancesLeasesEndAndOthersStay) {
  LeaseTable table;
  Instance dead;
  Instance alive;
  const LeaseId lost = table.take(dead);
  const LeaseId kept = table.take(alive);
  table.drop_all(dead);
  EXPECT_EQ(table.give_back(lost).instance, nullptr);
  EXPECT_EQ(table.give_back(kept).instance, &alive);
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
