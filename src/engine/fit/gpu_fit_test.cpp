// What is asked of GPUs; how many layers they have room for: memory_pools_test.cpp.
#include "engine/fit/gpu_fit.h"

#include "engine/fit/memory_estimate.h"
#include "engine/llama/devices.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(GpuFit, WhoeverSaysHowManyLayersGetsThem) {
  ASSERT_TRUE(load_backends());
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_gpu_layers = 1;
  ASSERT_TRUE(fit_to_gpus(options, MemoryScope::free));
  EXPECT_FALSE(*fit_to_gpus(options, MemoryScope::free));
  options.n_gpu_layers = -1;
  options.fit = false;
  EXPECT_FALSE(*fit_to_gpus(options, MemoryScope::free));
  options.fit = true;
  options.backend = "cpu";
  EXPECT_FALSE(*fit_to_gpus(options, MemoryScope::altogether)) << "no GPU is asked for";
}

TEST(GpuFit, ATinyModelGoesOnGpusWithAllLayersWhereThereAreSome) {
  ASSERT_TRUE(load_backends());
  const auto fitted = fit_to_gpus(load_options("tiny-llama"), MemoryScope::altogether);
  ASSERT_TRUE(fitted) << fitted.error().message;
  if (gpus_of(found_devices(), "").empty()) {
    EXPECT_FALSE(*fitted);
  } else if (*fitted) {  // one that has memory of its own
    EXPECT_EQ((**fitted).gpu_layers, -1);
  }
}

TEST(GpuFit, WithoutGpusTheEstimateIsTheOneOfTheLoad) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.backend = "cpu";
  auto fitted = estimate_fitted(options), plain = estimate_memory(options);
  ASSERT_TRUE(fitted && plain);
  fitted->process = plain->process = 0;  // what earlier tests left in this one comes and goes
  EXPECT_EQ(*fitted, *plain);
}

TEST(GpuFit, ErrorsAreThoseOfTheLoad) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.devices = {"NOSUCH0"};
  EXPECT_EQ(estimate_fitted(options).error().param, "devices");
  options = {};
  options.path = "/nowhere/model.gguf";
  EXPECT_FALSE(estimate_fitted(options));
}

}  // namespace
}  // namespace corral::engine::test
