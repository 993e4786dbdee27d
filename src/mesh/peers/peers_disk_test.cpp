// A disk that does not answer: heartbeats go on, and what must be on the disk before an answer still is.
#include <future>
#include <latch>

#include <gmock/gmock.h>

#include "mesh/link/join.h"
#include "mesh/peers/peers_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::IsEmpty;

class PeersDisk : public PeersFixture {
 protected:
  void TearDown() override {
    wake();
    PeersFixture::TearDown();
    disk.finish();
    settle();
  }

  // The first of these members has a thread for its disk.
  void start_linked_with_disk(unsigned count) {
    make_members(count);
    a().disk = &disk;
    token = *at_once(a().tokens->issue(a().store->set().mesh(), a().key.id(),
                                       {.lifetime = std::chrono::hours(1), .seeds = {a().place}}, timers.wall_now()));
    for (auto& member : members) {
      if (member != members.front()) member->configured = {{a().key.id(), a().place}};
      start(*member);
    }
    ASSERT_TRUE(come_together());
    pass(Millis(2000));
    wait_for_disk();
  }
  void hang() {
    disk.post([this] { answers.wait(); });
  }
  void wake() {
    if (!std::exchange(awake, true)) answers.count_down();
  }
  // What was given to the disk by now is written, and its writers know.
  void wait_for_disk() {
    std::promise<void> written;
    disk.post([&] { written.set_value(); });
    written.get_future().wait();
    settle();
  }
  MembershipStatus on_disk(const Member& member) {
    return (*MemberStore::open(a().folder.path()))->set().standing(member.key.id());
  }
  static async::Task<void> join_into(Network& over, async::Timers& time, SigningKey key, JoinToken with,
                                     std::optional<Result<MemberSet>>& result) {
    result = co_await join_mesh(over, time, std::move(key), std::move(with), JoinOptions());
  }

  async::ThreadPool disk{1};
  std::latch answers{1};
  bool awake = false;
  JoinToken token;
};

TEST_P(PeersDisk, ADiskThatHangsEndsNoLink) {
  start_linked_with_disk(3);
  hang();
  ASSERT_TRUE(at_once(b().peers->revoke({c().key.id()})));
  settle();
  EXPECT_EQ(a().store->set().standing(c().key.id()), MembershipStatus::revoked);  // the disk may not keep it in
  a().events.downs.clear();
  b().events.downs.clear();
  pass(Millis(5000));
  EXPECT_THAT(a().events.downs, IsEmpty());
  EXPECT_THAT(b().events.downs, IsEmpty());
  EXPECT_TRUE(a().peers->is_up(id(b())));
  EXPECT_EQ(on_disk(c()), MembershipStatus::member);
  wake();
  wait_for_disk();
  EXPECT_EQ(on_disk(c()), MembershipStatus::revoked);
}

TEST_P(PeersDisk, AJoinerIsAnsweredWhenItIsOnTheDisk) {
  start_linked_with_disk(2);
  hang();
  const Member joiner(9);
  std::unique_ptr<Network> network;
  if (GetParam() == Kind::memory) {
    network = air.add(joiner.key.public_key(), {"joiner", 1}, {});
  } else {
    network = std::make_unique<TlsNetwork>(loop.executor(), joiner.key, timers);
  }
  token.seeds = {a().place};  // which has its port by now
  std::optional<Result<MemberSet>> joined;
  group.spawn("join", join_into(*network, timers, joiner.key, token, joined));
  pass(Millis(3000));
  EXPECT_FALSE(joined);
  EXPECT_TRUE(a().peers->is_up(id(b())));
  EXPECT_THAT(a().events.downs, IsEmpty());
  EXPECT_EQ(JoinTokenStore::open(a().folder.path())->list().front().state, IssuedToken::State::open);
  wake();
  wait_for_disk();  // the use of the token
  EXPECT_EQ(JoinTokenStore::open(a().folder.path())->list().front().used_by, joiner.key.id());
  wait_for_disk();  // the new member
  EXPECT_EQ(on_disk(joiner), MembershipStatus::member);
  ASSERT_TRUE(passing([&] { return joined.has_value(); }, Millis(1000)));
  EXPECT_TRUE(*joined) << joined->error().message;
  EXPECT_EQ(b().store->set().standing(joiner.key.id()), MembershipStatus::member);
}

TEST_P(PeersDisk, TheEndWaitsForWhatIsToBeWritten) {
  start_linked_with_disk(3);
  hang();
  ASSERT_TRUE(at_once(b().peers->revoke({c().key.id()})));
  settle();
  bool stopped = false;
  group.spawn("stop", stop_it(*a().peers, stopped));
  pass(Millis(1000));
  EXPECT_FALSE(stopped);
  wake();
  wait_for_disk();
  wait_for_disk();  // and where its peers were
  EXPECT_TRUE(passing([&] { return stopped; }, Millis(1000)));
  EXPECT_EQ(on_disk(c()), MembershipStatus::revoked);
}

TEST_P(PeersDisk, TheEndDoesntWaitForADiskThatHangs) {
  start_linked_with_disk(3);
  hang();
  ASSERT_TRUE(at_once(b().peers->revoke({c().key.id()})));
  settle();
  bool stopped = false;
  group.spawn("stop", stop_it(*a().peers, stopped));
  EXPECT_TRUE(passing([&] { return stopped; }, Millis(6000)));
}

CORRAL_ON_BOTH_NETWORKS(PeersDisk);

}  // namespace
}  // namespace corral::mesh
