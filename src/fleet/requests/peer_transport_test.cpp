// What requests post to the loop of the mesh, and when it runs.
#include "fleet/requests/peer_transport.h"

#include <optional>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "fleet/base/no_peers_for_tests.h"

namespace corral::fleet {
namespace {

class CountingPeers final : public NoPeers {
 public:
  void hold(const mesh::NodeId&, mesh::InFlightId) override { ++held; }
  void release(const mesh::NodeId&, mesh::InFlightId) override { ++released; }

  int held = 0, released = 0;
};

struct PeerTransportTest : testing::Test {
  async::Loop mesh;
  CountingPeers peers;
  std::optional<PeerTransport> transport{std::in_place, mesh.executor(), [](UniqueFd, std::string) {}};
};

TEST_F(PeerTransportTest, TellsPeersWhatIsHeld) {
  transport->attach(peers);
  transport->hold({}, 1);
  transport->release({}, 1);
  EXPECT_EQ(peers.held, 0);  // it is for the loop of the mesh
  mesh.context().poll();
  EXPECT_EQ(peers.held, 1);
  EXPECT_EQ(peers.released, 1);
}

// At the end of the server the loop of the mesh runs once more, when the crossing is gone.
TEST_F(PeerTransportTest, WhatTheMeshRunsAfterTheEndOfTheCrossingTouchesNothing) {
  transport->attach(peers);
  transport->hold({}, 1);
  transport->release({}, 1);
  transport.reset();
  mesh.context().poll();
  EXPECT_EQ(peers.held, 0);
  EXPECT_EQ(peers.released, 0);
}

}  // namespace
}  // namespace corral::fleet
