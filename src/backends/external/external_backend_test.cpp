#include "backends/external/external_backend.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "backends/external/errors.h"
#include "base/log.h"
#include "http/server.h"
#include "models/temp_dir_for_tests.h"
#include "proc/errors.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::backends {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kOnSocket = R"(
recipe = "mine"
types = ["llm", "embedding"]
program = "tool"
command = ["{program}", "--socket", "{socket}", "-m", "{model}", ["-c", "{ctx_size}"], "{args}"]
args = ["-x", "a b"]
listen = "socket"
env = { NAME = "{id}", NOT_SET = "{env.NOBODY}" }
ready = { path = "/ready", status = 200, deadline = "30s" }
paths = { "chat/completions" = "/chat" }
model_name = "theirs"
memory = "files*2+100"
)";

// A played server: counts questions, says when it is ready, answers with what it got.
class Played final : public http::Handler {
 public:
  std::size_t not_yet = 0;
  std::vector<std::string> paths;
  std::string body;

  async::Task<http::Response> handle(http::Request request) override {
    paths.emplace_back(request.head.path());
    if (request.head.method == "GET") co_return http::Response::json(paths.size() > not_yet ? 200 : 503, "{}");
    auto text = co_await request.body.read_all(1 << 20);
    body = text.value_or("");
    co_return http::Response::json(200, "{}");
  }
};

class ExternalBackendTest : public testing::Test {
 protected:
  ExternalBackendTest() {
    log::set_level(log::Level::none);
    std::ofstream(dir_ / "tool") << "x";
    std::filesystem::permissions(dir_ / "tool", std::filesystem::perms::owner_all);
    std::ofstream(dir_ / "model.bin") << std::string(1000, 'x');
  }
  ~ExternalBackendTest() override {
    server_.reset();
    settle();
    if (played_server_) wait_for(played_server_->stop(std::chrono::milliseconds(0)));
    EXPECT_EQ(spawner_.running(), 0u);
    EXPECT_EQ(timers_.sleepers(), 0u);
  }

  void make(std::string_view toml, std::vector<ModelEntry> entries = {}) {
    auto descriptor = parse_descriptor(toml, "mine.toml");
    ASSERT_TRUE(descriptor) << descriptor.error().message;
    ExternalBackendOptions options;
    options.runtime_dir = dir_.path();
    options.program_dirs = {dir_.path()};
    options.environment = [](std::string_view) { return std::nullopt; };
    options.files.offload = [](auto work) { work(); };
    options.port_owner = [this](std::uint16_t, pid_t) { return owner_; };
    options.measured = &measured_;
    backend_.emplace(loop().executor(), timers_, spawner_, std::make_shared<const Descriptor>(std::move(*descriptor)),
                     std::move(entries), std::move(options));
  }
  // Serves where the process was told to.
  void serve() {
    spawner_.script = [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      played_server_.emplace(pool_, played_, http::ServerOptions());
      const auto& argv = process->spec().argv;
      const auto at = std::ranges::find(argv, "--socket");
      if (at != argv.end()) (void)played_server_->listen_unix(*(at + 1));
      co_return;
    };
  }

  async::Loop& loop() { return pool_.home(); }
  void settle() {
    for (int i = 0; i < 30; ++i) {
      loop().context().restart();
      loop().context().poll();
    }
  }
  void pass(Millis time) {
    timers_.advance(time);
    settle();
  }
  void wait_for(async::Task<void> task) {
    group_.spawn("test", std::move(task));
    settle();
  }
  ModelPtr model(ModelType type = ModelType::llm) const {
    models::ModelInfo info;
    info.name = ModelName("m");
    info.recipe = "mine";
    info.type = type;
    info.paths = {dir_ / "model.bin"};
    info.size = Bytes(1000);
    return std::make_shared<const models::ModelInfo>(info);
  }
  void load(LoadOptions options = {}) {
    loaded_.reset();
    server_ = backend_->create(model(), *backend_->resolve(*model(), options));
    wait_for(run_load());
  }
  async::Task<void> run_load() { loaded_.emplace(co_await server_->load({})); }
  Result<> preflight(ModelPtr of) {
    std::optional<Result<>> said;
    auto ask = [](ExternalBackend& backend, ModelPtr about, std::optional<Result<>>& into) -> async::Task<void> {
      into.emplace(co_await backend.preflight(std::move(about), {}));
    };
    wait_for(ask(*backend_, std::move(of), said));
    return said.value_or(Result<>());
  }
  Result<http::Response> post(std::string path, std::string body) {
    std::optional<Result<http::Response>> answer;
    auto ask = [](http::Target& target, http::RequestHead head, std::string text,
                  std::optional<Result<http::Response>>& into) -> async::Task<void> {
      into.emplace(co_await target.send(head, text));
    };
    http::RequestHead head{"POST", std::move(path), {}};
    head.headers.add("Content-Type", "application/json");
    head.headers.add("X-Corral-Client", "tag");
    wait_for(ask(server_->target(loop().executor()), std::move(head), std::move(body), answer));
    return std::move(*answer);
  }
  void stop(Millis grace) {
    auto end = [](WrappedServer& server, Millis time) -> async::Task<void> { co_await server.stop(time); };
    wait_for(end(*server_, grace));
  }
  proc::FakeProcess& process(std::size_t number = 0) { return *spawner_.processes().at(number); }

  const models::TempDir dir_;
  async::LoopPool pool_{1};
  async::ManualTimers timers_{pool_.home().executor()};
  proc::FakeSpawner spawner_{timers_};
  MeasuredMemory measured_{{}};
  PortOwner owner_ = PortOwner::ours;
  Played played_;
  std::optional<http::Server> played_server_;
  std::optional<ExternalBackend> backend_;
  std::unique_ptr<WrappedServer> server_;
  std::optional<Result<>> loaded_;
  async::TaskGroup group_{pool_.home().executor()};
};

TEST_F(ExternalBackendTest, AServerIsStartedWaitedForAndAskedInItsWords) {
  make(kOnSocket);
  serve();
  played_.not_yet = 2;
  LoadOptions wanted;
  wanted.ctx_size = 512;
  load(wanted);
  EXPECT_FALSE(loaded_);
  for (int i = 0; i < 8 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  ASSERT_TRUE(*loaded_) << loaded_->error().message;
  EXPECT_THAT(played_.paths, ElementsAre("/ready", "/ready", "/ready"));
  const auto& spec = process().spec();
  const auto socket = (dir_ / "external-1.sock").native();
  EXPECT_THAT(spec.argv, ElementsAre((dir_ / "tool").native(), "--socket", socket, "-m", (dir_ / "model.bin").native(),
                                     "-c", "512", "-x", "a b"));
  EXPECT_EQ(spec.environment.at("NAME"), "m");
  EXPECT_FALSE(spec.environment.contains("NOT_SET"));
  EXPECT_FALSE(spec.binds_itself);
  EXPECT_GT(spec.log.bytes_per_second, 0u);
  EXPECT_EQ(server_->facts().context_window, 512u);

  const auto answer = post("/v1/chat/completions", R"({"model":"m","x":1})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 200u);
  EXPECT_EQ(played_.paths.back(), "/chat");
  EXPECT_EQ(played_.body, R"({"model":"theirs","x":1})");
  const auto refused = post("/v1/embeddings", "{}");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->head.status, 400u);
  EXPECT_EQ(refused->failure->code, external::errc::not_served);
  stop(Millis(100));
  EXPECT_THAT(process().signals(), ElementsAre(SIGTERM));
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(ExternalBackendTest, AnEndWhileItLoadsSaysWithWhichLastWords) {
  make(kOnSocket);
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print("no such file", true);
    process->exit(2);
    co_return;
  };
  load();
  pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_crashed);
  EXPECT_THAT(loaded_->error().message, AllOf(HasSubstr("exited with code 2"), HasSubstr("no such file")));
}

TEST_F(ExternalBackendTest, ItsDeadlineSaysWhatItWaitedFor) {
  make(kOnSocket);
  serve();
  played_.not_yet = 1000;
  load();
  for (int i = 0; i < 10; ++i) pass(Millis(300));
  EXPECT_FALSE(loaded_);
  const auto work = server_->work();
  for (int i = 0; i < 100 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_failed);
  EXPECT_THAT(loaded_->error().message, HasSubstr("within 30 s: GET /ready returned 503, not 200"));
  EXPECT_GT(work, 0u) << "a server that says 'not yet' is alive";
  EXPECT_THAT(process().signals(), ElementsAre(SIGKILL));
}

TEST_F(ExternalBackendTest, APortThatSomebodyElseTookIsTriedAgainWithAnother) {
  make(R"(
recipe = "mine"
command = ["tool", "--port", "{port}"]
ready = "none"
paths = { "chat/completions" = "/chat" }
)");
  owner_ = PortOwner::another;
  spawner_.script = [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    if (spawner_.processes().size() == 1) {
      process->exit(1);  // the port is taken
    } else {
      owner_ = PortOwner::ours;
    }
    co_return;
  };
  load();
  pass(Millis(300));
  pass(Millis(300));
  ASSERT_TRUE(loaded_);
  ASSERT_TRUE(*loaded_) << loaded_->error().message;
  ASSERT_EQ(spawner_.processes().size(), 2u);
  EXPECT_EQ(process(0).spec().argv[0], (dir_ / "tool").native());
  stop(Millis(0));
}

TEST_F(ExternalBackendTest, NothingIsSentToAPortOfSomebodyElse) {
  make(R"(
recipe = "mine"
command = ["tool", "--port", "{port}"]
ready = { path = "/", deadline = "2s" }
paths = { "chat/completions" = "/chat" }
)");
  owner_ = PortOwner::another;
  load();
  for (int i = 0; i < 10 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_THAT(loaded_->error().message, HasSubstr("another program listens on port"));
  EXPECT_TRUE(played_.paths.empty());
}

TEST_F(ExternalBackendTest, AProgramThatIsntInstalledIsSaidBeforeAnythingElse) {
  make(R"(
recipe = "mine"
program = "nobody-has-this"
command = ["{program}", "{port}"]
paths = { "chat/completions" = "/chat" }
install = "make it yourself"
)");
  const auto refused = preflight(model());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::backend_not_installed);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("nobody-has-this"), HasSubstr("install it: make it yourself")));
  const auto wrong_type = preflight(model(ModelType::image));
  EXPECT_EQ(wrong_type.error().code, errc::invalid_option);
}

TEST_F(ExternalBackendTest, MemoryIsTheRulesUntilItWasMeasured) {
  make(kOnSocket);
  const auto options = *backend_->resolve(*model(), {});
  EXPECT_EQ(backend_->given_memory(*model(), options, Device::cpu)->total, 2100u);
  EXPECT_EQ(backend_->load_deadline(*model()), Millis(35'000));
}

TEST_F(ExternalBackendTest, OptionsOfTheOwnEngineAreNoReasonToLoadAnew) {
  make(kOnSocket);
  LoadOptions one, other;
  one.ctx_size = -1;
  other.ctx_size = 0;
  other.speculative = 3;
  other.flash_attention = "on";
  EXPECT_EQ(fingerprint(*backend_->resolve(*model(), one)), fingerprint(*backend_->resolve(*model(), other)));
  other.ctx_size = 100;
  EXPECT_NE(fingerprint(*backend_->resolve(*model(), one)), fingerprint(*backend_->resolve(*model(), other)));
}

TEST_F(ExternalBackendTest, AModelsEntryCountsOverItsRecipe) {
  KnownBackends known;
  known.descriptors.push_back(std::make_shared<const Descriptor>(*parse_descriptor(kOnSocket, "mine.toml")));
  parse_models("[models.m]\nrecipe = \"mine\"\nttl = 60\ndevice = \"npu\"\n[models.n]\nrecipe = \"mine\"\nttl = 0\n",
               "models.toml", known);
  ASSERT_EQ(known.models.size(), 2u);
  make(kOnSocket, known.models);
  EXPECT_EQ(backend_->device(*model(), {}, Device::cpu), Device::npu);
  EXPECT_EQ(backend_->configured(ModelName("m"))->evict_idle_timeout, Millis(60'000));
  EXPECT_EQ(backend_->configured(ModelName("m"))->auto_evict, true);
  EXPECT_EQ(backend_->configured(ModelName("n"))->auto_evict, false);
  EXPECT_EQ(backend_->configured(ModelName("other")), std::nullopt);
}

TEST_F(ExternalBackendTest, AServerThatShouldRunAndDoesntIsNotReachable) {
  make(R"(
recipe = "mine"
kind = "attach"
url = "http://127.0.0.1:1"
paths = { "chat/completions" = "/chat" }
)");
  EXPECT_TRUE(backend_->attached(*model()));
  EXPECT_EQ(backend_->device(*model(), {}, Device::cpu), Device::none);
  EXPECT_EQ(backend_->given_memory(*model(), {}, Device::none)->total, 0u);
  load();
  // Addresses are looked up on a thread.
  while (!loaded_) {
    loop().context().restart();
    loop().context().run_one();
  }
  EXPECT_EQ(loaded_->error().code, external::errc::not_reachable);
  EXPECT_TRUE(spawner_.processes().empty());
}

constexpr std::string_view kSpeaks = R"(
recipe = "mine"
types = ["tts"]
kind = "exec"
program = "tool"
command = ["{program}", ["-v", "{request.voice}"], ["-s", "{request.speed}"], "--stdin"]
output = "audio/wav"
)";

TEST_F(ExternalBackendTest, AProgramForEachRequestReadsItsTextAndItsOutputIsTheAnswer) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  ASSERT_TRUE(*loaded_);
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->write("RIFF");
    process->write("data");
    process->exit(0);
    co_return;
  };
  auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello","voice":"en","speed":"-w/etc/passwd"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 200u);
  EXPECT_EQ(answer->head.headers.get("Content-Type"), "audio/wav");
  std::string sound;
  auto read = [](http::Response& of, std::string& into) -> async::Task<void> {
    auto text = co_await of.body.read_all(1000);
    into = text.value_or("broken");
  };
  wait_for(read(*answer, sound));
  EXPECT_EQ(sound, "RIFFdata");
  EXPECT_THAT(process().spec().argv, ElementsAre((dir_ / "tool").native(), "-v", "en", "--stdin"));
  EXPECT_TRUE(process().spec().pipes);
}

TEST_F(ExternalBackendTest, AProgramThatFailsBeforeItsFirstByteIsAnError) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print("no such voice", true);
    process->exit(1);
    co_return;
  };
  const auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 502u);
  EXPECT_THAT(answer->body.text(), AllOf(HasSubstr("exited with code 1"), HasSubstr("no such voice")));
  EXPECT_EQ(post("/v1/audio/speech", R"({"model":"m"})")->head.status, 400u);
  EXPECT_EQ(post("/v1/chat/completions", R"({"input":"x"})")->head.status, 400u);
}

TEST_F(ExternalBackendTest, AnAnswerThatIsDroppedTakesItsProgramAlong) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->write("RIFF");
    co_return;
  };
  {
    const auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello"})");
    ASSERT_TRUE(answer);
    EXPECT_EQ(spawner_.running(), 1u);
  }
  settle();
  EXPECT_EQ(spawner_.running(), 0u);
}

}  // namespace
}  // namespace corral::backends
