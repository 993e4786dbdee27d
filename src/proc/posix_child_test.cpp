// Ends, signals, stopping, output, working directory and environment of real processes.
#include <csignal>
#include <fstream>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <sys/wait.h>

#include "async/task_group.h"
#include "proc/process_test_support.h"

namespace corral::proc {
namespace {

using async::Task;
using std::chrono::seconds;

using PosixChildTest = RealProcesses;

bool has_children() {
  siginfo_t info = {};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(PosixChildTest, ReportsExitCodesAndSignals) {
  EXPECT_EQ(run(shell("exit 0")), ExitStatus::exited(0));
  EXPECT_EQ(run(shell("exit 42")).describe(), "exited with code 42");
  EXPECT_EQ(run(shell("kill -9 $$")).describe(), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(run(shell("kill -6 $$")), ExitStatus::killed(SIGABRT));
  EXPECT_EQ(ExitStatus().describe(), "ended with an unknown status");
  EXPECT_FALSE(has_children());
}

TEST_F(PosixChildTest, ProgramsAreFoundInPathAndLastLinesAreThereAtTheEnd) {
  EXPECT_EQ(run({.name = "echo", .argv = {"printf", "a\\nb"}}), ExitStatus::exited(0));
  EXPECT_EQ(output, "a\nb");
}

TEST_F(PosixChildTest, FailuresToStartAreTyped) {
  const auto code_of = [&](ChildSpec spec) {
    const auto child = async::run_blocking(loop, spawner.spawn(std::move(spec)));
    return child ? std::error_code() : child.error().code;
  };
  EXPECT_EQ(code_of({.argv = {"no-such-program-here"}}), errc::program_not_found);
  EXPECT_EQ(code_of({.argv = {"/no/such/program"}}), errc::program_not_found);
  EXPECT_EQ(code_of({.argv = {"/no/such/program"}, .binds_itself = true}), errc::program_not_found);
  const auto plain_file = std::filesystem::path(testing::TempDir()) / "corral_no_program";
  std::ofstream(plain_file) << "text";
  EXPECT_EQ(code_of({.argv = {plain_file}}), errc::permission_denied);
  EXPECT_EQ(code_of({.argv = {plain_file}, .binds_itself = true}), errc::permission_denied);
  std::filesystem::remove(plain_file);
  EXPECT_EQ(code_of({.argv = {"true"}, .working_directory = "/no/such/place"}), errc::bad_working_directory);
  EXPECT_EQ(code_of({.argv = {}}), errc::spawn_failed);
  EXPECT_EQ(code_of({.argv = {"true", std::string(4 << 20, 'x')}}), errc::spawn_failed);
  EXPECT_FALSE(has_children());
  const auto missing = async::run_blocking(loop, spawner.spawn({.argv = {"no-such-program-here"}}));
  EXPECT_EQ(missing.error().message, "program 'no-such-program-here' (or its interpreter) not found");
}

TEST_F(PosixChildTest, EnvironmentAndWorkingDirectoryAreItsOwn) {
  ::setenv("CORRAL_ENGINE_INHERITED", "yes", 1);
  ::setenv("CORRAL_ENGINE_REMOVED", "no", 1);
  ::setenv("CORRAL_API_KEY", "secret", 1);
  ::setenv("HF_TOKEN", "hf_secret", 1);
  for (const bool direct : {false, true}) {
    auto spec =
        shell("echo $CORRAL_ENGINE_INHERITED,$CORRAL_ENGINE_REMOVED,$CORRAL_TEST_SET,$CORRAL_API_KEY,$HF_TOKEN; pwd");
    spec.environment = {{"CORRAL_ENGINE_REMOVED", std::nullopt}, {"CORRAL_TEST_SET", "a=b c"}};
    spec.working_directory = "/usr";
    spec.binds_itself = direct;
    EXPECT_EQ(run(std::move(spec)), ExitStatus::exited(0));
    EXPECT_EQ(output, "yes,,a=b c,,\n/usr");
  }
  ::unsetenv("CORRAL_API_KEY");
  ::unsetenv("HF_TOKEN");
}

TEST_F(PosixChildTest, InheritsNeitherDescriptorsNorSignalHandling) {
  const UniqueFd leak(::open("/dev/null", O_RDONLY));  // not close-on-exec
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  for (const bool direct : {false, true}) {
    auto spec = mode("descriptors");
    spec.binds_itself = direct;
    EXPECT_EQ(run(spec), ExitStatus::exited(0));
    EXPECT_EQ(output, "");
    spec.control_channel = true;
    EXPECT_EQ(run(spec), ExitStatus::exited(0));
    EXPECT_EQ(output, "fd 3");
    auto handling = mode("signals");
    handling.binds_itself = direct;
    EXPECT_EQ(run(handling), ExitStatus::exited(0));
    EXPECT_EQ(output, "");
  }
  std::signal(SIGPIPE, old);
}

TEST_F(PosixChildTest, StopIsGentleToThoseWhoHeed) {
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start_ready(mode("heed-terminate"));
    EXPECT_TRUE(child->alive());
    EXPECT_EQ(co_await child->stop(seconds(5)), ExitStatus::exited(3));
    EXPECT_EQ(child->log().text(), "ready\nbye");
    EXPECT_FALSE(child->alive());
    child->kill(SIGKILL);
    EXPECT_EQ(co_await child->stop(seconds(5)), ExitStatus::exited(3));
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(timers.sleepers(), 0u);
}

TEST_F(PosixChildTest, StopKillsWhenTheGraceIsOver) {
  async::TaskGroup group(loop.executor());
  ExitStatus status;
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start_ready(mode("ignore-terminate"));
    auto stop = [&]() -> Task<void> { status = co_await child->stop(seconds(5)); };
    group.spawn("stop", stop());
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers.advance(seconds(4));
    co_await async::asio::post(async::use_task);
    EXPECT_TRUE(child->alive());
    timers.advance(seconds(1));
    co_await group.join();
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(status, ExitStatus::killed(SIGKILL));
}

TEST_F(PosixChildTest, CancelledStopKillsNobody) {
  async::TaskGroup group(loop.executor());
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start_ready(mode("ignore-terminate"));
    auto stop = [&]() -> Task<void> { co_await child->stop(seconds(5)); };
    group.spawn("stop", stop());
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    group.cancel();
    co_await group.join();
    child->kill(SIGUSR1);  // would be SIGKILL otherwise
    EXPECT_EQ(co_await child->wait(), ExitStatus::killed(SIGUSR1));
  };
  async::run_blocking(loop, driver());
}

TEST_F(PosixChildTest, DestroyingItKillsAndReapsAndTellsItsWaiters) {
  async::TaskGroup group(loop.executor());
  std::vector<ExitStatus> seen;
  auto driver = [&]() -> Task<void> {
    auto child = co_await start_ready(mode("ignore-terminate"));
    auto watch = [&]() -> Task<void> {
      auto end = child->wait();
      seen.push_back(co_await std::move(end));
    };
    group.spawn("watch", watch());
    group.spawn("watch", watch());
    child.reset();
    co_await group.join();
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(seen, std::vector(2, ExitStatus::killed(SIGKILL)));
  EXPECT_FALSE(has_children());
}

TEST_F(PosixChildTest, AGroupNeverOutlivesItsLeader) {
  auto driver = [&]() -> Task<void> {
    auto spec = shell("sleep 1000 & echo $!; read line <&3; exit 1");
    spec.control_channel = true;
    const auto child = co_await start_ready(std::move(spec));
    const UniqueFd member(pidfd_of(std::stoi(child->log().text())));
    EXPECT_TRUE(member);
    co_await child->control()->write_line("go");
    EXPECT_EQ(co_await child->wait(), ExitStatus::exited(1));
    EXPECT_TRUE(has_ended(member));
  };
  async::run_blocking(loop, driver());
}

// The pidfd is non-blocking by then, which must not keep the last owner from waiting.
TEST_F(PosixChildTest, ChildThatEndsAfterItsLoopIsReaped) {
  {
    async::Loop short_lived;
    auto driver = [&]() -> Task<void> {
      const auto child = co_await start_ready(mode("ignore-terminate"));
      co_await async::asio::post(async::use_task);
    };
    async::run_blocking(short_lived, driver());
  }
  EXPECT_FALSE(has_children());
}

TEST_F(PosixChildTest, TenMegabytesOfJunkDontBlockIt) {
  std::size_t lines = 0, long_lines = 0;
  auto spec = mode("flood", std::to_string(10 << 20));
  spec.log = {.lines = 50, .line_bytes = 60, .bytes = 4096};
  spec.on_line = [&](const LogLine& line) {
    ++lines;
    if (line.text.size() > 60 * 3 + 3) ++long_lines;
  };
  EXPECT_EQ(run(std::move(spec)), ExitStatus::exited(0));
  EXPECT_GT(lines, 100'000u);
  EXPECT_EQ(long_lines, 0u);
  EXPECT_LE(output.size(), 4096u + 50);
  EXPECT_EQ(output, [&] {
    std::string rows;
    for (std::size_t at = 0; at <= output.size();) {
      const auto end = std::min(output.find('\n', at), output.size());
      rows += (at ? "\n" : "") + clean_text(output.substr(at, end - at));
      at = end + 1;
    }
    return rows;
  }());
}

TEST_F(PosixChildTest, WhoPrintsFasterThanItMayWaits) {
  std::size_t bytes = 0;
  auto spec = mode("flood", std::to_string(10 << 20));
  spec.log.bytes_per_second = 1024;
  spec.on_line = [&](const LogLine& line) { bytes += line.text.size(); };
  const auto until = [](auto done) -> Task<void> {
    while (!done()) co_await async::asio::post(async::use_task);
  };
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start(std::move(spec));
    co_await until([&] { return timers.sleepers() == 2; });  // both of its outputs
    const std::size_t at_first = bytes;
    EXPECT_LE(at_first, 3u * 2 * 32 * 1024) << "a byte that is none of a text becomes three";
    timers.advance(std::chrono::minutes(1));
    co_await until([&] { return bytes > at_first && timers.sleepers() == 2; });
    EXPECT_TRUE(child->alive()) << "it waits in the middle of its flood";
    child->kill(SIGKILL);
    co_await child->wait();
    timers.advance(std::chrono::minutes(1));
    co_await until([&] { return timers.sleepers() == 0; });
  };
  async::run_blocking(loop, driver());
}

TEST_F(PosixChildTest, WhatLibrariesPrintOfClientsTextsIsLeftOut) {
  for (const auto* size : {"3", "8000", "8192", "100000"}) {
    EXPECT_EQ(run(mode("print-secrets", size)), ExitStatus::exited(0));
    EXPECT_EQ(output,
              "plain 1\nparse: error (client's text omitted)\nplain 2\n"
              "WARNING: (client's text omitted)\nno parse: error")
        << size;
  }
}

TEST_F(PosixChildTest, OneEndlessLineStaysBounded) {
  auto spec = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end");
  spec.log.line_bytes = 10;
  EXPECT_EQ(run(std::move(spec)), ExitStatus::exited(0));
  EXPECT_EQ(output, "xxxxxxxxxx…\nend");
}

TEST_F(PosixChildTest, LinesGoToTheFileToo) {
  const auto path = std::filesystem::path(testing::TempDir()) / "corral_child_test.log";
  std::filesystem::remove(path);
  auto spec = shell("echo out; echo err >&2");
  spec.log_file = path;
  EXPECT_EQ(run(std::move(spec)), ExitStatus::exited(0));
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.size(), 8u);
  EXPECT_NE(text.find("err\n"), std::string::npos);
  std::filesystem::remove(path);
}

// Also when nobody is left who waits for its end: the file of a pid is gone before the pid is free.
TEST_F(PosixChildTest, WhatItLeavesBehindIsRemovedHoweverItEnds) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "corral_leftovers_test";
  std::filesystem::create_directories(folder);
  const auto leaving = [&](const std::string& then) {
    auto spec = shell("touch " + (folder / "left-$$-here").native() + "; echo ready; " + then);
    spec.leftovers = {folder / "left-{pid}-here", folder / "never-there-{pid}"};
    return spec;
  };
  const auto is_left = [&](pid_t pid) {
    return std::filesystem::exists(folder / ("left-" + std::to_string(pid) + "-here"));
  };
  auto driver = [&]() -> Task<void> {
    auto child = co_await start_ready(leaving("exec sleep 1000"));
    const auto pid = child->pid();
    EXPECT_TRUE(is_left(pid));
    child->kill(SIGKILL);
    EXPECT_EQ(co_await child->wait(), ExitStatus::killed(SIGKILL));
    EXPECT_FALSE(is_left(pid));
    child = co_await start_ready(leaving("exec sleep 1000"));
    child.reset();
    while (has_children()) co_await async::asio::post(async::use_task);
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(run(leaving("exit 0")), ExitStatus::exited(0));
  {
    async::Loop short_lived;
    auto outlived = [&]() -> Task<void> { const auto child = co_await start_ready(leaving("exec sleep 1000")); };
    async::run_blocking(short_lived, outlived());
  }
  EXPECT_FALSE(has_children());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_F(PosixChildTest, TwoHundredChildrenLeaveNothingBehind) {
  auto driver = [&](int count) -> Task<void> {
    for (int i = 0; i < count; ++i) {
      auto spec = shell(i % 2 ? "exit 0" : "read x </dev/null; exec sleep 1000");
      spec.control_channel = i % 3 == 0;
      const auto child = co_await start(std::move(spec));
      if (i % 4 == 1) co_await child->wait();
      if (i % 4 == 2) co_await child->stop(seconds(5));
      if (i % 4 == 0) continue;  // destroyed while it runs
    }
    // Those destroyed just now are reaped on later turns of the loop.
    while (has_children()) co_await async::asio::post(async::use_task);
  };
  async::run_blocking(loop, driver(4));
  const auto before = open_descriptors();
  async::run_blocking(loop, driver(200));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST_F(PosixChildTest, CancelledSpawnLeavesNoChild) {
  async::TaskGroup group(loop.executor());
  auto driver = [&]() -> Task<void> {
    auto begin = [&]() -> Task<void> { co_await start(mode("ignore-terminate")); };
    for (int i = 0; i < 20; ++i) group.spawn("start", begin());
    for (int i = 0; i < 10; ++i) co_await async::asio::post(async::use_task);
    group.cancel();
    co_await group.join();
    while (has_children()) co_await async::asio::post(async::use_task);
  };
  async::run_blocking(loop, driver());
}

}  // namespace
}  // namespace corral::proc
