// The supervision with a played agent, and two real ones where Serf is installed.
#include "mesh/hints/serf_hints.h"

#include <csignal>
#include <fstream>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/support_for_tests.h"
#include "proc/fake_spawner.h"
#include "proc/posix_spawner.h"
#include "proc/process_test_support.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

class SerfHintsTest : public testing::Test {
 protected:
  SerfHintsTest() {
    std::string name = testing::TempDir() + "serf-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~SerfHintsTest() override { fs::remove_all(folder); }

  SerfOptions options() {
    SerfOptions made{.node = test_key(1).id(),
                     .mesh = mesh_id({test_key(1).public_key(), {}}),
                     .bind = {"127.0.0.1", 8101},
                     .folder = folder};
    return made;
  }
  void settle() {
    while (loop.context().poll() + loop.context().run_one_for(std::chrono::milliseconds(3)) > 0) {
    }
  }

  async::Loop loop;
  fs::path folder;
};

TEST_F(SerfHintsTest, AnAgentThatEndsIsStartedAgainEverMoreRarely) {
  async::ManualTimers timers(loop.executor());
  proc::FakeSpawner spawner(timers);
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  settle();
  std::size_t agents = 1;
  for (int pause = 1; pause <= 60; pause = std::min(2 * pause, 60)) {
    ASSERT_EQ(spawner.processes().size(), agents);
    spawner.processes().back()->exit(1);
    settle();
    EXPECT_EQ(hints->state(), "the Serf agent exited with code 1");
    timers.advance(std::chrono::seconds(pause) - Millis(1));
    settle();
    EXPECT_EQ(spawner.processes().size(), agents) << pause;
    timers.advance(Millis(1));
    settle();
    ++agents;
    if (pause == 60) break;
  }
  EXPECT_EQ(spawner.processes().size(), agents);
  hints.reset();
  settle();
  EXPECT_EQ(spawner.running(), 0u);
}

TEST_F(SerfHintsTest, WithoutTheProgramThereIsNothingToHear) {
  async::ManualTimers timers(loop.executor());
  proc::FakeSpawner spawner(timers);
  spawner.next_failure = Error(make_error_code(proc::errc::program_not_found), "no such program");
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  settle();
  EXPECT_TRUE(hints->state().contains("isn't installed")) << hints->state();
  hints.reset();
  settle();
}

TEST_F(SerfHintsTest, ItsConfigurationIsForThisUserAlone) {
  async::ManualTimers timers(loop.executor());
  proc::FakeSpawner spawner(timers);
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  settle();
  struct stat file{};
  ASSERT_EQ(::stat((folder / "serf.json").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  // The secret stands in the file alone, not where everybody sees it.
  for (const auto& word : spawner.processes().front()->spec().argv) EXPECT_FALSE(word.contains("rpc_auth"));
  hints.reset();
  settle();
}

TEST_F(SerfHintsTest, AnAgentThatGivesNoAnswerIsEnded) {
  async::ManualTimers timers(loop.executor());
  proc::FakeSpawner spawner(timers);
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  settle();
  for (int i = 0; i < 220 && spawner.running() > 0; ++i) {
    timers.advance(Millis(50));
    settle();
  }
  EXPECT_EQ(spawner.running(), 0u);
  EXPECT_EQ(hints->state(), "the Serf agent doesn't listen");
  hints.reset();
  settle();
}

// Ports that are free now, for agents that want to know theirs before they start.
std::uint16_t free_port(async::Executor executor) {
  async::asio::basic_socket_acceptor<async::asio::ip::tcp, async::Executor> acceptor(
      executor, {async::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

TEST_F(SerfHintsTest, RealAgentsHearOfEachOther) {
  if (!fs::exists("/usr/bin/serf")) GTEST_SKIP() << "Serf isn't installed: script/bootstrap";
  async::SystemTimers timers;
  proc::PosixSpawner spawner(timers, {.own_program = proc::test_program()});
  auto of_one = options(), of_two = options();
  of_one.bind.port = free_port(loop.executor());
  of_two.bind.port = free_port(loop.executor());
  of_two.node = test_key(2).id();
  of_two.folder = folder / "two";
  auto one = make_serf_hints(loop.executor(), timers, spawner, of_one);
  auto two = make_serf_hints(loop.executor(), timers, spawner, of_two);
  const Hint told{of_one.node, {{"192.168.1.7", 8100}}, 3, 4}, later{of_one.node, {{"192.168.1.8", 8100}}, 3, 5};
  one->tell(told);
  two->look_at({of_one.bind});
  std::vector<Hint> heard;
  auto listening = [&]() -> async::Task<void> {
    while (true) {
      auto news = co_await two->next();
      heard.insert(heard.end(), news.begin(), news.end());
    }
  };
  async::TaskGroup group(loop.executor());
  group.spawn("listener", listening());
  const auto limit = MonoClock::now() + std::chrono::seconds(30);
  while (heard.empty() && MonoClock::now() < limit) loop.context().run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(heard, std::vector{told}) << one->state() << " / " << two->state();
  one->tell(later);
  while (heard.size() < 2 && MonoClock::now() < limit) loop.context().run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(heard.back(), later);
  group.cancel();
  one.reset();
  two.reset();
  settle();
}

}  // namespace
}  // namespace corral::mesh
