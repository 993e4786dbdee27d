// The fake keeps the contract of the real thing.
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::proc {
namespace {

using async::Task;
using std::chrono::seconds;

class FakeSpawnerTest : public testing::Test {
 protected:
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  FakeSpawner spawner{timers};
};

TEST_F(FakeSpawnerTest, PlaysItsScript) {
  spawner.script = [&](std::shared_ptr<FakeProcess> process) -> Task<void> {
    process->print("loading");
    co_await timers.sleep_for(seconds(2));
    co_await process->control().write_line("ready");
    const auto command = co_await process->control().read_line();
    process->print(*command);
    process->exit(4);
  };
  auto driver = [&]() -> Task<void> {
    ChildSpec spec{.name = "engine", .argv = {"engine", "--model", "a"}, .control_channel = true};
    const auto child = co_await spawner.spawn(std::move(spec));
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers.advance(seconds(2));
    const auto line = co_await (*child)->control()->read_line();
    EXPECT_EQ(*line, "ready");
    co_await (*child)->control()->write_line("quit");
    EXPECT_EQ(co_await (*child)->wait(), ExitStatus::exited(4));
    EXPECT_EQ((*child)->log().text(), "loading\nquit");
    const auto after = co_await (*child)->control()->read_line();
    EXPECT_EQ(after.error().code, errc::channel_closed);
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(spawner.processes()[0]->spec().argv[2], "a");
  EXPECT_EQ(spawner.running(), 0u);
}

TEST_F(FakeSpawnerTest, StopsAndKillsLikeARealOne) {
  async::TaskGroup group(loop.executor());
  ExitStatus status;
  auto driver = [&]() -> Task<void> {
    auto heeding = co_await spawner.spawn({.name = "a"});
    EXPECT_EQ(co_await (*heeding)->stop(seconds(5)), ExitStatus::killed(SIGTERM));
    auto deaf = co_await spawner.spawn({.name = "b"});
    spawner.processes()[1]->ignore_terminate();
    auto stop = [&]() -> Task<void> { status = co_await (*deaf)->stop(seconds(5)); };
    group.spawn("stop", stop());
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers.advance(seconds(5));
    co_await group.join();
    auto destroyed = co_await spawner.spawn({.name = "c"});
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(status, ExitStatus::killed(SIGKILL));
  EXPECT_EQ(spawner.processes()[1]->signals(), (std::vector{SIGTERM, SIGKILL}));
  EXPECT_EQ(spawner.processes()[2]->status(), ExitStatus::killed(SIGKILL));
}

TEST_F(FakeSpawnerTest, FailsWhenTold) {
  spawner.next_failure = Error(make_error_code(errc::program_not_found), "no");
  EXPECT_EQ(async::run_blocking(loop, spawner.spawn({})).error().code, errc::program_not_found);
  EXPECT_TRUE(async::run_blocking(loop, spawner.spawn({})));
}

}  // namespace
}  // namespace corral::proc
