// An engine's connections through a tunnel, and every way in which they end.
#include <vector>

#include <gmock/gmock.h>

#include "fleet/tunnels/tunnel_fixture_for_tests.h"

namespace corral::fleet {
namespace {

using mesh::Kind;
using mesh::kind_name;
using testing::HasSubstr;
using testing::SizeIs;

class TunnelTest : public TunnelFixture {};
CORRAL_ON_BOTH_NETWORKS(TunnelTest);

TEST_P(TunnelTest, CarriesBytesBothWays) {
  open_entry();
  EXPECT_THAT(entry->endpoint(), testing::StartsWith("127.0.0.1:"));
  EXPECT_FALSE(served()) << "it takes one connection at a time: none before there is something to say";
  auto pair = connect_through();
  EXPECT_EQ(entry->connections(), 1u);
  put(pair.worker, "answer");
  settle();
  EXPECT_EQ(got(pair.engine), "answer");
}

TEST_P(TunnelTest, OpensOnceTheWorkerListens) {
  starting = true;
  const auto begun = begin_open(plan);
  pass(Millis(3000));
  EXPECT_FALSE(*begun);
  starting = false;
  ASSERT_TRUE(passing([&] { return begun->has_value(); }, Millis(500)));
  ASSERT_TRUE(**begun) << (*begun)->error().message;
  entry = std::move(***begun);
  connect_through();
}

TEST_P(TunnelTest, AWorkerThatDoesntComeIsGivenUp) {
  starting = true;
  const auto begun = begin_open(plan);
  ASSERT_TRUE(passing([&] { return begun->has_value(); }, Millis(15'300)));
  ASSERT_FALSE(**begun);
  EXPECT_EQ((*begun)->error().code, errc::worker_refused);
  EXPECT_THAT((*begun)->error().message, HasSubstr("didn't start in time"));
}

TEST_P(TunnelTest, AnotherPlanIsRefusedWithTheReason) {
  const auto begun = begin_open({4, 1});
  ASSERT_TRUE(*begun);
  ASSERT_FALSE(**begun);
  EXPECT_EQ((*begun)->error().code, errc::worker_refused);
  EXPECT_THAT((*begun)->error().message, HasSubstr("granted to another plan"));
  settle();
  EXPECT_EQ(door->streams(), 0u);
}

TEST_P(TunnelTest, WithoutALinkThereIsNone) {
  door.reset();
  kill(b());
  const auto begun = begin_open(plan);
  ASSERT_TRUE(*begun);
  ASSERT_FALSE(**begun);
  EXPECT_EQ((*begun)->error().code, mesh::errc::unreachable);
}

TEST_P(TunnelTest, MuchArrivesInOrderAndNoFasterThanItIsTaken) {
  open_entry();
  auto pair = connect_through();
  std::string sent(40'000'000, '\0'), arrived;
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 >> 3);
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at += put(pair.engine, std::string_view(sent).substr(at));
    settle();
  }
  EXPECT_LT(at, sent.size()) << "sockets, streams and pumps hold a part only";
  for (int turn = 0; turn < 2000 && arrived.size() < sent.size(); ++turn) {
    arrived += got(pair.worker);
    at += put(pair.engine, std::string_view(sent).substr(at));
    settle();
  }
  EXPECT_TRUE(arrived == sent);
}

TEST_P(TunnelTest, WhatWasSaidBeforeAnEndArrives) {
  open_entry();
  auto pair = connect_through();
  const std::string last(100'000, 'x');
  put_all(pair.engine, last);
  pair.engine.reset();
  settle();
  EXPECT_EQ(got(pair.worker), last + "END");
  settle();
  EXPECT_EQ(entry->connections(), 0u);
  pair = connect_through();
  put_all(pair.worker, last);
  pair.worker.reset();
  settle();
  EXPECT_EQ(got(pair.engine), last + "END");
  EXPECT_EQ(entry->connections(), 0u);
}

TEST_P(TunnelTest, AnEndOfOneWayIsTheEndOfAll) {
  open_entry();
  auto pair = connect_through();
  ::shutdown(pair.engine.get(), SHUT_WR);
  settle();
  EXPECT_TRUE(is_over(pair.worker));
  EXPECT_TRUE(is_over(pair.engine));
  EXPECT_EQ(entry->connections(), 0u);
}

// As an engine's load does it.
TEST_P(TunnelTest, OneConnectionAfterTheOther) {
  open_entry();
  for (int i = 0; i < 14; ++i) {
    auto pair = connect_through();
    put(pair.worker, "answer");
    settle();
    EXPECT_EQ(got(pair.engine), "answer");
    pair.engine.reset();
    settle();
    EXPECT_TRUE(is_over(pair.worker));
  }
  EXPECT_EQ(entry->connections(), 0u);
  EXPECT_EQ(view(a(), b()).streams_to, TunnelEntry::kReady);
}

TEST_P(TunnelTest, SoManyAtATimeAndNoMore) {
  open_entry();
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < TunnelEntry::kMaxConnections; ++i) pairs.push_back(connect_through());
  EXPECT_EQ(entry->connections(), 32u);
  const auto refused = connect();
  EXPECT_TRUE(is_over(refused));
  pairs.pop_back();
  settle();
  connect_through();
}

TEST_P(TunnelTest, OtherUsersAreRefused) {
  open_entry();
  std::vector<std::pair<std::uint16_t, std::uint16_t>> looked;
  uid_t owner = ::geteuid() + 1;
  entry->ask_owner_of([&](std::uint16_t its, std::uint16_t ours) -> Result<uid_t> {
    looked.emplace_back(its, ours);
    if (owner == 0) return fail(mesh::errc::link_closed, "nobody");
    return owner;
  });
  auto unknown = connect();
  put(unknown, "hello");
  settle();
  EXPECT_TRUE(is_over(unknown));
  ASSERT_THAT(looked, SizeIs(1));
  EXPECT_EQ(looked[0].second, port_of(*entry));
  entry->ask_owner_of([](auto, auto) -> Result<uid_t> { return fail(mesh::errc::link_closed, "nobody"); });
  EXPECT_TRUE(is_over(connect()));
  EXPECT_FALSE(served());
  EXPECT_EQ(entry->connections(), 0u);
  entry->ask_owner_of([](auto, auto) -> Result<uid_t> { return ::geteuid(); });
  connect_through();
}

// A local user who connects again and again costs the loop so many looks a second.
TEST_P(TunnelTest, LooksAtWhoConnectsHaveABound) {
  open_entry();
  int looks = 0;
  entry->ask_owner_of([&](auto, auto) -> Result<uid_t> {
    ++looks;
    return fail(mesh::errc::link_closed, "nobody");
  });
  for (int i = 0; i < 150; ++i) connect();
  EXPECT_LE(looks, 130);
  pass(Millis(1000));
  EXPECT_EQ(looks, 150);
}

TEST_P(TunnelTest, DestroyedItLeavesNothing) {
  open_entry();
  auto first = connect_through(), second = connect_through();
  auto third = connect();  // that has said nothing yet
  const auto port = port_of(*entry);
  entry.reset();
  settle();
  for (const auto* end : {&first.engine, &first.worker, &second.engine, &second.worker, &third})
    EXPECT_TRUE(is_over(*end));
  EXPECT_EQ(view(a(), b()).streams_to, 0u);
  EXPECT_EQ(door->streams(), 0u);
  UniqueFd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(port);
  EXPECT_NE(::connect(late.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
}

TEST_P(TunnelTest, ADoorThatStopsEndsAll) {
  open_entry();
  auto pair = connect_through();
  group.spawn("stop", door->stop());
  settle();
  EXPECT_EQ(door->streams(), 0u);
  EXPECT_TRUE(is_over(pair.engine));
  EXPECT_TRUE(is_over(pair.worker));
  // Nobody takes streams any more: the engine isn't left waiting.
  const auto late = connect();
  ASSERT_TRUE(passing([&] { return is_over(late); }, Millis(20'000)));
}

TEST_P(TunnelTest, AWorkerThatIsGoneEndsTheConnection) {
  open_entry();
  std::filesystem::remove(folder / "worker.sock");
  worker.reset();
  const auto engine = connect();
  put(engine, "hello");
  settle();
  EXPECT_TRUE(is_over(engine));
  EXPECT_EQ(entry->connections(), 0u);
}

// Its yes may be old when the engine begins to speak.
TEST_P(TunnelTest, APlanThatHasEndedMeanwhileIsNotServed) {
  open_entry();
  plan.term = 3;
  const auto engine = connect();
  put(engine, "hello");
  settle();
  EXPECT_TRUE(is_over(engine));
  EXPECT_FALSE(served());
}

TEST_P(TunnelTest, WhetherTheWayOrTheEngineEndedIsKnown) {
  open_entry();
  const auto broken = entry->broken();
  auto pair = connect_through();
  pair.engine.reset();
  settle();
  EXPECT_TRUE(is_over(pair.worker));
  EXPECT_FALSE(*broken) << "the engine closes connections, and dies for reasons of its own";
  pair = connect_through();
  pair.worker.reset();
  settle();
  EXPECT_TRUE(is_over(pair.engine));
  EXPECT_TRUE(*broken);
}

TEST_P(TunnelTest, AWayThatIsDestroyedHereDidNotBreakAndALinkThatEndsDid) {
  for (const bool link : {false, true}) {
    open_entry();
    const auto broken = entry->broken();
    const auto pair = connect_through();
    link ? run_stop(b()) : entry.reset();
    settle();
    EXPECT_TRUE(is_over(pair.engine));
    EXPECT_EQ(*broken, link);
  }
  door.reset();
}

TEST_P(TunnelTest, TheEndOfALinkIsTheEndOfAllConnections) {
  open_entry();
  auto first = connect_through(), second = connect_through();
  run_stop(b());
  settle();
  for (const auto* end : {&first.engine, &first.worker, &second.engine, &second.worker}) EXPECT_TRUE(is_over(*end));
  EXPECT_EQ(entry->connections(), 0u);
  // And what comes later isn't left waiting either.
  const auto late = connect();
  ASSERT_TRUE(passing([&] { return is_over(late); }, Millis(6000)));
  door.reset();
}

}  // namespace
}  // namespace corral::fleet
