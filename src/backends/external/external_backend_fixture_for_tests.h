// For tests of external backends: with fake processes and a played server, on one loop that the test runs.
#pragma once

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "backends/external/errors.h"
#include "backends/external/external_backend.h"
#include "base/log.h"
#include "http/server.h"
#include "models/temp_dir_for_tests.h"
#include "proc/errors.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::backends {

inline constexpr std::string_view kOnSocket = R"(
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
  unsigned status = 200;  // of requests
  std::string answer_body = "{}";
  std::vector<std::string> paths;
  std::string body;

  async::Task<http::Response> handle(http::Request request) override {
    paths.emplace_back(request.head.path());
    if (request.head.method == "GET") co_return http::Response::json(paths.size() > not_yet ? 200 : 503, "{}");
    auto text = co_await request.body.read_all(1 << 20);
    body = text.value_or("");
    co_return http::Response::json(status, answer_body);
  }
};

class ExternalBackendFixture : public testing::Test {
 protected:
  ExternalBackendFixture() {
    log::set_level(log::Level::none);
    std::ofstream(dir_ / "tool") << "x";
    std::filesystem::permissions(dir_ / "tool", std::filesystem::perms::owner_all);
    std::ofstream(dir_ / "model.bin") << std::string(1000, 'x');
  }
  ~ExternalBackendFixture() override {
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
      played_server_.emplace(pool_, *handler_, http::ServerOptions());
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
  async::Task<void> run_load() {
    WrappedServer::Hooks hooks;
    hooks.request_done = [this](const RequestStats& stats) { done_.push_back(stats); };
    loaded_.emplace(co_await server_->load(std::move(hooks)));
  }
  Result<> preflight(ModelPtr of) {
    std::optional<Result<>> outcome;
    auto ask = [](ExternalBackend& backend, ModelPtr about, std::optional<Result<>>& into) -> async::Task<void> {
      into.emplace(co_await backend.preflight(std::move(about), {}));
    };
    wait_for(ask(*backend_, std::move(of), outcome));
    return outcome.value_or(Result<>());
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
  http::Handler* handler_ = &played_;
  std::optional<http::Server> played_server_;
  std::optional<ExternalBackend> backend_;
  std::unique_ptr<WrappedServer> server_;
  std::optional<Result<>> loaded_;
  std::vector<RequestStats> done_;
  async::TaskGroup group_{pool_.home().executor()};
};

inline constexpr std::string_view kSpeaks = R"(
recipe = "mine"
types = ["tts"]
kind = "exec"
program = "tool"
command = ["{program}", ["-v", "{request.voice}"], ["-s", "{request.speed}"], "--stdin"]
output = "audio/wav"
)";

}  // namespace corral::backends
