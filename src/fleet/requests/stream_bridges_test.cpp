// A bridge carries bytes both ways between a stream and a socket, with back-pressure, and every way of ending.
#include "fleet/requests/stream_bridges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "async/loop.h"
#include "async/timer.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

class StreamBridgesTest : public testing::Test {
 protected:
  void SetUp() override {
    near_net = air.add(near.public_key(), {"near", 1}, {});
    far_net = air.add(far.public_key(), {"far", 1}, [](const auto&, auto) { return Result<>(); });
    group.spawn("dial", [](StreamBridgesTest& self) -> async::Task<void> {
      mesh::Address address{"far", 1};
      std::vector<mesh::NodeId> pins{self.far.id()};
      auto dialling = self.near_net->dial(address, pins, mesh::Purpose::http);
      auto dialled = co_await std::move(dialling);
      self.near_stream = std::move(*dialled);
      auto accepting = self.far_net->accept();
      auto accepted = co_await std::move(accepting);
      self.far_stream = std::move(*accepted);
    }(*this));
    settle();
    ASSERT_TRUE(near_stream && far_stream);
  }
  void TearDown() override {
    near_end.reset();
    far_end.reset();
    settle();
    group.cancel();
    settle();
    EXPECT_EQ(bridges.pumps(), 0u);
    near_net.reset();
    far_net.reset();
    settle();
  }
  // Both sides of the stream are bridges: socket to socket.
  void bridge_both() {
    near_end = *bridges.make(std::move(near_stream), StreamBridges::Side::asks);
    far_end = *bridges.make(std::move(far_stream), StreamBridges::Side::answers);
    settle();
  }
  void settle() {
    for (int quiet = 0; quiet < 3;) {
      loop.context().restart();
      quiet = loop.context().poll() > 0 ? 0 : quiet + 1;
    }
  }
  // How many bytes it takes.
  static std::size_t put(const UniqueFd& end, std::string_view bytes) {
    const auto count = ::send(end.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  // What is there; "END" at the end, "BROKEN" when it broke, "" while nothing is there.
  static std::string got(const UniqueFd& end) {
    std::string all;
    char space[65536];
    while (true) {
      const auto count = ::recv(end.get(), space, sizeof space, MSG_DONTWAIT);
      if (count == 0) return all + "END";
      if (count < 0) return errno == EAGAIN ? all : all + "BROKEN";
      all.append(space, static_cast<std::size_t>(count));
    }
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  mesh::MemoryNetwork air{loop.executor(), timers};
  mesh::SigningKey near = mesh::test_key(1), far = mesh::test_key(2);
  std::unique_ptr<mesh::Network> near_net, far_net;
  std::unique_ptr<mesh::Stream> near_stream, far_stream;
  async::TaskGroup group{loop.executor()};
  StreamBridges bridges{loop.executor()};
  UniqueFd near_end, far_end;
};

TEST_F(StreamBridgesTest, CarriesBytesBothWays) {
  bridge_both();
  EXPECT_EQ(put(near_end, "question"), 8u);
  settle();
  EXPECT_EQ(got(far_end), "question");
  EXPECT_EQ(put(far_end, "answer"), 6u);
  settle();
  EXPECT_EQ(got(near_end), "answer");
}

TEST_F(StreamBridgesTest, TheEndOfOneDirectionLeavesTheOther) {
  bridge_both();
  put(near_end, "question");
  ::shutdown(near_end.get(), SHUT_WR);
  settle();
  EXPECT_EQ(got(far_end), "questionEND");
  put(far_end, "answer");
  settle();
  EXPECT_EQ(got(near_end), "answer");
  ::shutdown(far_end.get(), SHUT_WR);
  settle();
  EXPECT_EQ(got(near_end), "END");
}

TEST_F(StreamBridgesTest, WhoAnswersAndLeavesHasSaidAll) {
  bridge_both();
  const std::string answer(150'000, 'x');
  EXPECT_EQ(put(far_end, answer), answer.size());
  far_end.reset();
  settle();
  EXPECT_EQ(got(near_end), answer + "END");
}

TEST_F(StreamBridgesTest, WhoAsksAndLeavesIsNoticedAtOnce) {
  bridge_both();
  near_end.reset();
  settle();
  EXPECT_THAT(got(far_end), testing::AnyOf("END", "BROKEN"));
  far_end.reset();
  settle();
  EXPECT_EQ(bridges.pumps(), 0u);
}

// Also while the far side takes nothing, and a write waits.
TEST_F(StreamBridgesTest, WhoAsksAndLeavesIsNoticedBehindAFullStream) {
  bridge_both();
  const std::string much(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    put(near_end, much);
    settle();
  }
  EXPECT_EQ(put(near_end, much), 0u);  // full to the brim
  near_end.reset();
  settle();
  EXPECT_LE(bridges.pumps(), 1u);  // the far side's, which writes what has come
  got(far_end);
  settle();
  got(far_end);
  far_end.reset();
  settle();
  EXPECT_EQ(bridges.pumps(), 0u);
}

TEST_F(StreamBridgesTest, HoldsLittle) {
  bridge_both();
  const std::string much(1 << 20, 'x');
  std::size_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    taken += put(near_end, much);
    settle();
  }
  EXPECT_LT(taken, 2u << 20);  // of 100 MB: sockets, stream and pumps
  std::size_t arrived = 0;
  for (int i = 0; i < 200; ++i) {
    arrived += got(far_end).size();
    settle();
  }
  EXPECT_EQ(arrived, taken);
}

TEST_F(StreamBridgesTest, AStreamThatBreaksBreaksBothSockets) {
  bridge_both();
  far_net.reset();  // as a process that ends
  settle();
  EXPECT_THAT(got(near_end), testing::AnyOf("END", "BROKEN"));
  EXPECT_THAT(got(far_end), testing::AnyOf("END", "BROKEN"));
}

TEST_F(StreamBridgesTest, StopEndsWhateverIsOnItsWay) {
  bridge_both();
  put(near_end, std::string(100'000, 'x'));
  group.spawn("stop", bridges.stop());
  settle();
  EXPECT_EQ(bridges.pumps(), 0u);
  EXPECT_EQ(group.running(), 0u);
}

}  // namespace
}  // namespace corral::fleet
