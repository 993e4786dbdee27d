// Two real agents, where Serf is installed. How soon they hear of each other depends on them and on the machine.
#include <filesystem>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/hints/serf_hints.h"
#include "mesh/support_for_tests.h"
#include "proc/posix_spawner.h"
#include "proc/process_test_support.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

// Ports that are free now, for agents that want to know theirs before they start.
std::uint16_t free_port(async::Executor executor) {
  async::asio::basic_socket_acceptor<async::asio::ip::tcp, async::Executor> acceptor(
      executor, {async::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

TEST(SerfHintsTest, RealAgentsHearOfEachOther) {
  if (!fs::exists("/usr/bin/serf")) GTEST_SKIP() << "Serf isn't installed: script/bootstrap";
  const TestFolder folder;
  async::Loop loop;
  async::SystemTimers timers;
  proc::PosixSpawner spawner(timers, {.own_program = proc::test_program()});
  SerfOptions of_one{.node = test_key(1).id(),
                     .mesh = mesh_id({test_key(1).public_key(), {}}),
                     .bind = {"127.0.0.1", 0},
                     .folder = folder / "one"};
  SerfOptions of_two = of_one;
  of_one.bind.port = free_port(loop.executor());
  of_two.bind.port = free_port(loop.executor());
  of_two.node = test_key(2).id();
  of_two.folder = folder / "two";
  auto one = make_serf_hints(loop.executor(), timers, spawner, of_one);
  auto two = make_serf_hints(loop.executor(), timers, spawner, of_two);
  const Hint first{of_one.node, {{"192.168.1.7", 8100}}, 3, 4}, later{of_one.node, {{"192.168.1.8", 8100}}, 3, 5};
  one->publish(first);
  two->look_at({of_one.bind});
  std::vector<Hint> received;
  auto listening = [&]() -> async::Task<void> {
    while (true) {
      auto changes = co_await two->next();
      received.insert(received.end(), changes.begin(), changes.end());
    }
  };
  async::TaskGroup group(loop.executor());
  group.spawn("listener", listening());
  const auto limit = MonoClock::now() + std::chrono::seconds(30);
  while (received.empty() && MonoClock::now() < limit) loop.context().run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(received, std::vector{first}) << one->state() << " / " << two->state();
  one->publish(later);
  while (received.size() < 2 && MonoClock::now() < limit) loop.context().run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(received.back(), later);
  group.cancel();
  one.reset();
  two.reset();
  while (loop.context().poll() > 0) {
  }
}

}  // namespace
}  // namespace corral::mesh
