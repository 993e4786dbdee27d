// What the engine's recipe makes of load options: devices, defaults, checks, and the files they name.
#include "backends/engine_backend_fixture_for_tests.h"
#include "backends/load_order.h"

namespace corral::backends {
namespace {

using EngineOptionsTest = EngineBackendFixture;

// ---- what a load computes on

TEST_F(EngineOptionsTest, ALoadComputesOnTheGpuOfTheMachineUnlessItIsKeptOff) {
  start();
  const auto on = [this](LoadOptions options, Device machine) {
    return backend_->device(*model(), *backend_->resolve(*model(), options), machine);
  };
  const Device with_gpu = Device::cpu | Device::gpu;
  LoadOptions no_layers, some_layers, cpu;
  no_layers.gpu_layers = 0;
  some_layers.gpu_layers = 7;
  cpu.llamacpp_backend = "cpu";
  EXPECT_EQ(on({}, with_gpu), Device::gpu);
  EXPECT_EQ(on(some_layers, with_gpu), Device::gpu);
  EXPECT_EQ(on(no_layers, with_gpu), Device::cpu);
  EXPECT_EQ(on(cpu, with_gpu), Device::cpu);
  EXPECT_EQ(on({}, Device::cpu), Device::cpu);
  LoadOptions vulkan = {};
  vulkan.llamacpp_backend = "vulkan";
  EXPECT_EQ(on(vulkan, Device::cpu), Device::gpu) << "who is there without memory of its own";
  vulkan.gpu_layers = 0;
  EXPECT_EQ(on(vulkan, with_gpu), Device::cpu);
}

TEST_F(EngineOptionsTest, WhatTheEngineSaysOfItsDeviceCountsMoreThanWhatTheMachineHas) {
  start();
  LoadOptions cpu;
  cpu.llamacpp_backend = "cpu";
  const auto load_on = [this](const LoadOptions& options, Device reported) {
    load(*backend_->resolve(*model(), options));
    reply(spawner_.processes().size() - 1, EngineReady{1, "", reported});
  };
  const auto next = [this](Device machine) {
    return backend_->device(*model(), *backend_->resolve(*model(), {}), machine);
  };
  load_on(cpu, Device::cpu);
  EXPECT_EQ(server_->facts().device, Device::cpu);
  EXPECT_EQ(next(Device::cpu | Device::gpu), Device::gpu) << "one that was kept off the GPU says nothing of it";
  load_on({}, Device::cpu);
  EXPECT_EQ(next(Device::cpu | Device::gpu), Device::cpu) << "an engine without a GPU's backend";
  load_on({}, Device::gpu);
  EXPECT_EQ(server_->facts().device, Device::gpu);
  EXPECT_EQ(next(Device::cpu), Device::gpu) << "a GPU whose memory nobody sees";
}

TEST_F(EngineOptionsTest, AKindOfGpuThatTheEngineHasNotIsRefusedBeforeTheLoad) {
  host_ = {.total = 64ull << 30, .available = 0};
  start();
  LoadOptions options;
  options.llamacpp_backend = "vulkan";
  const auto resolved = *backend_->resolve(*model(), options);
  for (std::size_t number : {0u, 1u}) {  // it may be there the next time
    preflight(resolved);
    ASSERT_EQ(spawner_.processes().size(), number + 1) << "only a child can tell";
    EXPECT_EQ(parse_engine_load(sent_to(number))->options.llamacpp_backend, "vulkan");
    reply(number, EngineFailed{errc::backend_not_installed, "this engine has cpu", "llamacpp_backend"});
    ASSERT_TRUE(fits_ && !*fits_);
    EXPECT_EQ(fits_->error().code, errc::backend_not_installed);
    EXPECT_EQ(fits_->error().param, "llamacpp_backend");
  }
  preflight(resolved);
  reply(2, EngineEvent(estimate_of(1)));
  EXPECT_TRUE(fits_ && *fits_);
  preflight(resolved);
  EXPECT_TRUE(fits_ && *fits_) << "at once, known by now";
  EXPECT_EQ(spawner_.processes().size(), 3u);

  load(resolved);
  reply(3, EngineFailed{errc::backend_not_installed, "gone"});
  preflight(resolved);
  ASSERT_EQ(spawner_.processes().size(), 5u) << "it was there, and has gone";
  reply(4, EngineFailed{errc::backend_not_installed, "gone"});
  EXPECT_EQ(fits_->error().code, errc::backend_not_installed);
}

// ---- options

TEST_F(EngineOptionsTest, OptionsAreFilledInAndChecked) {
  start();
  const auto resolved = backend_->resolve(*model(), {});
  ASSERT_TRUE(resolved);
  LoadOptions expected{-1, 16, 0, -1, "auto"};
  expected.speculative = 16;
  EXPECT_EQ(*resolved, expected);
  LoadOptions zero;
  zero.ctx_size = 0;
  EXPECT_EQ(backend_->resolve(*model(), zero)->ctx_size, -1);

  LoadOptions best;
  best.llamacpp_backend = "";
  EXPECT_EQ(fingerprint(*backend_->resolve(*model(), best)), fingerprint(*resolved)) << "no name is auto";

  for (const auto* name : {"auto", "cpu", "cuda", "vulkan", "rocm", "metal"}) {
    LoadOptions named;
    named.llamacpp_backend = name;
    EXPECT_TRUE(backend_->resolve(*model(), named)) << name;
  }
  LoadOptions unknown;
  unknown.llamacpp_backend = "abacus";
  const auto no_such = backend_->resolve(*model(), unknown);
  ASSERT_FALSE(no_such);
  EXPECT_EQ(no_such.error().code, errc::invalid_option);
  EXPECT_EQ(no_such.error().param, "llamacpp_backend");
  EXPECT_EQ(no_such.error().message,
            "'llamacpp_backend' must be one of auto, cpu, cuda, vulkan, rocm, metal, not 'abacus'");

  LoadOptions wrong;
  wrong.parallel = 0;
  const auto refused = backend_->resolve(*model(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().param, "parallel");
}

// Whoever is in memory must not go for them.
TEST_F(EngineOptionsTest, WhatOnlyTheEngineCanRefuseIsAskedOfItBeforeTheLoad) {
  start();
  std::size_t asked = 0;
  const auto refuses = [&](LoadOptions options) {
    const auto resolved = *backend_->resolve(*model(), options);
    preflight(resolved);
    ASSERT_EQ(spawner_.processes().size(), ++asked);
    EXPECT_EQ(process(asked - 1).spec().argv.back(), "--estimate");
    reply(asked - 1, EngineFailed{errc::invalid_option, "another vocabulary", "draft_model"});
    ASSERT_TRUE(fits_ && !*fits_);
    EXPECT_EQ(fits_->error().code, errc::invalid_option);
  };
  LoadOptions draft, lora, cache, attention;
  draft.draft_model = (dir_ / "a.gguf").native();
  lora.lora = {(dir_ / "a.gguf").native()};
  cache.cache_type_v = "q4_0";
  attention.flash_attention = "off";
  for (const auto& options : {draft, lora, cache, attention}) refuses(options);

  preflight(*backend_->resolve(*model(), draft));
  EXPECT_TRUE(fits_ && !*fits_) << "the files are as they were";
  draft.ctx_size = 4096;
  preflight(*backend_->resolve(*model(), draft));
  reply(asked++, EngineEvent(estimate_of(1)));
  EXPECT_TRUE(fits_ && *fits_);
  preflight(*backend_->resolve(*model(), draft));
  EXPECT_TRUE(fits_ && *fits_) << "known by now";
  preflight(*backend_->resolve(*model(), {}));
  EXPECT_TRUE(fits_ && *fits_) << "usual loads ask nobody";
  EXPECT_EQ(spawner_.processes().size(), asked);

  LoadOptions narrow;
  narrow.ctx_size = 4;
  const auto refused = backend_->resolve(*model(), narrow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "ctx_size");
}

TEST_F(EngineOptionsTest, AdaptersMustBeFiles) {
  start();
  LoadOptions options;
  options.lora = {(dir_ / "a.gguf").native() + ":0.5"};
  EXPECT_EQ(backend_->resolve(*model(), options)->lora, options.lora);
  EXPECT_TRUE(check_files(options).value());
  options.lora->push_back("/nowhere/b.gguf");
  const auto refused = check_files(options).value();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().param, "lora");
  EXPECT_THAT(refused.error().message, HasSubstr("/nowhere/b.gguf"));
  options.lora->back() = (dir_ / "text").native();
  std::ofstream(dir_ / "text") << "ROOT of all";
  const auto no_gguf = check_files(options).value();
  ASSERT_FALSE(no_gguf);
  EXPECT_EQ(no_gguf.error().message, "'lora' is not a GGUF file: '" + (dir_ / "text").native() + "'");
  options.lora->clear();
  EXPECT_EQ(*backend_->resolve(*model(), options), *backend_->resolve(*model(), {})) << "none is none, however said";
}

TEST_F(EngineOptionsTest, ADraftModelIsAFileThatIsThere) {
  start();
  LoadOptions options;
  options.draft_model = (dir_ / "a.gguf").native();
  EXPECT_EQ(backend_->resolve(*model(), options)->draft_model, options.draft_model);
  EXPECT_TRUE(check_files(options).value());
  for (const auto& wrong : {std::string("/nowhere/b.gguf"), dir_.path().native()}) {
    options.draft_model = wrong;
    const auto refused = check_files(options).value();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_option);
    EXPECT_EQ(refused.error().param, "draft_model");
  }
  options.draft_model = "";
  EXPECT_FALSE(backend_->resolve(*model(), options)->draft_model) << "none is the same as not set";
}

TEST_F(EngineOptionsTest, AProjectorIsTheModelsOwnAnotherFileOrNone) {
  start();
  auto seeing = std::make_shared<models::ModelInfo>(*model());
  seeing->type = ModelType::llm;
  const auto blind = *seeing;
  seeing->mmproj = dir_ / "mmproj.gguf";
  LoadOptions options;
  EXPECT_EQ(projector_of(*seeing, options), seeing->mmproj);
  EXPECT_EQ(projector_of(blind, options), "");
  EXPECT_EQ(load_order(*seeing, options).mmproj, seeing->mmproj.native());
  options.mmproj = "auto";
  EXPECT_FALSE(backend_->resolve(*seeing, options)->mmproj) << "the default";
  options.mmproj = "/p.gguf";
  options.mmproj_offload = false;
  EXPECT_EQ(projector_of(blind, options), "/p.gguf");
  const auto order = load_order(*seeing, options);
  EXPECT_EQ(order.mmproj, "/p.gguf");
  EXPECT_FALSE(order.mmproj_offload);
  EXPECT_FALSE(order.options.mmproj || order.options.mmproj_offload);
  EXPECT_THAT(files_of(*seeing, options), testing::ElementsAre(seeing->paths.front(), "/p.gguf"));
  options.mmproj = "none";
  EXPECT_EQ(projector_of(*seeing, options), "");
  EXPECT_EQ(backend_->resolve(*seeing, options)->mmproj, "none");
  EXPECT_THAT(files_of(*seeing, options), testing::ElementsAre(seeing->paths.front()));
  seeing->type = ModelType::embedding;
  EXPECT_EQ(projector_of(*seeing, {}), "") << "it reads no pictures";
}

TEST_F(EngineOptionsTest, AProjectorThatIsNoFileIsFoundBeforeAnythingIsDone) {
  start();
  LoadOptions options;
  options.mmproj = "/nowhere/p.gguf";
  const auto refused = check_files(options).value();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "'mmproj' is not a GGUF file: '/nowhere/p.gguf'");
  EXPECT_EQ(refused.error().param, "mmproj");
}

TEST_F(EngineOptionsTest, FileThatIsGoneIsFoundBeforeAnythingIsDone) {
  start();
  EXPECT_TRUE(check_files().value());
  std::filesystem::remove(dir_ / "a.gguf");
  const auto refused = check_files().value();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::model_file_not_found);
}

TEST_F(EngineOptionsTest, FileThatIsNoModelAnyMoreIsFoundBeforeAnythingIsDone) {
  start();
  for (const char* text : {"", "GG", "<html>not here</html>"}) {
    std::ofstream(dir_ / "a.gguf", std::ios::trunc) << text;
    const auto refused = check_files().value();
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, errc::load_failed);
    EXPECT_THAT(refused.error().message, HasSubstr("a.gguf"));
  }
}

// The loop used to hang with the disk.
TEST_F(EngineOptionsTest, ADiskThatGivesNoAnswerHoldsUpNobodyButWhoAsked) {
  start();
  hold_looks_ = true;
  EXPECT_FALSE(check_files());
  EXPECT_EQ(held_looks_.size(), 1u);
  EXPECT_TRUE(backend_->resolve(*model(), {})) << "needs no disk";
  LoadOptions other;
  other.lora = {"/nowhere/b.gguf"};
  EXPECT_FALSE(check_files(other));
  EXPECT_EQ(held_looks_.size(), 2u) << "nobody looks twice at the same file at once";
  timers_.advance(std::chrono::seconds(30));
  settle();
}

}  // namespace
}  // namespace corral::backends
