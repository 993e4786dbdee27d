#include "fleet/membership/probe.h"

#include <gtest/gtest.h>

#include "async/loop.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

class ProbeTest : public testing::Test {
 protected:
  // Peers that ask where nobody answers.
  void ask() { probe.frame(other.id(), to_frame(ProbeAsk{++asked, {"nowhere", 1}})); }
  void settle() {
    while (loop.context().poll() > 0) loop.context().restart();
    loop.context().restart();
  }
  void stop() {
    bool done = false;
    auto stopping = [](Probe& one, bool& flag) -> async::Task<void> {
      co_await one.stop();
      flag = true;
    };
    group.spawn("stop", stopping(probe, done));
    settle();
    EXPECT_TRUE(done);
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  async::TaskGroup group{loop.executor()};
  mesh::SigningKey own = mesh::test_key(1), other = mesh::test_key(2);
  mesh::FakeAir air;
  mesh::FakePeers here{air, own.public_key(), {1, {}}}, there{air, other.public_key(), {1, {}}};
  mesh::MemoryNetwork wires{loop.executor(), timers};
  std::unique_ptr<mesh::Network> network = wires.add(own.public_key(), {"here", 1}, {});
  Probe probe{loop.executor(), timers, here, *network};
  std::uint64_t asked = 0;
};

TEST_F(ProbeTest, WhoAsksIsAnswered) {
  air.up(here, there);
  ask();
  settle();
  ASSERT_EQ(air.under_way.size(), 1u);
  const auto answer = read_probe_answer(air.under_way.front().frame.payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 1u);
  EXPECT_TRUE(answer->problem.contains("no node answers"));
}

TEST_F(ProbeTest, AfterItsEndNobodyIsDialledForPeersThatGoOnAsking) {
  air.up(here, there);
  stop();
  ask();
  settle();
  EXPECT_TRUE(air.under_way.empty());
}

}  // namespace
}  // namespace corral::fleet
