// A share's process, over played ones.
#include "backends/share_backend.h"

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "async/loop.h"
#include "base/log.h"
#include "models/temp_dir_for_tests.h"
#include "proc/fake_spawner_for_tests.h"
#include "remote/worker_protocol.h"

namespace corral::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ShareBackendTest : public testing::Test {
 protected:
  ShareBackendTest() { log::set_level(log::Level::none); }
  ~ShareBackendTest() override {
    loading_.reset();  // a load under way belongs to its server
    settle();
    server_.reset();
    settle();
    EXPECT_EQ(spawner_.running(), 0u);
    EXPECT_FALSE(std::filesystem::exists(socket()));
  }

  void start(ShareOrder order) {
    backend_.emplace(loop_.executor(), timers_, spawner_,
                     ShareOptions{.program = "/usr/bin/corral",
                                  .runtime_dir = dir_.path(),
                                  .log_dir = {},
                                  .threads = 3,
                                  .watchdog = Millis(4'000),
                                  .proc = dir_.path()},
                     std::move(order));
    server_ = backend_->create(share_model("0123456789ab", 77), {});
    loading_ = std::make_unique<async::TaskGroup>(loop_.executor());
    loading_->spawn("load", load());
    settle();
    if (!spawner_.processes().empty()) std::ofstream(socket()) << "";  // as the real one does
  }
  async::Task<void> load() { loaded_.emplace(co_await server_->load({})); }
  void run(async::Task<void> task) {
    group_.spawn("test", std::move(task));
    settle();
  }
  async::Task<void> watch() { end_ = co_await server_->wait_for_exit(); }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      loop_.context().restart();
      loop_.context().poll();
    }
  }
  proc::FakeProcess& process() { return *spawner_.processes().at(0); }
  void reply(std::string line) {
    auto write = [&]() -> async::Task<void> { co_await process().control().write_line(line); };
    run(write());
  }
  void reply(const remote::WorkerEvent& event) { reply(remote::to_line(event)); }
  std::filesystem::path socket() const { return dir_ / "share-5.sock"; }
  std::string failure() const { return !loaded_ ? "it loads" : *loaded_ ? "none" : loaded_->error().message; }

  const models::TempDir dir_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
  std::optional<ShareBackend> backend_;
  std::unique_ptr<WrappedServer> server_;
  std::optional<Result<>> loaded_;
  std::string end_;
  async::TaskGroup group_{loop_.executor()};
  std::unique_ptr<async::TaskGroup> loading_;
};

TEST_F(ShareBackendTest, AWorkerIsStartedWithWhatItMayTakeAndReadyWhenItSaysSo) {
  start({.number = 5, .bytes = 77, .cache = "/state/weights/x", .cache_bytes = 88, .llama = "9.9"});
  const auto& spec = process().spec();
  EXPECT_THAT(spec.argv, ElementsAre("/usr/bin/corral", "rpc-worker", "--socket", socket().native(), "--threads", "3",
                                     "--memory", "77", "--cache", "/state/weights/x", "--cache-file", "88"));
  EXPECT_THAT(spec.environment, ElementsAre(Pair("MALLOC_CONF", testing::Optional(HasSubstr("background_thread")))));
  EXPECT_TRUE(spec.binds_itself);
  EXPECT_GT(spec.log.bytes_per_second, 0u) << "whatever it prints";
  EXPECT_EQ(failure(), "it loads");
  reply(remote::WorkerReady{.llama = "9.9", .devices = {engine::ComputeDevice()}});
  EXPECT_EQ(failure(), "none");
  EXPECT_EQ(backend_->socket(), socket());
  EXPECT_EQ(backend_->llama(), "9.9");
  EXPECT_EQ(server_->facts().device, Device::cpu);
  EXPECT_EQ(server_->facts().predicted->total(), 77u);
  EXPECT_FALSE(server_->is_askable());
}

TEST_F(ShareBackendTest, ItTakesWhatWasGrantedAndNothingElse) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  EXPECT_EQ(backend_->given_memory({}, {}, Device::cpu)->total, 77u);
  EXPECT_EQ(backend_->given_memory({}, {}, Device::cpu)->dynamic, 0u);
  EXPECT_EQ(backend_->device({}, {}, Device::cpu | Device::gpu), Device::gpu);
  EXPECT_EQ(backend_->device({}, {}, Device::cpu), Device::cpu);
}

// The child is a shadow, which has nothing and does nothing.
TEST_F(ShareBackendTest, WhatItHasAndDoesIsThatOfWhoComputes) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  const auto put = [&](pid_t pid, const std::string& file, const std::string& text) {
    const auto path = dir_ / "proc" / std::to_string(pid) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  const pid_t shadow = process().pid();
  EXPECT_EQ(server_->facts().pid, shadow) << "it isn't locked in yet";
  put(shadow, "task/" + std::to_string(shadow) + "/children", "70 ");
  put(shadow, "statm", "9 1 0 0 0 0 0\n");
  put(70, "statm", "900 100 0 0 0 0 0\n");
  put(70, "stat", "70 (corral) S 1 2 3 4 5 6 10 0 20 0 300 4000 0 0\n");
  EXPECT_EQ(server_->facts().pid, 70);
  EXPECT_EQ(server_->facts().memory_bytes, 100 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(server_->work(), 4330u);
}

TEST_F(ShareBackendTest, NobodyWatchesAWorkerThatIsOver) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerReady{.llama = "9.9"});
  timers_.advance(Millis(1'000));  // it is being asked
  settle();
  run(server_->stop(Millis(0)));
  // At once: tasks of somebody else that unwind later would find nothing.
  server_.reset();
  timers_.advance(Millis(60'000));
  settle();
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ShareBackendTest, AnotherVersionIsRefusedAndItsProcessGoes) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = "9.9"});
  reply(remote::WorkerReady{.llama = "9.8"});
  EXPECT_THAT(failure(), HasSubstr("9.8"));
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ShareBackendTest, WhyThereIsNoWorkerIsTold) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerFailed{"namespaces are forbidden here"});
  EXPECT_THAT(failure(), HasSubstr("namespaces are forbidden here"));
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ShareBackendTest, AWorkerThatTalksNonsenseIsEnded) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply("{]");
  EXPECT_THAT(failure(), HasSubstr("invalid message"));
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ShareBackendTest, AWorkerThatDiesWhileItStartsSaysHow) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  process().print("no library");
  process().die(SIGABRT);
  settle();
  EXPECT_THAT(failure(), testing::AllOf(HasSubstr("signal 6"), HasSubstr("no library")));
  EXPECT_EQ(loaded_->error().code, errc::load_crashed);
}

TEST_F(ShareBackendTest, AProgramThatIsntThereIsAFailure) {
  spawner_.next_failure = Error(make_error_code(proc::errc::program_not_found), "no such program");
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  EXPECT_THAT(failure(), HasSubstr("no such program"));
}

// SIGTERM has its shadow kill it and wait until its memory is free; SIGKILL would end the shadow at once.
TEST_F(ShareBackendTest, ItIsOverWhenItsMemoryIsFreeWhateverTheGrace) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerReady{.llama = "9.9"});
  process().ignore_terminate();
  run(server_->stop(Millis(0)));
  EXPECT_THAT(process().signals(), ElementsAre(SIGCONT, SIGTERM));
  timers_.advance(Millis(120'000));
  settle();
  EXPECT_THAT(process().signals(), ElementsAre(SIGCONT, SIGTERM)) << "it was much";
  process().die(SIGKILL);
  settle();
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(ShareBackendTest, AShadowThatDoesNothingGoesInTheEnd) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerReady{.llama = "9.9"});
  process().ignore_terminate();
  run(server_->stop(Millis(0)));
  timers_.advance(Millis(300'000));
  settle();
  EXPECT_EQ(spawner_.running(), 0u);
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(ShareBackendTest, TheEndOfAWorkerIsSeenAndItsSocketGoes) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerReady{.llama = "9.9"});
  run(watch());
  process().die(SIGKILL);
  settle();
  EXPECT_THAT(end_, HasSubstr("signal 9"));
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

// As `corral rpc-worker` answers; or not.
TEST_F(ShareBackendTest, AWorkerThatGivesNoSignOfLifeIsKilled) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  reply(remote::WorkerReady{.llama = "9.9"});
  run(watch());
  const auto pass_second = [&] {
    timers_.advance(Millis(1'000));
    settle();
  };
  bool answers = true;
  auto live = [&]() -> async::Task<void> {
    while (true) {
      const auto asked = co_await process().control().read_line();
      if (!asked) co_return;
      EXPECT_EQ(*asked, remote::kAskAlive);
      if (answers) co_await process().control().write_line(std::string(remote::kAlive));
    }
  };
  run(live());
  for (int i = 0; i < 100; ++i) pass_second();
  EXPECT_EQ(spawner_.running(), 1u);
  answers = false;
  for (int i = 0; i < 2; ++i) pass_second();
  answers = true;  // it was only slow
  for (int i = 0; i < 10; ++i) pass_second();
  EXPECT_EQ(spawner_.running(), 1u);
  answers = false;
  for (int i = 0; i < 5; ++i) pass_second();
  EXPECT_EQ(spawner_.running(), 0u);
  EXPECT_EQ(end_, "it did not respond for 4 s and was killed");
}

TEST_F(ShareBackendTest, ALoadThatIsGivenUpLeavesNothing) {
  start({.number = 5, .bytes = 77, .cache = {}, .llama = ""});
  loading_.reset();
  settle();
  run(server_->stop(Millis(0)));
  EXPECT_EQ(spawner_.running(), 0u);
}

}  // namespace
}  // namespace corral::backends
