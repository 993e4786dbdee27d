// The engine's recipe before a load: options filled in and checked, what they compute on, what can never succeed.
#include "backends/engine_backend_fixture.h"

namespace corral::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- memory, before the load

TEST_F(EngineBackendTest, PreflightAsksNobodyWhereEverythingFits) {
  host_ = {.total = 64ull << 30, .available = 0};
  start();
  preflight({8192, 16, 0, -1, ""});
  ASSERT_TRUE(fits_);
  EXPECT_TRUE(*fits_);
  EXPECT_THAT(spawner_.processes(), IsEmpty());
}

TEST_F(EngineBackendTest, PreflightRefusesWhatNeverFitsWithNeedAndHave) {
  host_ = {.total = 4ull << 30, .available = 4ull << 30};
  start();
  preflight({1 << 24, 16, 0, -1, ""});
  ASSERT_EQ(spawner_.processes().size(), 1u);
  EXPECT_THAT(process(0).spec().argv, ElementsAre("/usr/bin/corral", "engine", "--estimate"));
  EXPECT_EQ(parse_engine_load(heard_by(0))->options.ctx_size, 1 << 24);
  EXPECT_FALSE(fits_);
  say(0, EngineEvent(estimate_of(5ull << 30)));
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().code, errc::load_never_fits);
  EXPECT_EQ(fits_->error().param, "ctx_size");
  EXPECT_THAT(fits_->error().message, HasSubstr("needs 5.0 GiB on cpu, which has 4.0 GiB"));
  ASSERT_EQ(fits_->error().memory.size(), 1u);
  EXPECT_EQ(fits_->error().memory[0].need, 5ull << 30);
  EXPECT_EQ(fits_->error().memory[0].have, 4ull << 30);
  EXPECT_FALSE(process(0).alive());

  preflight({1 << 24, 16, 0, -1, ""});  // known by now
  EXPECT_EQ(spawner_.processes().size(), 1u);
  EXPECT_FALSE(*fits_);
}

TEST_F(EngineBackendTest, PreflightLetsPassWhatFitsAndWhatCannotBeTold) {
  host_ = {.total = 4ull << 30, .available = 0};
  start();
  preflight({1 << 24, 16, 0, -1, ""});
  say(0, EngineEvent(estimate_of(3ull << 30)));
  EXPECT_TRUE(fits_ && *fits_);
  preflight({1 << 23, 16, 0, -1, ""});
  process(1).die(SIGSEGV);
  settle();
  EXPECT_TRUE(fits_ && *fits_) << "a broken estimate is no reason to refuse";
  preflight({1 << 22, 16, 0, -1, ""});
  say(2, EngineFailed{errc::invalid_option, "no such cache type"});
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().code, errc::invalid_option);
}

TEST_F(EngineBackendTest, AKindOfGpuThatTheEngineHasNotIsRefusedBeforeTheLoad) {
  host_ = {.total = 64ull << 30, .available = 0};
  start();
  LoadOptions options;
  options.llamacpp_backend = "vulkan";
  const auto resolved = *backend_->resolve(*model(), options);
  for (std::size_t number : {0u, 1u}) {  // it may be there the next time
    preflight(resolved);
    ASSERT_EQ(spawner_.processes().size(), number + 1) << "only a child can tell";
    EXPECT_EQ(parse_engine_load(heard_by(number))->options.llamacpp_backend, "vulkan");
    say(number, EngineFailed{errc::backend_not_installed, "this engine has cpu", "llamacpp_backend"});
    ASSERT_TRUE(fits_ && !*fits_);
    EXPECT_EQ(fits_->error().code, errc::backend_not_installed);
    EXPECT_EQ(fits_->error().param, "llamacpp_backend");
  }
  preflight(resolved);
  say(2, EngineEvent(estimate_of(1)));
  EXPECT_TRUE(fits_ && *fits_);
  preflight(resolved);
  EXPECT_TRUE(fits_ && *fits_) << "at once, known by now";
  EXPECT_EQ(spawner_.processes().size(), 3u);

  load(resolved);
  say(3, EngineFailed{errc::backend_not_installed, "gone"});
  preflight(resolved);
  ASSERT_EQ(spawner_.processes().size(), 5u) << "it was there, and has gone";
  say(4, EngineFailed{errc::backend_not_installed, "gone"});
  EXPECT_EQ(fits_->error().code, errc::backend_not_installed);
}

// ---- what a load computes on

TEST_F(EngineBackendTest, ALoadComputesOnTheGpuOfTheMachineUnlessItIsKeptOff) {
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

TEST_F(EngineBackendTest, WhatTheEngineSaysOfItsDeviceCountsMoreThanWhatTheMachineHas) {
  start();
  LoadOptions cpu;
  cpu.llamacpp_backend = "cpu";
  const auto load_on = [this](const LoadOptions& options, Device said) {
    load(*backend_->resolve(*model(), options));
    say(spawner_.processes().size() - 1, EngineReady{1, "", said});
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

// ---- options

TEST_F(EngineBackendTest, OptionsAreFilledInAndChecked) {
  start();
  const auto resolved = backend_->resolve(*model(), {});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(*resolved, (LoadOptions{-1, 16, 0, -1, "auto", {}, 16}));
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

TEST_F(EngineBackendTest, AdaptersMustBeFiles) {
  start();
  LoadOptions options;
  options.lora = {(dir_ / "a.gguf").native() + ":0.5"};
  EXPECT_EQ(backend_->resolve(*model(), options)->lora, options.lora);
  options.lora->push_back("/nowhere/b.gguf");
  const auto refused = backend_->resolve(*model(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().param, "lora");
  EXPECT_THAT(refused.error().message, HasSubstr("/nowhere/b.gguf"));
  options.lora->clear();
  EXPECT_EQ(*backend_->resolve(*model(), options), *backend_->resolve(*model(), {})) << "none is none, however said";
}

TEST_F(EngineBackendTest, ADraftModelIsAFileThatIsThere) {
  start();
  LoadOptions options;
  options.draft_model = (dir_ / "a.gguf").native();
  EXPECT_EQ(backend_->resolve(*model(), options)->draft_model, options.draft_model);
  options.draft_model = "/nowhere/b.gguf";
  const auto refused = backend_->resolve(*model(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().param, "draft_model");
  options.draft_model = "";
  EXPECT_FALSE(backend_->resolve(*model(), options)->draft_model) << "none is the same as not set";
}

TEST_F(EngineBackendTest, FileThatIsGoneIsFoundBeforeAnythingIsDone) {
  start();
  std::filesystem::remove(dir_ / "a.gguf");
  const auto refused = backend_->resolve(*model(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::model_file_not_found);
}

TEST_F(EngineBackendTest, FileThatIsNoModelAnyMoreIsFoundBeforeAnythingIsDone) {
  start();
  for (const char* text : {"", "GG", "<html>not here</html>"}) {
    std::ofstream(dir_ / "a.gguf", std::ios::trunc) << text;
    const auto refused = backend_->resolve(*model(), {});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, errc::load_failed);
    EXPECT_THAT(refused.error().message, HasSubstr("a.gguf"));
  }
}

}  // namespace
}  // namespace corral::backends
