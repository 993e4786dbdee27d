#include <algorithm>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "engine/fit/memory_estimate.h"
#include "engine/llama/context_params.h"
#include "engine/llama/devices.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(Load, FactsOfAChatModel) {
  const auto service = load(load_options("tiny-llama"));
  const ModelFacts& facts = service->facts();
  EXPECT_EQ(facts.architecture, "llama");
  EXPECT_EQ(facts.name, "Tiny Llama");
  EXPECT_EQ(facts.kind, ModelKind::generative);
  EXPECT_EQ(facts.pooling, Pooling::none);
  EXPECT_EQ(facts.n_ctx, 2048u);
  EXPECT_GE(facts.n_ctx_train, 2048u);
  EXPECT_GT(facts.n_vocab, 1000u);
  EXPECT_GT(facts.model_bytes, 100'000u);
  EXPECT_FALSE(facts.chat_template.empty());
  EXPECT_NE(facts.eos, kNoToken);
  EXPECT_FALSE(facts.recurrent);
  EXPECT_NE(service->model(), nullptr);
  EXPECT_NE(service->vocab(), nullptr);
}

TEST(Load, KindsAreKnownFromMetadata) {
  EXPECT_EQ(load(load_options("tiny-embed"))->facts().kind, ModelKind::embedding);
  EXPECT_EQ(load(load_options("tiny-embed"))->facts().pooling, Pooling::mean);
  EXPECT_EQ(load(load_options("tiny-rerank"))->facts().kind, ModelKind::reranker);
  EXPECT_TRUE(load(load_options("tiny-mamba"))->facts().recurrent);
}

TEST(Load, SplitSetsLoadByTheirFirstFile) {
  const auto service = load(load_options("tiny-split-00001-of-00002"));
  const Answer answer = generate(*service, session_with(*service, some_tokens(10)), endless(5));
  EXPECT_EQ(answer.tokens.size(), 5u);
}

TEST(Load, ContextDefaultsToWhatWasTrainedButNotEndless) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 0;
  const auto service = load(options);
  EXPECT_EQ(service->facts().n_ctx, std::min(service->facts().n_ctx_train, kFirstContext));
}

errc cause(const EngineLoadOptions& options, const InferenceEngine::Progress& progress = {}) {
  const auto service = InferenceEngine::load(options, progress);
  if (service) {
    ADD_FAILURE() << "it loaded";
    return {};
  }
  EXPECT_FALSE(service.error().message.empty());
  EXPECT_EQ(service.error().code.category(), error_category());
  return static_cast<errc>(service.error().code.value());
}

TEST(Load, MissingFile) {
  EngineLoadOptions options;
  options.path = "/nowhere/model.gguf";
  EXPECT_EQ(cause(options), errc::file_not_found);
  options.path = ::testing::TempDir();
  EXPECT_EQ(cause(options), errc::file_not_found);
}

TEST(Load, GarbageAndCutOffFilesSayWhatIsWrong) {
  EngineLoadOptions options;
  options.path = ::testing::TempDir() + "garbage.gguf";
  std::ofstream(options.path) << "this is no model";
  EXPECT_EQ(cause(options), errc::load_failed);

  std::ifstream whole(model_path("tiny-llama"), std::ios::binary);
  std::string bytes(200'000, '\0');
  whole.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  options.path = ::testing::TempDir() + "cut-off.gguf";
  std::ofstream(options.path, std::ios::binary) << bytes;
  const auto failed = InferenceEngine::load(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::load_failed);
  EXPECT_THAT(failed.error().message, ::testing::HasSubstr("cut-off.gguf"));
  EXPECT_THAT(failed.error().message, ::testing::Not(::testing::HasSubstr("gave no reason")));
}

TEST(Load, ProgressIsReportedAndCanStopIt) {
  float last = -1;
  const auto service = InferenceEngine::load(load_options("tiny-llama"), [&](float done) {
    EXPECT_GE(done, last);
    last = done;
    return true;
  });
  EXPECT_TRUE(service);
  EXPECT_EQ(last, 1.0f);
  EXPECT_EQ(cause(load_options("tiny-llama"), [](float) { return false; }), errc::load_cancelled);
}

TEST(Load, WorkerCountAndSizesAreChecked) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.workers = 0;
  EXPECT_EQ(cause(options), errc::invalid_worker_count);
  options.workers = kMaxWorkers + 1;
  EXPECT_EQ(cause(options), errc::invalid_worker_count);
  options.workers = 1;
  options.max_sequences = kMaxSequences + 1;
  EXPECT_EQ(cause(options), errc::invalid_argument);
  options.max_sequences = 16;
  options.n_batch = 8;
  EXPECT_EQ(cause(options), errc::invalid_argument);
  options.n_batch = 0;
  options.cache_type_k = "q3_x";
  EXPECT_EQ(cause(options), errc::invalid_argument);
  options = load_options("tiny-llama");
  options.purpose = ModelTask::rerank;
  EXPECT_EQ(cause(options), errc::unsupported);
  options = load_options("tiny-embed");
  options.purpose = ModelTask::generate;
  EXPECT_EQ(cause(options), errc::unsupported);
}

// Blocks of 32 values don't divide the heads of the small models, which have 16.
TEST(Load, QuantisedCacheWorks) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.cache_type_k = options.cache_type_v = "q8_0";
  options.flash_attention = Toggle::on;
  EXPECT_EQ(cause(options), errc::unsupported);
  options.path = with_meta("tiny-llama", "wide-heads", [](gguf_context* to) {
    gguf_set_val_u32(to, "llama.attention.head_count", 2);
    gguf_set_val_u32(to, "llama.attention.head_count_kv", 1);
    for (const char* width :
         {"llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count"})
      gguf_set_val_u32(to, width, 32);
  });
  const auto service = load(options);
  const Answer answer = generate(*service, session_with(*service, some_tokens(10)), endless(5));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.tokens.size(), 5u);
}

TEST(Load, EmbeddingModelsDoNotGenerateAndTheOtherWayRound) {
  EXPECT_EQ(load(load_options("tiny-embed"))->create_session().error().code, errc::unsupported);
  const auto chat = load(load_options("tiny-llama"));
  EXPECT_EQ(chat->embed({{1}}).error().code, errc::unsupported);
  EXPECT_EQ(chat->rerank("q", std::vector<std::string>{"d"}).error().code, errc::unsupported);
}

TEST(Load, WithoutLayersOnAGpuNoneIsOpened) {
  ASSERT_TRUE(load_backends());
  EngineLoadOptions options;
  EXPECT_EQ(model_params(options)->params.devices, nullptr) << "all there are";
  for (const auto& [layers, backend] : {std::pair(0, ""), {-1, "cpu"}, {0, "cpu"}}) {
    options.n_gpu_layers = layers;
    options.backend = backend;
    const auto made = model_params(options);
    ASSERT_TRUE(made);
    ASSERT_NE(made->params.devices, nullptr);
    EXPECT_EQ(*made->params.devices, nullptr) << layers << backend;
  }
}

TEST(Load, WhatIsSaidOfGpusMustMatchThem) {
  ASSERT_TRUE(load_backends());
  EngineLoadOptions options = load_options("tiny-llama");
  options.devices = {"NOSUCH0"};
  EXPECT_EQ(InferenceEngine::load(options).error().param, "devices");
  EXPECT_EQ(estimate_memory(options).error().param, "devices") << "told before anybody is unloaded for it";
  options.devices = {};
  options.main_gpu = 99;
  EXPECT_EQ(model_params(options).error().param, "main_gpu");
  options.n_gpu_layers = 0;
  EXPECT_TRUE(model_params(options)) << "no GPU is asked for";
}

TEST(Load, OneWorkerUnlessMoreAreAskedFor) {
  EXPECT_EQ(worker_count({}), 1u);
  EXPECT_EQ(worker_count({.workers = 3}), 3u);
}

TEST(Load, ComputesOnDevicesOfTheKindThatWasAskedFor) {
  ASSERT_TRUE(load_backends());
  EngineLoadOptions options = load_options("tiny-llama");
  options.backend = "cpu";
  const auto service = InferenceEngine::load(options);
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_EQ((*service)->facts().gpus, 0u);
  EXPECT_EQ(generate(**service, session_with(**service, some_tokens(10)), endless(5)).tokens.size(), 5u);

  const auto there = backends_of(found_devices());
  for (const std::string kind : {"cuda", "vulkan", "rocm", "metal"}) {
    options.backend = kind;
    const auto loaded = InferenceEngine::load(options);
    const auto estimated = estimate_memory(options);
    if (std::ranges::find(there, kind) != there.end()) {
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ((*loaded)->facts().gpus, gpus_of(found_devices(), kind).size());
    } else {
      ASSERT_FALSE(loaded) << kind;
      EXPECT_EQ(loaded.error().code, errc::backend_not_installed);
      EXPECT_EQ(estimated.error().code, errc::backend_not_installed);
      EXPECT_THAT(loaded.error().message, testing::HasSubstr("this engine has cpu"));
    }
  }
  options.backend = "abacus";
  EXPECT_EQ(InferenceEngine::load(options).error().code, errc::invalid_argument);
}

// The part of a file that the system keeps in memory.
double cached_share(const UniqueFd& file) {
  struct stat facts{};
  EXPECT_EQ(::fstat(file.get(), &facts), 0);
  const auto size = static_cast<std::size_t>(facts.st_size);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  EXPECT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(::mincore(mapped, size, pages.data()), 0);
  ::munmap(mapped, size);
  const auto there = std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(pages.size());
}

// So the next load needn't wait for the disk.
TEST(Load, TheFileStaysInThePageCacheWhenTheModelHasGone) {
  EngineLoadOptions options = load_options("tiny-llama");
  const std::string path = testing::TempDir() + "page-cache.gguf";
  std::filesystem::copy_file(options.path, path, std::filesystem::copy_options::overwrite_existing);
  options.path = path;
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (const Toggle mmap : {Toggle::automatic, Toggle::on, Toggle::off}) {
    options.mmap = mmap;
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    if (cached_share(file) > 0.5) GTEST_SKIP() << "this file system has its files in memory only";
    EXPECT_NE(load(options), nullptr);
    EXPECT_GT(cached_share(file), 0.9) << static_cast<int>(mmap);
  }
  std::filesystem::remove(path);
}

TEST(Load, BackendsSayWhatTheyAre) {
  ASSERT_TRUE(load_backends());
  EXPECT_EQ(built_for_llama_version(), running_llama_version());
}

}  // namespace
}  // namespace corral::engine::test
