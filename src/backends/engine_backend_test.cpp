// The engine's recipe over played processes: what the child is told, what becomes of what it says, and of its end.
#include "backends/engine_backend.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/engine_leftovers.h"
#include "backends/engine_protocol.h"
#include "base/log.h"
#include "models/temp_dir_for_tests.h"
#include "proc/errc.h"
#include "proc/fake_spawner.h"

namespace corral::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineBackendTest : public testing::Test {
 protected:
  EngineBackendTest() {
    log::set_level(log::Level::none);
    std::ofstream(dir_ / "a.gguf") << "GGUF";
  }
  // Everything is at rest before what the tasks use goes.
  ~EngineBackendTest() override {
    server_.reset();
    settle();
    if (backend_) wait_for(backend_->stop());
    EXPECT_EQ(spawner_.running(), 0u);
    EXPECT_THAT(sockets(), IsEmpty());
    EXPECT_EQ(timers_.sleepers(), 0u);
  }

  void start(bool warm_spare = false) {
    EngineBackendOptions options{
        .program = "/usr/bin/corral", .runtime_dir = dir_.path(), .log_dir = {}, .warm_spare = warm_spare};
    options.host_memory = [this] { return host_; };
    backend_.emplace(loop_.executor(), timers_, spawner_, options);
    backend_->start();
    settle();
  }
  // Played processes talk over real sockets, which need a few turns.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      loop_.context().restart();
      loop_.context().poll();
    }
  }
  void wait_for(async::Task<void> task) {
    group_.spawn("test", std::move(task));
    settle();
  }

  ModelPtr model() const {
    models::ModelInfo info;
    info.name = ModelName("a");
    info.paths = {dir_ / "a.gguf"};
    info.type = ModelType::embedding;
    info.traits.layers = 24;
    info.traits.embedding_length = 896;
    return std::make_shared<const models::ModelInfo>(info);
  }
  // Starts the load; its end is in loaded_.
  void load(LoadOptions options = {}) {
    loaded_.reset();
    server_ = backend_->create(model(), options);
    wait_for(run_load());
  }
  async::Task<void> run_load() {
    WrappedServer::Hooks hooks;
    hooks.progress = [this](double fraction) { progress_.push_back(fraction); };
    hooks.request_done = [this](const RequestStats& stats) { stats_.push_back(stats); };
    loaded_.emplace(co_await server_->load(std::move(hooks)));
  }
  void preflight(LoadOptions options) {
    fits_.reset();
    wait_for(run_preflight(std::move(options)));
  }
  async::Task<void> run_preflight(LoadOptions options) {
    fits_.emplace(co_await backend_->preflight(model(), std::move(options)));
  }
  static MemoryEstimate estimate_of(std::uint64_t kv) {
    MemoryEstimate estimate;
    estimate.devices = {{.device = "cpu", .kv = kv}};
    return estimate;
  }
  async::Task<void> run_stop(Millis grace) { co_await server_->stop(grace); }
  async::Task<void> watch() { end_ = co_await server_->until_gone(); }

  proc::FakeProcess& process(std::size_t number) { return *spawner_.processes().at(number); }
  std::string heard_by(std::size_t number) {
    std::string heard;
    auto read = [&]() -> async::Task<void> {
      heard = (co_await process(number).control().read_line()).value_or("nothing");
    };
    wait_for(read());
    return heard;
  }
  void say(std::size_t number, const std::string& line) {
    auto write = [&]() -> async::Task<void> { co_await process(number).control().write_line(line); };
    wait_for(write());
  }
  void say(std::size_t number, const EngineEvent& event) { say(number, to_line(event)); }
  // As the real child does once it listens.
  void make_socket(std::size_t number) { std::ofstream(process(number).spec().argv.at(3)) << ""; }
  std::vector<std::string> sockets() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().extension() == ".sock") names.push_back(entry.path().filename());
    }
    return names;
  }

  const models::TempDir dir_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
  std::optional<EngineBackend> backend_;
  std::unique_ptr<WrappedServer> server_;
  std::optional<Result<>> loaded_;
  std::optional<Result<>> fits_;
  HostMemory host_{.total = 1ull << 40, .available = 1ull << 40};
  std::vector<double> progress_;
  std::vector<RequestStats> stats_;
  std::string end_;
  async::TaskGroup group_{loop_.executor()};
};

TEST_F(EngineBackendTest, ChildIsToldWhatToLoadAndReadyEndsTheLoad) {
  start();
  load({2048, 4, 2, -1, ""});
  ASSERT_EQ(spawner_.processes().size(), 1u);
  EXPECT_THAT(process(0).spec().argv, ElementsAre("/usr/bin/corral", "engine", "--socket", HasSubstr("engine-1.sock")));
  EXPECT_EQ(process(0).spec().leftovers, engine_leftovers());
  const auto order = parse_engine_load(heard_by(0));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->model, "a");
  EXPECT_EQ(order->path, (dir_ / "a.gguf").native());
  EXPECT_EQ(order->type, ModelType::embedding);
  EXPECT_EQ(order->options.ctx_size, 2048);

  say(0, EngineProgress{0.5});
  EXPECT_THAT(progress_, ElementsAre(0.5));
  EXPECT_FALSE(loaded_);
  say(0, EngineReady{2048});
  ASSERT_TRUE(loaded_ && *loaded_);
  const auto facts = server_->facts();
  EXPECT_EQ(facts.pid, process(0).pid());
  EXPECT_EQ(facts.context_window, 2048u);
  EXPECT_THAT(facts.backend_url, HasSubstr("unix:"));
  EXPECT_EQ(facts.launch_command, process(0).spec().argv);
}

TEST_F(EngineBackendTest, RequestsAreCountedAndNonsenseBetweenThemIsPassedOver) {
  start();
  load();
  say(0, EngineReady{2048});
  say(0, RequestStats{10, 5, 0, 0.1, 50});
  say(0, "nonsense");
  say(0, RequestStats{1, 1, 0, 0.1, 50});
  ASSERT_EQ(stats_.size(), 2u);
  EXPECT_EQ(stats_[0].input_tokens, 10u);
}

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

// ---- loads that fail

TEST_F(EngineBackendTest, EachCauseOfTheChildComesThroughAndTheChildIsGone) {
  start();
  std::size_t number = 0;
  for (const auto cause : {errc::load_failed, errc::load_out_of_memory, errc::load_never_fits,
                           errc::model_file_not_found, errc::invalid_option}) {
    load();
    make_socket(number);
    say(number, EngineFailed{cause, "this is why"});
    ASSERT_TRUE(loaded_ && !*loaded_);
    EXPECT_EQ(loaded_->error().code, cause);
    EXPECT_EQ(loaded_->error().message, "this is why");
    EXPECT_FALSE(process(number++).alive());
  }
}

TEST_F(EngineBackendTest, ChildThatDiesWhileLoadingIsTheCauseWithItsLastOutput) {
  start();
  load();
  make_socket(0);
  say(0, EngineProgress{0.1});
  process(0).print("ggml: something terrible", true);
  process(0).die(SIGSEGV);
  settle();
  ASSERT_TRUE(loaded_ && !*loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_crashed);
  EXPECT_THAT(loaded_->error().message, HasSubstr("SIGSEGV"));
  EXPECT_THAT(loaded_->error().message, HasSubstr("something terrible"));
  server_.reset();
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(EngineBackendTest, ChildThatTalksNonsenseHasFailedAndIsNotTheClientsFault) {
  start();
  load();
  say(0, "{nonsense");
  ASSERT_TRUE(loaded_ && !*loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_failed);
  EXPECT_FALSE(process(0).alive());
}

TEST_F(EngineBackendTest, ProgramThatIsNotThereIsABackendThatIsNotInstalled) {
  start();
  spawner_.next_failure = Error(make_error_code(proc::errc::program_not_found), "no /usr/bin/corral");
  load();
  ASSERT_TRUE(loaded_ && !*loaded_);
  EXPECT_EQ(loaded_->error().code, errc::backend_not_installed);
  EXPECT_THAT(loaded_->error().message, HasSubstr("/usr/bin/corral"));
  spawner_.next_failure = Error(make_error_code(proc::errc::spawn_failed), "no processes left");
  load();
  EXPECT_EQ(loaded_->error().code, errc::load_failed);
}

TEST_F(EngineBackendTest, LoadThatIsGivenUpKillsTheChild) {
  start();
  load();
  make_socket(0);
  group_.cancel();
  settle();
  server_.reset();
  settle();
  EXPECT_FALSE(loaded_);
  EXPECT_FALSE(process(0).alive());
  EXPECT_THAT(sockets(), IsEmpty());
}

// ---- the end

TEST_F(EngineBackendTest, StopAsksThenForces) {
  start();
  load();
  make_socket(0);
  say(0, EngineReady{1});
  process(0).ignore_terminate();
  wait_for(run_stop(Millis(5000)));
  EXPECT_THAT(process(0).signals(), ElementsAre(SIGTERM));
  timers_.advance(Millis(5000));
  settle();
  EXPECT_THAT(process(0).signals(), ElementsAre(SIGTERM, SIGKILL));
  EXPECT_FALSE(process(0).alive());
  EXPECT_EQ(group_.running(), 0u);
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(EngineBackendTest, EndOfTheChildIsNoticedWithItsWords) {
  start();
  load();
  make_socket(0);
  say(0, EngineReady{1});
  wait_for(watch());
  process(0).die(SIGKILL);
  settle();
  EXPECT_THAT(end_, HasSubstr("SIGKILL"));
  EXPECT_THAT(sockets(), IsEmpty());
}

// ---- the spare

TEST_F(EngineBackendTest, SpareTakesTheLoadAndIsReplacedWhenItIsOver) {
  start(true);
  ASSERT_EQ(spawner_.processes().size(), 1u);
  load();
  EXPECT_EQ(spawner_.processes().size(), 1u);
  EXPECT_TRUE(parse_engine_load(heard_by(0)));
  say(0, EngineReady{1});
  ASSERT_TRUE(loaded_ && *loaded_);
  EXPECT_EQ(spawner_.processes().size(), 2u);
  EXPECT_EQ(spawner_.running(), 2u);
}

TEST_F(EngineBackendTest, LaterChildrenAreToldWhichCpuBackendFits) {
  start();
  load();
  EXPECT_THAT(process(0).spec().environment, IsEmpty());
  say(0, EngineReady{1, "/lib/libggml-cpu-zen4.so"});
  load();
  EXPECT_THAT(
      process(1).spec().environment,
      ElementsAre(testing::Pair("CORRAL_CPU_BACKEND", testing::Optional(std::string("/lib/libggml-cpu-zen4.so")))));
  say(1, EngineReady{1});
}

TEST_F(EngineBackendTest, SpareThatDiedIsPassedOver) {
  start(true);
  process(0).die(SIGKILL);
  settle();
  load();
  ASSERT_EQ(spawner_.processes().size(), 2u);
  say(1, EngineReady{1});
  EXPECT_TRUE(loaded_ && *loaded_);
}

TEST_F(EngineBackendTest, SpareThatDiesInTheTurnOfItsOrderIsReplacedByAFreshChild) {
  start(true);
  spawner_.script = nullptr;
  server_ = backend_->create(model(), {});
  group_.spawn("load", run_load());
  process(0).control().close();  // its end isn't known yet, but nobody hears the order
  settle();
  ASSERT_EQ(spawner_.processes().size(), 2u);
  EXPECT_FALSE(loaded_);
  EXPECT_FALSE(process(0).alive());
  say(1, EngineReady{1});
  EXPECT_TRUE(loaded_ && *loaded_);
}

TEST_F(EngineBackendTest, FailedLoadOfASpareIsNotTriedTwice) {
  start(true);
  load();
  say(0, EngineProgress{0.1});
  process(0).die(SIGSEGV);
  settle();
  ASSERT_TRUE(loaded_ && !*loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_crashed);
  EXPECT_EQ(spawner_.running(), 1u);  // the next spare
}

TEST_F(EngineBackendTest, StopOfTheBackendEndsTheSpare) {
  start(true);
  make_socket(0);
  wait_for(backend_->stop());
  EXPECT_EQ(spawner_.running(), 0u);
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(EngineBackendTest, SpareThatCannotBeStartedIsNoMisfortune) {
  spawner_.next_failure = Error(make_error_code(proc::errc::spawn_failed), "no");
  start(true);
  load();
  say(0, EngineReady{1});
  EXPECT_TRUE(loaded_ && *loaded_);
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

}  // namespace
}  // namespace corral::backends
