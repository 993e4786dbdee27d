#include "backends/context_prediction.h"

#include <gtest/gtest.h>

#include "base/context_size.h"

namespace corral::backends {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

models::ModelInfo agent_model() {
  models::ModelInfo model;
  model.size = Bytes(kGiB);
  model.traits.context_length = 131'072;
  model.traits.cache_values = 65'536;  // 128 KiB as f16
  return model;
}

LoadOptions with_context(std::int64_t tokens) {
  LoadOptions options;
  options.ctx_size = tokens;
  return options;
}

TEST(PredictedContext, IsWhatWasAskedForAsTheEngineMakesIt) {
  EXPECT_EQ(predicted_context(agent_model(), with_context(4096), {}, 0), 4096u);
  EXPECT_EQ(predicted_context(agent_model(), with_context(1000), {}, 0), 1024u);
  EXPECT_EQ(predicted_context(agent_model(), with_context(1'000'000), {}, 0), 131'072u);
}

TEST(PredictedContext, IsDividedAmongRequestsIfThatIsAskedFor) {
  auto options = with_context(1000);
  options.parallel = 3;
  options.kv_unified = false;
  EXPECT_EQ(predicted_context(agent_model(), options, {}, 0), 512u);
  options.ctx_size = 100;
  EXPECT_EQ(predicted_context(agent_model(), options, {}, 0), 256u);
  auto model = agent_model();
  model.type = ModelType::embedding;
  EXPECT_EQ(predicted_context(model, options, {}, 0), 256u);
  options.ctx_size = 1000;
  EXPECT_EQ(predicted_context(model, options, {}, 0), 1024u);
}

TEST(PredictedContext, IsAutomaticByTheMemoryBesideTheWeights) {
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), {}, 0), kFirstContext);
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), {}, 17 * kGiB), 49'152u);
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), {}, 8 * kGiB), 32'768u);
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), {}, kGiB / 2), kFirstContext);
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), {}, 64 * kGiB), 131'072u);
}

TEST(EstimatedMemory, IsTheFilesAndTheContext) {
  const auto context = 4096 * (131'072 + 8192);
  EXPECT_EQ(estimated_memory(agent_model(), with_context(4096)), kGiB + context);
  EXPECT_GT(estimated_memory(agent_model(), with_context(-1)), kGiB);
}

TEST(PredictedContext, CellsOfASmallerKindAreMore) {
  LoadOptions options = with_context(-1);
  options.cache_type_k = options.cache_type_v = "q8_0";
  EXPECT_EQ(predicted_context(agent_model(), options, {}, 17 * kGiB), 98'304u);
}

TEST(PredictedContext, WhatWasMeasuredGoesBeforeTheFile) {
  MemoryEstimate estimate;
  estimate.devices.push_back({.device = "cpu", .weights = kGiB, .kv = 8192 * 32'768ull, .compute = 0});
  EXPECT_EQ(predicted_context(agent_model(), with_context(-1), estimate, 9 * kGiB), 131'072u);
}

TEST(PredictedContext, OthersThanChatModelsHaveWhatTheyBeginWith) {
  auto model = agent_model();
  model.type = ModelType::embedding;
  EXPECT_EQ(predicted_context(model, with_context(-1), {}, 64 * kGiB), kFirstContext);
  model.traits.context_length = 512;
  EXPECT_EQ(predicted_context(model, with_context(-1), {}, 64 * kGiB), 512u);
}

}  // namespace
}  // namespace corral::backends
