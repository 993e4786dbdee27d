// The engine's recipe over played processes: what the child is told, what becomes of what it says, and of its end.
#include "backends/engine_backend_fixture_for_tests.h"

namespace corral::backends {
namespace {

using EngineBackendTest = EngineBackendFixture;

TEST_F(EngineBackendTest, ChildIsToldWhatToLoadAndReadyEndsTheLoad) {
  start();
  load({2048, 4, 2, -1, ""});
  ASSERT_EQ(spawner_.processes().size(), 1u);
  EXPECT_THAT(process(0).spec().argv, ElementsAre("/usr/bin/corral", "engine", "--socket", HasSubstr("engine-1.sock")));
  EXPECT_EQ(process(0).spec().leftovers, engine_leftovers());
  const auto order = parse_engine_load(sent_to(0));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->model, "a");
  EXPECT_EQ(order->path, (dir_ / "a.gguf").native());
  EXPECT_EQ(order->type, ModelType::embedding);
  EXPECT_EQ(order->options.ctx_size, 2048);

  reply(0, EngineProgress{0.5});
  EXPECT_THAT(progress_, ElementsAre(0.5));
  EXPECT_FALSE(loaded_);
  reply(0, EngineReady{2048});
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
  reply(0, EngineReady{2048});
  reply(0, RequestStats{10, 5, 0, 0.1, 50});
  reply(0, "nonsense");
  reply(0, RequestStats{1, 1, 0, 0.1, 50});
  ASSERT_EQ(stats_.size(), 2u);
  EXPECT_EQ(stats_[0].input_tokens, 10u);
}

// ---- memory, before the load

TEST_F(EngineBackendTest, PreflightAsksNobodyWhereEverythingFits) {
  host_ = {.total = 64ull << 30, .available = 0};
  start();
  load();
  reply(0, EngineReady{8192});
  preflight({8192, 16, 0, -1, ""});
  ASSERT_TRUE(fits_);
  EXPECT_TRUE(*fits_);
  EXPECT_EQ(spawner_.processes().size(), 1u);
}

// A load of a file that the engine can't read evicts no model.
TEST_F(EngineBackendTest, PreflightTriesFilesThatWereNeverLoaded) {
  start();
  ASSERT_TRUE(check_files());
  preflight({});
  EXPECT_EQ(process(0).spec().argv.back(), "--estimate");
  reply(0, EngineFailed{errc::load_failed, "unknown model architecture: 'nonesuch'"});
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().code, errc::file_unusable);
  EXPECT_EQ(fits_->error().param, "model");
  preflight({});
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(spawner_.processes().size(), 1u) << "the file is as it was";
  std::ofstream(dir_ / "a.gguf") << "GGUF, a better one";
  preflight({});
  for (std::size_t number : {1, 2}) {
    process(number).die(SIGFPE);
    settle();
  }
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().code, errc::file_unusable);
  std::ofstream(dir_ / "a.gguf") << "GGUF, the best";
  preflight({});
  process(3).die(SIGKILL);
  settle();
  EXPECT_TRUE(fits_ && *fits_) << "there may have been too little memory";
}

TEST_F(EngineBackendTest, ACheckerOfRequestsIsAnEngineWithoutWeights) {
  start();
  server_ = backend_->create_checker(model(), LoadOptions{4096, 16, 0, -1, "auto"});
  wait_for(run_load());
  const auto order = parse_engine_load(sent_to(0));
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->without_weights);
  EXPECT_EQ(order->options.ctx_size, 4096);
  reply(0, EngineReady{4096});
  EXPECT_TRUE(loaded_ && *loaded_);
}

// What is refused unloads nobody: so it is asked before anybody has to go.
TEST_F(EngineBackendTest, PreflightAsksWhereGpusAreSharedOut) {
  host_ = {.total = 64ull << 30, .available = 0};
  start();
  LoadOptions options{8192, 16, 0, -1, ""};
  options.devices = {"CUDA7"};
  preflight(options);
  ASSERT_EQ(spawner_.processes().size(), 1u);
  reply(0, EngineFailed{errc::invalid_option, "there is no GPU 'CUDA7'; this engine has CUDA0", "devices"});
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().param, "devices");

  options.devices = {"CUDA0"};
  preflight(options);
  auto large = estimate_of(1);
  large.devices.push_back({.device = "cuda0", .weights = 30ull << 30, .have = 24ull << 30});
  reply(1, EngineEvent(large));
  ASSERT_TRUE(fits_ && !*fits_);
  EXPECT_EQ(fits_->error().code, errc::load_never_fits);
  EXPECT_THAT(fits_->error().message, HasSubstr("needs 30.0 GiB on cuda0, which has 24.0 GiB"));

  options.devices.reset();
  options.gpu_layers = 0;
  preflight(options);
  EXPECT_TRUE(fits_ && *fits_) << "none is used";
  EXPECT_EQ(spawner_.processes().size(), 2u);
}

TEST_F(EngineBackendTest, PreflightRefusesWhatNeverFitsWithNeedAndHave) {
  host_ = {.total = 4ull << 30, .available = 4ull << 30};
  start();
  preflight({1 << 24, 16, 0, -1, ""});
  ASSERT_EQ(spawner_.processes().size(), 1u);
  EXPECT_THAT(process(0).spec().argv, ElementsAre("/usr/bin/corral", "engine", "--estimate"));
  EXPECT_EQ(parse_engine_load(sent_to(0))->options.ctx_size, 1 << 24);
  EXPECT_FALSE(fits_);
  reply(0, EngineEvent(estimate_of(5ull << 30)));
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
  reply(0, EngineEvent(estimate_of(3ull << 30)));
  EXPECT_TRUE(fits_ && *fits_);
  preflight({1 << 23, 16, 0, -1, ""});
  for (std::size_t number : {1, 2}) {
    process(number).die(SIGSEGV);
    settle();
  }
  EXPECT_TRUE(fits_ && *fits_) << "a broken estimate is no reason to refuse";
  preflight({1 << 22, 16, 0, -1, ""});
  reply(3, EngineFailed{errc::invalid_option, "no such cache type"});
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
    reply(number, EngineFailed{cause, "this is why"});
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
  reply(0, EngineProgress{0.1});
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
  reply(0, "{nonsense");
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
  reply(0, EngineReady{1});
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
  reply(0, EngineReady{1});
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
  EXPECT_TRUE(parse_engine_load(sent_to(0)));
  reply(0, EngineReady{1});
  ASSERT_TRUE(loaded_ && *loaded_);
  EXPECT_EQ(spawner_.processes().size(), 2u);
  EXPECT_EQ(spawner_.running(), 2u);
}

TEST_F(EngineBackendTest, LaterChildrenAreToldWhichCpuBackendFits) {
  start();
  load();
  EXPECT_THAT(process(0).spec().environment, IsEmpty());
  reply(0, EngineReady{1, "/lib/libggml-cpu-zen4.so"});
  load();
  EXPECT_THAT(
      process(1).spec().environment,
      ElementsAre(testing::Pair("CORRAL_CPU_BACKEND", testing::Optional(std::string("/lib/libggml-cpu-zen4.so")))));
  reply(1, EngineReady{1});
}

TEST_F(EngineBackendTest, SpareThatDiedIsPassedOver) {
  start(true);
  process(0).die(SIGKILL);
  settle();
  load();
  ASSERT_EQ(spawner_.processes().size(), 2u);
  reply(1, EngineReady{1});
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
  reply(1, EngineReady{1});
  EXPECT_TRUE(loaded_ && *loaded_);
}

TEST_F(EngineBackendTest, FailedLoadOfASpareIsNotTriedTwice) {
  start(true);
  load();
  reply(0, EngineProgress{0.1});
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
  reply(0, EngineReady{1});
  EXPECT_TRUE(loaded_ && *loaded_);
}

// Every load was a 500 that evicted everybody.
TEST(RuntimeDir, WhoseSocketsWouldHaveNoNameIsRefused) {
  EXPECT_TRUE(EngineBackend::check_runtime_dir("/run/user/1000/corral-abcdef"));
  const std::string longest = "/" + std::string(85, 'r');
  EXPECT_TRUE(EngineBackend::check_runtime_dir(longest));
  const auto refused = EngineBackend::check_runtime_dir(longest + "r");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "'" + longest +
                                         "r' has 87 bytes, at most 86 are allowed: the path of a socket in it "
                                         "must not exceed 107");
}

}  // namespace
}  // namespace corral::backends
