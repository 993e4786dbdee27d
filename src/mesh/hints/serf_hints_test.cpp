// The supervision, with a played agent.
#include "mesh/hints/serf_hints.h"

#include <csignal>
#include <fstream>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "async/loop.h"
#include "async/settle_for_tests.h"
#include "async/task_group.h"
#include "mesh/hints/message_pack.h"
#include "mesh/hints/serf_wire.h"
#include "mesh/support_for_tests.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

class SerfHintsTest : public testing::Test {
 public:
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
  void settle() { async::settle_sockets(loop); }

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

// An agent that says what is asked of it, over its port; ends when it is asked to leave.
class PlayedAgent {
 public:
  explicit PlayedAgent(SerfHintsTest& test) : test_(test) {}

  proc::FakeSpawner::Script script() {
    return [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      std::ifstream file(test_.folder / "serf.json");
      const std::string config((std::istreambuf_iterator<char>(file)), {});
      constexpr std::string_view kAt = "\"rpc_addr\":\"127.0.0.1:";
      const auto port = std::stoi(config.substr(config.find(kAt) + kAt.size()));
      Acceptor acceptor(test_.loop.executor(),
                        {async::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
      while (process->alive()) {
        auto [error, socket] = co_await acceptor.async_accept(async::as_value);
        if (error) co_return;
        co_await serve(std::move(socket), process);
      }
    };
  }
  std::vector<std::string> commands;
  bool leaves = true;

 private:
  using Tcp = async::asio::ip::tcp;
  using Acceptor = async::asio::basic_socket_acceptor<Tcp, async::Executor>;
  using Socket = async::asio::basic_stream_socket<Tcp, async::Executor>;

  async::Task<void> serve(Socket socket, std::shared_ptr<proc::FakeProcess> process) {
    SerfReader reader;
    std::array<char, 1000> space;
    while (true) {
      const auto [error, count] = co_await socket.async_read_some(async::asio::buffer(space), async::as_value);
      if (error || !reader.put({space.data(), count})) co_return;
      for (auto value = reader.take(); value && *value; value = reader.take()) {
        PackReader in(**value);
        in.map();
        if (in.text() != "Command") continue;  // what goes with one
        const std::string name(*in.text());
        in.text();
        const auto number = *in.number();
        commands.push_back(name);
        if (name == "leave" && !leaves) continue;
        auto answer = PackWriter().map(2).text("Seq").number(number).text("Error").text("").take();
        if (name == "members") answer += PackWriter().map(1).text("Members").array(0).take();
        const auto bytes = async::asio::buffer(answer);
        co_await async::asio::async_write(socket, bytes, async::as_value);
        if (name == "leave") process->exit(0);
      }
    }
  }

  SerfHintsTest& test_;
};

TEST_F(SerfHintsTest, AtTheEndTheAgentIsAskedToLeave) {
  async::ManualTimers timers(loop.executor());
  PlayedAgent agent(*this);
  proc::FakeSpawner spawner(timers);
  spawner.script = agent.script();
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  async::TaskGroup group(loop.executor());
  for (int i = 0; i < 100 && hints->state() != "running"; ++i) {
    settle();
    timers.advance(Millis(50));
  }
  ASSERT_EQ(hints->state(), "running");
  group.spawn("stop", hints->stop());
  for (int i = 0; i < 100 && group.running() > 0; ++i) settle();
  EXPECT_EQ(group.running(), 0u);  // without any time
  EXPECT_EQ(agent.commands.back(), "leave");
  EXPECT_TRUE(spawner.processes().back()->signals().empty());
  hints.reset();
  settle();
}

TEST_F(SerfHintsTest, AnAgentThatDoesntLeaveIsToldToEndAndThenKilled) {
  async::ManualTimers timers(loop.executor());
  PlayedAgent agent(*this);
  agent.leaves = false;
  proc::FakeSpawner spawner(timers);
  spawner.script = agent.script();
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  async::TaskGroup group(loop.executor());
  for (int i = 0; i < 100 && hints->state() != "running"; ++i) {
    settle();
    timers.advance(Millis(50));
  }
  spawner.processes().back()->ignore_terminate();
  group.spawn("stop", hints->stop());
  for (int i = 0; i < 200 && group.running() > 0; ++i) {
    settle();
    timers.advance(Millis(50));
  }
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(spawner.processes().size(), 1u);
  EXPECT_EQ(spawner.processes().back()->signals(), (std::vector{SIGTERM, SIGKILL}));
  hints.reset();
  settle();
}

TEST_F(SerfHintsTest, OneThatIsWaitedForIsNotStartedAgain) {
  async::ManualTimers timers(loop.executor());
  proc::FakeSpawner spawner(timers);
  auto hints = make_serf_hints(loop.executor(), timers, spawner, options());
  settle();
  spawner.processes().back()->exit(1);
  settle();
  async::TaskGroup group(loop.executor());
  group.spawn("stop", hints->stop());
  settle();
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(spawner.processes().size(), 1u);
  hints.reset();
  settle();
}

}  // namespace
}  // namespace corral::mesh
