// What Peers promise, on the network in memory and on TLS over loopback.
#include <gmock/gmock.h>

#include "mesh/link/join.h"
#include "mesh/peers/peers_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PeersContract : public PeersFixture {};
CORRAL_ON_BOTH_NETWORKS(PeersContract);

TEST_P(PeersContract, EveryPairGetsALinkThoughEachKnowsOnlyOneAddress) {
  start_linked(4);
  pass(Millis(1000));
  for (const auto& member : members) {
    EXPECT_GE(member->events.ups, 3);  // once more for a pair that dialled at once
    EXPECT_THAT(member->events.downs, IsEmpty());
    for (const auto& view : member->peers->view()) {
      EXPECT_EQ(view.state, PeerState::up);
      EXPECT_TRUE(view.round_trip);
      EXPECT_EQ(view.boot->epoch, 1u);
    }
  }
}

TEST_P(PeersContract, NothingFlapsForAMinuteWhenBothDialAtOnce) {
  make_members(2);
  start(a());
  b().configured = {{a().key.id(), a().place}};
  start(b());
  a().peers->hint(id(b()), b().place);
  ASSERT_TRUE(come_together());
  pass(Millis(2000));
  const auto ups = a().events.ups + b().events.ups;
  pass(Millis(60000), Millis(400));
  EXPECT_EQ(a().events.ups + b().events.ups, ups);
  EXPECT_THAT(a().events.downs, IsEmpty());
  EXPECT_THAT(b().events.downs, IsEmpty());
}

// Names that others tell are found in a queue of their own (tls/name_queues.h), so each dial says whose word it is.
TEST_P(PeersContract, EachDialSaysWhoseWordItFollows) {
  make_members(3);
  start(a());
  b().configured = {{a().key.id(), a().place}};
  c().configured = {{std::nullopt, a().place}};
  start(b());
  start(c());
  ASSERT_TRUE(come_together());
  pass(Millis(2000));  // streams that wait for their use are dialled
  EXPECT_THAT(b().network->origins.at(a().place), Each(Origin::settings));
  EXPECT_EQ(c().network->origins.at(a().place).front(), Origin::settings);
  // Those two heard of each other from the first: whoever dialled followed that, and then what it knew by itself.
  std::vector<Origin> first, last;
  for (const auto& [one, other] : {std::pair(&b(), &c()), std::pair(&c(), &b())}) {
    const auto found = one->network->origins.find(other->place);
    if (found == one->network->origins.end()) continue;
    first.push_back(found->second.front());
    last.push_back(found->second.back());
  }
  EXPECT_THAT(first, Each(Origin::other));
  EXPECT_THAT(last, Contains(Origin::link));
}

TEST_P(PeersContract, FramesArriveInOrder) {
  start_linked(2);
  for (int i = 0; i < 50; ++i) a().peers->send(id(b()), {FrameKind::join_refused, std::to_string(i)});
  settle();
  ASSERT_THAT(b().events.frames, SizeIs(50));
  EXPECT_EQ(b().events.frames.back().payload, "49");
}

TEST_P(PeersContract, AKilledNodeIsGoneAtOnceAndIsFoundAgainWhereItWas) {
  start_linked(3);
  pass(Millis(2000));  // what is known of peers is written
  kill(b());
  EXPECT_FALSE(a().peers->is_up(b().key.id()));
  ASSERT_THAT(a().events.downs, SizeIs(1));
  EXPECT_EQ(a().events.downs[0].reason, CloseReason::lost);
  kill(a());
  b().configured.clear();
  a().configured.clear();
  start(b());
  ASSERT_TRUE(passing([&] { return b().peers->is_up(id(c())); }, Millis(1000)));
  EXPECT_EQ(view(c(), b()).boot->epoch, 2u);
}

TEST_P(PeersContract, AStreamComesWithItsFirstByteAndGoesBothWays) {
  start_linked(2);
  const auto stream = open(a(), b());
  ASSERT_TRUE(*stream && **stream);
  EXPECT_THAT(b().came, IsEmpty());
  write(**stream->value(), "question");
  ASSERT_THAT(b().came, SizeIs(1));
  EXPECT_EQ(b().came[0]->peer().id, id(a()));
  EXPECT_EQ(b().came[0]->purpose(), Purpose::http);
  const auto question = read(*b().came[0]);
  EXPECT_EQ(question->text, "question");
  write(*b().came[0], "answer");
  const auto answer = read(**stream->value());
  EXPECT_EQ(answer->text, "answer");
  EXPECT_EQ(view(a(), b()).bytes_out, 8u);
  EXPECT_EQ(view(a(), b()).bytes_in, 6u);
  EXPECT_EQ(view(b(), a()).streams_from, 1u);
}

TEST_P(PeersContract, AStreamThatWaitsForUseCostsNoDial) {
  start_linked(2);
  settle();
  const auto before = a().network->dialled.size();
  const auto stream = open(a(), b()), next = open(a(), b());
  ASSERT_TRUE(*stream && **stream);
  ASSERT_TRUE(*next && **next);
  EXPECT_EQ(a().network->dialled.size(), before);
  // Others are dialled to wait for the next requests, when these have begun.
  pass(Millis(200));
  EXPECT_EQ(a().network->dialled.size(), before + 2);
}

TEST_P(PeersContract, StreamsEndWithTheLink) {
  start_linked(2);
  auto stream = open(a(), b());
  write(**stream->value(), "one");
  ASSERT_THAT(b().came, SizeIs(1));
  const auto at_a = read(**stream->value()), at_b = read(*b().came[0]);
  run_stop(a());
  EXPECT_TRUE(at_a->ended);
  EXPECT_TRUE(at_b->ended);
  EXPECT_FALSE(b().peers->is_up(a().key.id()));
  EXPECT_EQ(b().events.downs[0].reason, CloseReason::stopping);
  const auto refused = open(b(), a());
  ASSERT_TRUE(*refused);
  ASSERT_FALSE(**refused);
  EXPECT_EQ((*refused)->error().code, errc::unreachable);
}

TEST_P(PeersContract, ANodeThatCantBeDialledIsAskedToDial) {
  make_members(2);
  b().listens = false;
  start(a());
  b().configured = {{a().key.id(), a().place}};
  start(b());
  ASSERT_TRUE(come_together());
  ASSERT_TRUE(view(b(), a()).dialled);
  for (const auto purpose : {Purpose::http, Purpose::copy, Purpose::rpc}) {
    const auto stream = open(a(), b(), purpose);
    ASSERT_TRUE(passing([&] { return stream->has_value(); }, Millis(5000)));
    ASSERT_TRUE(**stream) << (*stream)->error().message;
    write(**stream->value(), "question");
    ASSERT_THAT(b().came, SizeIs(1));
    EXPECT_EQ(b().came[0]->purpose(), purpose);
    EXPECT_EQ(b().came[0]->peer().id, id(a()));
    b().came.clear();
  }
}

// Though a third node has a link to both.
TEST_P(PeersContract, NodesThatCantReachEachOtherHaveNoStreams) {
  make_members(3);
  a().listens = b().listens = false;
  start(c());
  a().configured = b().configured = {{c().key.id(), c().place}};
  start(a());
  start(b());
  ASSERT_TRUE(passing([&] { return a().peers->is_up(id(c())) && b().peers->is_up(id(c())); }, Millis(3000)));
  pass(Millis(1000));
  EXPECT_FALSE(a().peers->is_up(id(b())) || b().peers->is_up(id(a())));
  EXPECT_EQ(view(a(), b()).state, PeerState::dialling);
  for (const auto purpose : {Purpose::http, Purpose::copy, Purpose::rpc}) {
    const auto stream = open(a(), b(), purpose);
    ASSERT_TRUE(*stream);
    ASSERT_FALSE(**stream);
    EXPECT_EQ((*stream)->error().code, errc::unreachable);
  }
}

TEST_P(PeersContract, HeldRequestsAreToldWithTheHeartbeat) {
  start_linked(2);
  b().peers->hold(id(a()), 7);
  b().peers->hold(id(a()), 9);
  b().peers->release(id(a()), 7);
  pass(Millis(600));
  EXPECT_THAT(a().peers->listed_by(id(b())), ElementsAre(9));
  EXPECT_EQ(a().peers->last_heartbeat(id(b())).has_value(), true);
}

TEST_P(PeersContract, AMemberThatIsThrownOutLosesAllAtOnceEverywhere) {
  start_linked(3);
  auto stream = open(c(), b());
  write(**stream->value(), "one");
  ASSERT_THAT(b().came, SizeIs(1));
  const auto at_b = read(*b().came[0]);
  const auto gone = c().key.id();
  ASSERT_TRUE(at_once(a().peers->revoke({gone})));
  settle();
  EXPECT_FALSE(a().peers->is_up(gone));
  EXPECT_FALSE(b().peers->is_up(gone));
  EXPECT_TRUE(at_b->ended);
  ASSERT_THAT(b().events.downs, SizeIs(1));
  EXPECT_EQ(b().events.downs[0].reason, CloseReason::revoked);
  EXPECT_EQ(c().store->set().standing(gone), MembershipStatus::revoked);  // it was told
  // And for ever.
  kill(c());
  start(c());
  pass(Millis(5000));
  EXPECT_FALSE(a().peers->is_up(gone));
  EXPECT_FALSE(c().peers->is_up(id(a())));
}

TEST_P(PeersContract, WhoHeardNothingOfItsOwnEndIsRefused) {
  start_linked(3);
  kill(c());
  ASSERT_TRUE(at_once(a().peers->revoke({c().key.id()})));
  settle();
  start(c());
  pass(Millis(2000));
  EXPECT_THAT(c().peers->view(), SizeIs(2));
  EXPECT_FALSE(c().peers->is_up(id(a())));
  EXPECT_FALSE(c().peers->is_up(id(b())));
  EXPECT_THAT(view(c(), a()).last_failure, testing::HasSubstr("revoked"));
}

TEST_P(PeersContract, AMemberThatLeavesIsGoneEverywhere) {
  start_linked(3);
  std::optional<Result<std::size_t>> left;
  auto leave = [](PeerManager& peers, std::optional<Result<std::size_t>>& result) -> async::Task<void> {
    result = co_await peers.leave();
  };
  group.spawn("leave", leave(*c().peers, left));
  ASSERT_TRUE(passing([&] { return left.has_value(); }, Millis(3000)));
  ASSERT_TRUE(*left);
  EXPECT_EQ(**left, 2u);
  EXPECT_THAT(a().peers->view(), SizeIs(1));
  EXPECT_EQ(b().store->set().standing(c().key.id()), MembershipStatus::revoked);
}

TEST_P(PeersContract, ALostCountOfLivesIsLearntFromPeers) {
  start_linked(3);
  kill(b());
  start(b());
  ASSERT_TRUE(come_together());
  kill(b());
  std::filesystem::remove(b().folder / kEpochFile);
  start(b());
  EXPECT_EQ(b().peers->boot().epoch, 1u);
  ASSERT_TRUE(come_together());
  EXPECT_EQ(b().peers->boot().epoch, 3u);
  EXPECT_THAT(b().events.epochs, ElementsAre(3));
  pass(Millis(500));
  EXPECT_EQ(view(a(), b()).boot->epoch, 3u);
  EXPECT_EQ(view(c(), b()).boot->epoch, 3u);
}

TEST_P(PeersContract, ANodeJoinsAndIsLinkedToAll) {
  start_linked(2);
  const auto issued = at_once(
      a().tokens->issue(a().store->set().mesh(), id(a()), {std::chrono::hours(1), {a().place}}, timers.wall_now()));
  auto joiner = std::make_unique<Member>(9);
  std::unique_ptr<Network> network;
  if (GetParam() == Kind::memory) {
    network = air.add(joiner->key.public_key(), {"joiner", 1}, {});
  } else {
    network = std::make_unique<TlsNetwork>(loop.executor(), joiner->key, timers);
  }
  std::optional<Result<MemberSet>> joined;
  auto join = [](Network& over, async::Timers& time, SigningKey key, JoinToken token,
                 std::optional<Result<MemberSet>>& result) -> async::Task<void> {
    result = co_await join_mesh(over, time, std::move(key), std::move(token), JoinOptions());
  };
  group.spawn("join", join(*network, timers, joiner->key, *issued, joined));
  ASSERT_TRUE(passing([&] { return joined.has_value(); }, Millis(1000)));
  ASSERT_TRUE(*joined) << joined->error().message;
  EXPECT_THAT(b().peers->view(), SizeIs(2));  // heard at once
  joiner->store = *MemberStore::begin(joiner->folder.path(), **joined);
  joiner->tokens = *JoinTokenStore::open(joiner->folder.path());
  joiner->configured = {{issued->pins[0], issued->seeds[0]}};
  network.reset();
  members.push_back(std::move(joiner));
  start(*members.back());
  // No beat of any clock has to be waited for.
  settle();
  EXPECT_TRUE(all_up());
}

TEST_P(PeersContract, WhomTheConfigurationNamesNeedsNoToken) {
  start_linked(2);
  auto joiner = std::make_unique<Member>(9);
  std::unique_ptr<Network> network;
  if (GetParam() == Kind::memory) {
    network = air.add(joiner->key.public_key(), {"joiner", 1}, {});
  } else {
    network = std::make_unique<TlsNetwork>(loop.executor(), joiner->key, timers);
  }
  std::optional<Result<MemberSet>> joined;
  auto join = [](Network& over, async::Timers& time, SigningKey key, NodeId member, Address at,
                 std::optional<Result<MemberSet>>& result) -> async::Task<void> {
    std::vector<Address> addresses{std::move(at)};
    result = co_await join_by_name(over, time, std::move(key), member, std::move(addresses), JoinOptions());
  };
  const auto try_it = [&] {
    joined.reset();
    group.spawn("join", join(*network, timers, joiner->key, id(a()), a().place, joined));
    return passing([&] { return joined.has_value(); }, Millis(1000));
  };
  ASSERT_TRUE(try_it());
  ASSERT_FALSE(*joined);
  EXPECT_EQ(joined->error().code, errc::not_a_member);
  // With a token out for somebody else it gets as far as asking.
  const auto mesh = a().store->set().mesh();
  ASSERT_TRUE(at_once(a().tokens->issue(mesh, id(a()), {std::chrono::hours(1), {a().place}}, timers.wall_now())));
  ASSERT_TRUE(try_it());
  ASSERT_FALSE(*joined);
  EXPECT_EQ(joined->error().code, errc::token_unknown);
  const auto issued = a().tokens->list();
  ASSERT_TRUE(at_once(a().tokens->withdraw(short_text(issued.front().id))));

  kill(a());
  a().configured.push_back({joiner->key.id(), {"somewhere", 1}});
  start(a());
  ASSERT_TRUE(try_it());
  ASSERT_TRUE(*joined) << joined->error().message;
  EXPECT_EQ((*joined)->mesh(), mesh);
  EXPECT_EQ((*joined)->standing(joiner->key.id()), MembershipStatus::member);
  // Thrown out, its name is worth nothing.
  ASSERT_TRUE(at_once(a().peers->revoke({joiner->key.id()})));
  ASSERT_TRUE(try_it());
  ASSERT_FALSE(*joined);
  EXPECT_EQ(joined->error().code, errc::revoked);
}

TEST_P(PeersContract, AnAddressWithoutANameIsEnough) {
  make_members(2);
  start(a());
  b().configured = {{std::nullopt, a().place}};
  start(b());
  EXPECT_TRUE(come_together());
}

TEST_P(PeersContract, ManyStreamsAtOnceComeAboutWithoutDetours) {
  start_linked(2);
  pass(Millis(500));
  std::vector<std::shared_ptr<Opened>> streams;
  for (int i = 0; i < 24; ++i) {
    streams.push_back(std::make_shared<Opened>());
    group.spawn("open", open_into(streams.back(), *a().peers, id(b()), Purpose::http));
  }
  settle();
  for (const auto& stream : streams) {
    ASSERT_TRUE(*stream);
    EXPECT_TRUE(**stream) << (*stream)->error().message;
  }
  for (const auto& [address, purpose] : b().network->dialled) EXPECT_NE(purpose, Purpose::back);
  for (const auto& stream : streams) write(**stream->value(), "question");
  EXPECT_THAT(b().came, SizeIs(24));
}

TEST_P(PeersContract, MoreStreamsThanMayBeAreRefused) {
  start_linked(2);
  std::vector<std::shared_ptr<Opened>> streams;
  for (int i = 0; i < 33; ++i) {
    streams.push_back(open(a(), b()));
    ASSERT_TRUE(passing([&] { return streams.back()->has_value(); }, Millis(1000)));
  }
  EXPECT_TRUE(**streams[31]) << (*streams[31])->error().message;
  ASSERT_FALSE(**streams[32]);
  EXPECT_EQ((*streams[32])->error().code, errc::overloaded);
  streams[0]->reset();
  const auto again = open(a(), b());
  ASSERT_TRUE(passing([&] { return again->has_value(); }, Millis(1000)));
  EXPECT_TRUE(**again);
}

TEST_P(PeersContract, StreamsOfSplitsHaveABoundOfTheirOwn) {
  start_linked(2);
  std::vector<std::shared_ptr<Opened>> streams;
  for (int i = 0; i < 41; ++i) {
    streams.push_back(open(a(), b(), Purpose::rpc));
    ASSERT_TRUE(passing([&] { return streams.back()->has_value(); }, Millis(1000)));
    if (i < 40) {
      ASSERT_TRUE(**streams.back()) << (*streams.back())->error().message;
      write(**streams.back()->value(), "hello");
    }
  }
  EXPECT_THAT(b().came, SizeIs(40));
  ASSERT_FALSE(**streams[40]);
  EXPECT_EQ((*streams[40])->error().code, errc::overloaded);
  const auto request = open(a(), b());
  EXPECT_TRUE(*request && **request);
  streams[0]->reset();
  settle();
  EXPECT_EQ(view(a(), b()).streams_to, 40u);  // 39, and the request
}

TEST_P(PeersContract, LoadsAreCountedForEachPeer) {
  start_linked(3);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(a().peers->take_load(id(b())));
  EXPECT_FALSE(a().peers->take_load(id(b())));
  EXPECT_TRUE(a().peers->take_load(id(c())));
  pass(Millis(16000), Millis(400));
  EXPECT_TRUE(a().peers->take_load(id(b())));
  EXPECT_FALSE(a().peers->take_load(id(b())));
}

}  // namespace
}  // namespace corral::mesh
