// For tests of the engine backend: with fake processes, on one loop that the test runs.
#pragma once

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/engine_backend.h"
#include "backends/engine_leftovers.h"
#include "backends/engine_protocol.h"
#include "base/log.h"
#include "models/temp_dir_for_tests.h"
#include "proc/errors.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::backends {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineBackendFixture : public testing::Test {
 protected:
  EngineBackendFixture() {
    log::set_level(log::Level::none);
    std::ofstream(dir_ / "a.gguf") << "GGUF";
  }
  // Everything is at rest before what the tasks use goes.
  ~EngineBackendFixture() override {
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
    options.files.offload = [this](auto work) { hold_looks_ ? held_looks_.push_back(std::move(work)) : work(); };
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
  // What check_files() says; none: it waits.
  std::optional<Result<>> check_files(LoadOptions options = {}) {
    auto there = std::make_shared<std::optional<Result<>>>();
    auto check = [](EngineBackend& by, ModelPtr of, LoadOptions with,
                    std::shared_ptr<std::optional<Result<>>> into) -> async::Task<void> {
      into->emplace(co_await by.check_files(std::move(of), std::move(with)));
    };
    wait_for(check(*backend_, model(), std::move(options), there));
    return *there;
  }
  static MemoryEstimate estimate_of(std::uint64_t kv) {
    MemoryEstimate estimate;
    estimate.devices = {{.device = "cpu", .kv = kv}};
    return estimate;
  }
  async::Task<void> run_stop(Millis grace) { co_await server_->stop(grace); }
  async::Task<void> watch() { end_ = co_await server_->wait_for_exit(); }

  proc::FakeProcess& process(std::size_t number) { return *spawner_.processes().at(number); }
  std::string sent_to(std::size_t number) {
    std::string line_sent;
    auto read = [&]() -> async::Task<void> {
      line_sent = (co_await process(number).control().read_line()).value_or("nothing");
    };
    wait_for(read());
    return line_sent;
  }
  void reply(std::size_t number, const std::string& line) {
    auto write = [&]() -> async::Task<void> { co_await process(number).control().write_line(line); };
    wait_for(write());
  }
  void reply(std::size_t number, const EngineEvent& event) { reply(number, to_line(event)); }
  // As the real engine process does once it listens.
  void make_socket(std::size_t number) { std::ofstream(process(number).spec().argv.at(3)) << ""; }
  std::vector<std::string> sockets() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().extension() == ".sock") names.push_back(entry.path().filename());
    }
    return names;
  }

  bool hold_looks_ = false;
  std::vector<std::move_only_function<void()>> held_looks_;
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

}  // namespace corral::backends
