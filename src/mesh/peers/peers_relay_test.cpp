// What is known of nodes that are reached through a third one, on the network in memory, which has cuts.
#include <gmock/gmock.h>

#include "mesh/peers/peers_fixture_for_tests.h"

namespace corral::mesh {
namespace {

class PeersBehindRelays : public PeersFixture {};
INSTANTIATE_TEST_SUITE_P(Networks, PeersBehindRelays, testing::Values(Kind::memory), kind_name);

TEST_P(PeersBehindRelays, ThroughARelayTheNextLifeOfANodeIsSeen) {
  start_linked(3);
  cut(a(), b());
  ASSERT_TRUE(passing([&] { return view(a(), b()).state == PeerState::relayed; }, Millis(3500)));
  const auto before = view(a(), b()).relayed_life;
  EXPECT_EQ(before, b().peers->boot().nonce);
  kill(b());
  start(b());
  const auto told = a().heard.reaches;
  ASSERT_TRUE(passing([&] { return view(a(), b()).relayed_life == b().peers->boot().nonce; }, Millis(3000)));
  EXPECT_NE(view(a(), b()).relayed_life, before);
  EXPECT_GT(a().heard.reaches, told);
  heal(a(), b());
}

}  // namespace
}  // namespace corral::mesh
