// Nothing outlives the router, however it ends.
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include <sys/wait.h>

#include "proc/process_test_support.h"

namespace corral::proc {
namespace {

using async::Task;

class ParentDeathTest : public RealProcesses {
 protected:
  // A process that started a child of its own with `child_mode` is killed; its child must end too.
  void kill_parent_of(const std::string& child_mode) {
    auto driver = [&]() -> Task<void> {
      // Started directly: a guardian would end all of them.
      auto spec = mode("parent", child_mode);
      spec.binds_itself = true;
      const auto parent = co_await start_ready(std::move(spec));
      const auto all = watched(parent->log().text());
      EXPECT_NE(::getpgid(std::stoi(parent->log().text())), parent->pid());
      parent->kill(SIGKILL);
      EXPECT_EQ(co_await parent->wait(), ExitStatus::killed(SIGKILL));
      for (const auto& pidfd : all) EXPECT_TRUE(has_ended(pidfd));
    };
    async::run_blocking(loop, driver());
  }

  // The processes whose pids are in the text; "ready" is none.
  static std::vector<UniqueFd> watched(const std::string& text) {
    std::vector<UniqueFd> all;
    std::istringstream words(text);
    for (pid_t pid = 0; words >> pid;) {
      all.emplace_back(pidfd_of(pid));
      EXPECT_TRUE(all.back()) << pid;
    }
    return all;
  }

  // A program that has started others ends like this; nothing of it is left.
  using Ending = Task<void> (*)(std::unique_ptr<Child>);
  void end_family(Ending ending) {
    auto driver = [&]() -> Task<void> {
      auto child = co_await start_ready(mode("family"));
      const auto all = watched(child->log().text());
      EXPECT_EQ(all.size(), 3u);
      auto ended = ending(std::move(child));
      co_await std::move(ended);
      for (const auto& pidfd : all) EXPECT_TRUE(has_ended(pidfd));
    };
    async::run_blocking(loop, driver());
  }
};

TEST_F(ParentDeathTest, KilledRouterTakesForeignProgramsAlong) { kill_parent_of("ignore-terminate"); }

TEST_F(ParentDeathTest, KilledRouterTakesAllAlongThatAProgramHasStarted) { kill_parent_of("family"); }

TEST_F(ParentDeathTest, NothingOutlivesTheProgramThatHasStartedIt) {
  end_family([](std::unique_ptr<Child> child) -> Task<void> {
    EXPECT_EQ(co_await child->stop(std::chrono::seconds(5)), ExitStatus::killed(SIGTERM));
  });
  end_family([](std::unique_ptr<Child> child) -> Task<void> {
    child->kill(SIGKILL);
    EXPECT_EQ(co_await child->wait(), ExitStatus::killed(SIGKILL));
  });
  end_family([](std::unique_ptr<Child> child) -> Task<void> {
    ::kill(child->pid(), SIGUSR2);
    EXPECT_EQ(co_await child->wait(), ExitStatus::killed(SIGUSR2));
  });
  end_family([](std::unique_ptr<Child> child) -> Task<void> {
    child.reset();
    co_return;
  });
}

// The process that guards this program; 0: unknown.
pid_t guardian_of(const Child& child) {
  std::ifstream file("/proc/" + std::to_string(child.pid()) + "/status");
  for (std::string name; file >> name;) {
    pid_t parent = 0;
    if (name == "PPid:" && file >> parent) return parent;
  }
  return 0;
}

TEST_F(ParentDeathTest, AStoppedGuardianKillsWhatItGuards) {
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start_ready(mode("family"));
    const auto all = watched(child->log().text());
    const auto guardian = guardian_of(*child);
    EXPECT_GT(guardian, 1);
    if (guardian <= 1) co_return;  // these aren't processes that a test may stop
    ::kill(guardian, SIGSTOP);
    siginfo_t info = {};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(guardian), &info, WSTOPPED | WNOWAIT), 0);
    child->kill(SIGKILL);
    for (const auto& pidfd : all) EXPECT_TRUE(has_ended(pidfd));
    ::kill(guardian, SIGCONT);  // so that a failure ends, too
    EXPECT_EQ(co_await child->wait(), ExitStatus::killed(SIGKILL));
  };
  async::run_blocking(loop, driver());
}

// `pkill -f PROGRAM` finds processes by these words.
TEST_F(ParentDeathTest, WordsOfTheProgramAreNotInTheCommandLineOfItsGuardian) {
  const auto command_line = [](pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start_ready(mode("ignore-terminate", "--a-word"));
    const auto line = command_line(guardian_of(*child));
    EXPECT_TRUE(line.contains(kExecMode)) << line;
    EXPECT_FALSE(line.contains("ignore-terminate") || line.contains("--a-word")) << line;
    EXPECT_TRUE(command_line(child->pid()).contains("--a-word"));
  };
  async::run_blocking(loop, driver());
}

TEST_F(ParentDeathTest, KilledRouterTakesOwnSubCommandsAlong) { kill_parent_of("bound"); }

TEST_F(ParentDeathTest, EndOfTheSpawnerIsTheEndOfItsChildren) {
  async::SystemTimers other_timers;
  auto other = std::make_unique<PosixSpawner>(other_timers, PosixSpawner::Options{test_program()});
  auto driver = [&]() -> Task<void> {
    auto child = co_await other->spawn(mode("ignore-terminate"));
    other.reset();
    EXPECT_EQ(co_await (*child)->wait(), ExitStatus::killed(SIGKILL));
  };
  async::run_blocking(loop, driver());
}

TEST_F(ParentDeathTest, ChildOfADeadParentDoesntStart) {
  // As if the parent had ended before the child could ask to be told: its pid isn't the expected one.
  EXPECT_EQ(run({.name = "orphan", .argv = {test_program(), kExecMode, "1", "9", "--", "/bin/true"}}),
            ExitStatus::exited(EXIT_FAILURE));
  EXPECT_EQ(run({.name = "orphan", .argv = {"env", "CORRAL_PARENT_PID=1", test_program(), "bound"}}),
            ExitStatus::exited(EXIT_FAILURE));
}

}  // namespace
}  // namespace corral::proc
