#include "app/compute_probe.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::app {
namespace {

using testing::ElementsAre;

cli::MachineFacts facts_of_gpu() {
  cli::MachineFacts facts;
  facts.cpu_backend = "/usr/lib/corral/libggml-cpu-haswell.so";
  facts.devices = {{.name = "CPU", .description = "Intel \"x\"", .gpu = false, .total = 7, .free = 5},
                   {.name = "Vulkan0", .description = "Arc", .gpu = true, .total = 8ull << 30, .free = 6ull << 30}};
  return facts;
}

TEST(ComputeLines, AreReadAsTheyWereWritten) {
  const auto lines = compute_lines(facts_of_gpu());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], R"({"cpu_backend":"/usr/lib/corral/libggml-cpu-haswell.so"})");
  cli::MachineFacts facts;
  for (const auto& line : lines) read_compute_line(line, facts);
  EXPECT_EQ(compute_lines(facts), lines);
  for (const char* other : {"", "{", "[]", "7", R"({"name":7})", R"({"total":-1})"}) read_compute_line(other, facts);
  EXPECT_EQ(compute_lines(facts), lines);
  facts.compute_problem = "no compute backend found";
  EXPECT_EQ(compute_lines(facts).front(), R"({"problem":"no compute backend found"})");
}

class ComputeProbeTest : public testing::Test {
 protected:
  cli::MachineFacts probed(std::function<void(proc::FakeProcess&)> act) {
    spawner_.script = [act = std::move(act)](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      act(*process);
      co_return;
    };
    cli::MachineFacts facts;
    async::run_blocking(loop_, probe_compute({spawner_, timers_, "/bin/corral"}, facts));
    return facts;
  }
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
};

TEST_F(ComputeProbeTest, ShowsWhatTheChildFound) {
  const auto facts = probed([](auto& process) {
    process.print("a line of a library");
    process.print(R"({"problem":"not this one"})", true);
    for (const auto& line : compute_lines(facts_of_gpu())) process.print(line);
    process.exit(0);
  });
  EXPECT_EQ(compute_lines(facts), compute_lines(facts_of_gpu()));
  EXPECT_EQ(facts.compute_problem, "");
  EXPECT_EQ(facts.compute_remedy, "");
  EXPECT_THAT(spawner_.processes()[0]->spec().argv, ElementsAre("/bin/corral", "list-devices"));
}

TEST_F(ComputeProbeTest, BackendsThatCannotBeLoaded) {
  const auto facts = probed([](auto& process) {
    process.print(R"({"problem":"no compute backend found"})");
    process.exit(0);
  });
  EXPECT_EQ(facts.compute_problem, "no compute backend found");
  EXPECT_EQ(facts.compute_remedy, "install corral again, or set CORRAL_LLAMA_BACKEND_DIR");
}

TEST_F(ComputeProbeTest, AChildThatCrashesIsTheProblem) {
  const auto facts = probed([](auto& process) { process.die(SIGSEGV); });
  EXPECT_THAT(facts.compute_problem, testing::StartsWith("the process that loads the compute backends "));
  EXPECT_EQ(facts.compute_remedy, "look for errors of a GPU's driver (sudo dmesg), and restart the machine");
}

TEST_F(ComputeProbeTest, AChildThatHangsIsKilled) {
  spawner_.script = [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print(R"({"cpu_backend":"/x/libggml-cpu-x64.so"})");
    while (timers_.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers_.advance(Millis(30'000));
  };
  cli::MachineFacts facts;
  async::run_blocking(loop_, probe_compute({spawner_, timers_, "/bin/corral"}, facts));
  EXPECT_EQ(facts.cpu_backend, "/x/libggml-cpu-x64.so");
  EXPECT_EQ(facts.compute_problem, "the compute backends gave no answer within 30 s: the library of a GPU hangs");
  EXPECT_FALSE(spawner_.processes()[0]->alive());
}

TEST_F(ComputeProbeTest, AChildThatCannotBeStarted) {
  spawner_.next_failure.emplace(make_error_code(proc::errc::program_not_found), "'/bin/corral' does not exist");
  EXPECT_EQ(probed([](auto&) {}).compute_problem, "'/bin/corral' does not exist");
}

}  // namespace
}  // namespace corral::app
