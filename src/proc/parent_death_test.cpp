// Nothing outlives the router, however it ends.
#include <csignal>

#include "proc/process_test_support.h"

namespace corral::proc {
namespace {

using async::Task;

class ParentDeathTest : public RealProcesses {
 protected:
  // A process that started a child of its own with `child_mode` is killed; its child must end too.
  void kill_parent_of(const std::string& child_mode) {
    auto driver = [&]() -> Task<void> {
      const auto parent = co_await start_ready(mode("parent", child_mode));
      const auto grandchild = std::stoi(parent->log().text());
      const UniqueFd pidfd(pidfd_of(grandchild));
      EXPECT_TRUE(pidfd);
      EXPECT_NE(::getpgid(grandchild), parent->pid());
      parent->kill(SIGKILL);
      EXPECT_EQ(co_await parent->wait(), ExitStatus::killed(SIGKILL));
      EXPECT_TRUE(has_ended(pidfd));
    };
    async::run_blocking(loop, driver());
  }
};

TEST_F(ParentDeathTest, KilledRouterTakesForeignProgramsAlong) { kill_parent_of("ignore-terminate"); }

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
