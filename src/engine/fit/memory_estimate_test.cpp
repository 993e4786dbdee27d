// Predictions against what libllama then really allocates, and the causes of loads that don't fit.
#include "engine/fit/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/llama/context_params.h"
#include "engine/llama/llama_internal.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Buffers of a model that was loaded for real, with one context of its options.
struct Allocated {
  std::uint64_t weights = 0, kv = 0, compute = 0;
};
Allocated allocate(const EngineLoadOptions& options) {
  const auto model = Model::load(options, {});
  EXPECT_TRUE(model) << model.error().message;
  const auto params = context_params(**model, options, {});
  EXPECT_TRUE(params);
  llama_context* const context = llama_init_from_model((*model)->handle(), *params);
  EXPECT_NE(context, nullptr);
  Allocated sum;
  for (const auto& [type, bytes] : llama_get_memory_breakdown(context)) {
    sum.weights += bytes.model;
    sum.kv += bytes.context;
    sum.compute += bytes.compute;
  }
  llama_free(context);
  return sum;
}

class EstimateOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, EstimateOf,
                         testing::Values("tiny-llama", "tiny-llama-q8_0", "tiny-qwen3", "tiny-moe", "tiny-mamba",
                                         "tiny-jamba", "tiny-gemma3", "tiny-gpt-oss", "tiny-embed", "tiny-rerank",
                                         "tiny-split-00001-of-00002"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

TEST_P(EstimateOf, BuffersAreTheOnesThatAreAllocated) {
  ASSERT_TRUE(load_backends());
  EngineLoadOptions options = load_options(GetParam());
  options.n_gpu_layers = 0;
  options.mmap = Toggle::off;
  const auto estimate = estimate_memory(options);
  ASSERT_TRUE(estimate) << estimate.error().message;
  ASSERT_EQ(estimate->devices.size(), 1u);
  const Allocated real = allocate(options);
  const DeviceMemory& host = estimate->devices[0];
  EXPECT_EQ(host.weights, real.weights);
  EXPECT_EQ(host.kv, real.kv);
  EXPECT_GE(host.compute, real.compute);
  EXPECT_LE(host.compute, real.compute + (8u << 20)) << "only the rows of outputs come on top";
  EXPECT_EQ(estimate->mapped, 0u);
  EXPECT_EQ(estimate->in_place, 0u);
  EXPECT_GT(estimate->process, 1u << 20);
}

TEST_P(EstimateOf, MappedPagesAreThoseOfTheFile) {
  EngineLoadOptions options = load_options(GetParam());
  options.n_gpu_layers = 0;
  const auto estimate = estimate_memory(options);
  ASSERT_TRUE(estimate) << estimate.error().message;
  std::uint64_t size = std::filesystem::file_size(options.path);
  if (std::string(GetParam()).starts_with("tiny-split"))
    size += std::filesystem::file_size(model_path("tiny-split-00002-of-00002"));
  EXPECT_GT(estimate->in_place, 0u);
  EXPECT_LE(estimate->in_place, estimate->devices[0].weights);
  EXPECT_LE(estimate->mapped, size);
  EXPECT_GE(estimate->mapped + 512 * 64, estimate->in_place) << "the padding between weights is less than a line each";
}

TEST(Estimate, FollowsTheOptions) {
  EngineLoadOptions options = load_options("tiny-llama");
  const auto plain = estimate_memory(options);
  ASSERT_TRUE(plain);
  const auto kv = [&] { return estimate_memory(options)->devices[0].kv; };
  options.n_ctx *= 2;
  EXPECT_EQ(kv(), 2 * plain->devices[0].kv);
  options.workers = 2;
  EXPECT_EQ(kv(), 4 * plain->devices[0].kv);
  options.workers = 1;
  options.cache_type_k = options.cache_type_v = "f32";
  EXPECT_EQ(kv(), 4 * plain->devices[0].kv);
  options = load_options("tiny-llama");
  options.loras = {{model_path("tiny-llama-lora"), 1}};
  const std::uint64_t adapter = estimate_memory(options)->devices[0].weights - plain->devices[0].weights;
  EXPECT_GT(adapter, 0u);
  EXPECT_LT(adapter, std::filesystem::file_size(options.loras[0].path));
}

TEST(Estimate, LargeContextsAreToldFromSmallerOnes) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 1 << 18;
  const auto large = estimate_memory(options);
  ASSERT_TRUE(large);
  options.n_ctx = 1 << 20;
  const auto larger = estimate_memory(options);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->devices[0].kv, 4 * large->devices[0].kv);
  EXPECT_GT(larger->devices[0].compute, 3 * large->devices[0].compute);
  EXPECT_LT(larger->devices[0].compute, 4 * large->devices[0].compute);
}

TEST(Estimate, ErrorsAreThoseOfTheLoad) {
  EngineLoadOptions options;
  options.path = "/nowhere/model.gguf";
  EXPECT_EQ(estimate_memory(options).error().code, errc::file_not_found);
  options = load_options("tiny-llama");
  options.cache_type_k = "q3_x";
  EXPECT_EQ(estimate_memory(options).error().code, errc::invalid_argument);
}

// ---- causes

constexpr std::uint32_t kHugeContext = 1u << 30;

TEST(LoadCause, ContextThatNoMachineHoldsNeverFitsAndSaysWhy) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = kHugeContext;
  const auto failed = InferenceEngine::load(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::never_fits);
  EXPECT_EQ(failed.error().param, "n_ctx");
  EXPECT_THAT(failed.error().message, HasSubstr("GiB on cpu, which has"));
  ASSERT_EQ(failed.error().memory.size(), 1u);
  EXPECT_EQ(failed.error().memory[0].device, "cpu");
  EXPECT_EQ(failed.error().memory[0].have, read_host_memory().total);
  // 2 layers of 2 heads of 16 numbers, keys and values, 2 bytes each.
  EXPECT_GE(failed.error().memory[0].need, std::uint64_t{kHugeContext} * 2 * 2 * 16 * 2 * 2);
}

TEST(LoadCause, ContextThatDoesNotFitNowIsOutOfMemory) {
  const EngineLoadOptions options = load_options("tiny-llama");
  ASSERT_TRUE(load_backends());
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  const auto estimate = estimate_memory(options);
  ASSERT_TRUE(estimate);
  const std::uint64_t more = estimate->devices[0].kv + estimate->devices[0].compute;
  const std::uint64_t all = estimate->unreclaimable();
  EXPECT_TRUE(check_contexts_fit(**model, options, {.total = all, .available = more}));
  EXPECT_TRUE(check_contexts_fit(**model, options, {.total = 0, .available = 0})) << "not known: nothing is refused";
  const auto now = check_contexts_fit(**model, options, {.total = all, .available = more - 1});
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, errc::out_of_memory);
  ASSERT_EQ(now.error().memory.size(), 1u);
  EXPECT_EQ(now.error().memory[0].need, more);
  EXPECT_EQ(now.error().memory[0].have, more - 1);
  const auto never = check_contexts_fit(**model, options, {.total = more / 2, .available = more / 2});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, errc::never_fits);
}

TEST(LoadCause, AllocationThatFailedIsToldApartAfterwards) {
  const EngineLoadOptions options = load_options("tiny-llama");
  const Error failed(make_error_code(errc::out_of_memory), "failed to allocate buffer");
  const Error never = explain_failure(failed, options, {.total = 1 << 20, .available = 0});
  EXPECT_EQ(never.code, errc::never_fits);
  EXPECT_THAT(never.message, HasSubstr("failed to allocate buffer"));
  EXPECT_FALSE(never.memory.empty());
  const Error other(make_error_code(errc::load_failed), "bad file");
  EXPECT_EQ(explain_failure(other, options, {.total = 1, .available = 0}).code, errc::load_failed);
}

// libllama names no numbers; these used to be missing.
TEST(LoadCause, AllocationThatFailedForNowSaysWhatWasNeededAndWhatIsFree) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.mmap = Toggle::off;
  const DeviceMemory host = estimate_memory(options)->devices[0];
  const Error failed(make_error_code(errc::out_of_memory), "failed to allocate buffer");
  const HostMemory scarce{.total = 1ull << 40, .available = 3 << 20};
  const Error all = explain_failure(failed, options, scarce);
  EXPECT_EQ(all.code, errc::out_of_memory);
  EXPECT_THAT(all.message, HasSubstr("failed to allocate buffer"));
  EXPECT_THAT(all.message, HasSubstr("MiB on cpu, which has 3 MiB free)"));
  ASSERT_EQ(all.memory.size(), 1u);
  EXPECT_EQ(all.memory[0].device, "cpu");
  EXPECT_EQ(all.memory[0].need, host.total());
  EXPECT_EQ(all.memory[0].have, 3u << 20);

  // The context of one worker, where the weights are there.
  options.workers = 2;
  const Error context = explain_failure(failed, options, scarce, FailedPart::context);
  EXPECT_EQ(context.code, errc::out_of_memory);
  ASSERT_EQ(context.memory.size(), 1u);
  EXPECT_EQ(context.memory[0].need, host.kv + host.compute);

  // A limit of another kind: the numbers are told all the same.
  const Error limit = explain_failure(failed, options, {.total = 1ull << 40, .available = 1ull << 40});
  ASSERT_EQ(limit.memory.size(), 1u);
  EXPECT_EQ(limit.memory[0].have, 1ull << 40);
  EXPECT_TRUE(explain_failure(failed, options, {.total = 0, .available = 0}).memory.empty()) << "not known";
  EXPECT_EQ(explain_failure(all, options, {.total = 1 << 20, .available = 0}).message, all.message) << "it says it";
}

TEST(LoadCause, OptionsAModelCannotHaveAreNoLackOfMemory) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.cache_type_v = "q8_0";
  options.flash_attention = Toggle::off;
  const auto failed = InferenceEngine::load(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::unsupported);
  EXPECT_THAT(failed.error().message, HasSubstr("flash_attn"));
}

TEST(Estimate, ADraftModelCountsToo) {
  EngineLoadOptions options = load_options("tiny-llama");
  auto alone = estimate_memory(options);
  options.speculative = {.max_tokens = 4, .draft_path = model_path("tiny-llama-q8_0")};
  auto both = estimate_memory(options);
  ASSERT_TRUE(alone && both);
  alone->process = both->process = 0;  // what earlier tests left in this one comes and goes
  EXPECT_GT(both->devices[0].weights, alone->devices[0].weights);
  EXPECT_GT(both->devices[0].kv, alone->devices[0].kv);
  EXPECT_GT(both->total(), alone->total() + both->devices[0].kv - alone->devices[0].kv);
  options.speculative.draft_path = "/nowhere/draft.gguf";
  const auto missing = estimate_memory(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().param, "draft_model");
}

// So that a load that can't succeed is refused before others have to go for it.
TEST(Estimate, RefusesWhatTheLoadWouldRefuse) {
  EngineLoadOptions with_lora = load_options("tiny-qwen3");
  with_lora.loras = {{model_path("tiny-llama-lora"), 1}};  // another architecture
  const auto lora = estimate_memory(with_lora);
  ASSERT_FALSE(lora);
  EXPECT_EQ(lora.error().code, errc::unsupported);
  EXPECT_EQ(lora.error().param, "lora");
  with_lora.loras = {{model_path("tiny-llama"), 1}};  // a model
  EXPECT_EQ(estimate_memory(with_lora).error().param, "lora");
  EngineLoadOptions fitting = load_options("tiny-llama");
  fitting.loras = {{model_path("tiny-llama-lora"), 1}};
  EXPECT_TRUE(estimate_memory(fitting));

  EngineLoadOptions with_draft = load_options("tiny-llama");
  with_draft.speculative.max_tokens = 8;
  with_draft.speculative.draft_path = model_path("tiny-mamba");
  const auto draft = estimate_memory(with_draft);
  ASSERT_FALSE(draft);
  EXPECT_EQ(draft.error().param, "draft_model");
}

}  // namespace
}  // namespace corral::engine::test
