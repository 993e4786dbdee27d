// The pure parts of Peers: when and where to dial, which link stays, what is told, and bounds.
#include <type_traits>

#include <gmock/gmock.h>

#include "mesh/allocation/link_table.h"
#include "mesh/identity/errors.h"
#include "mesh/peers/dial/dial_policy.h"
#include "mesh/peers/dial/link_choice.h"
#include "mesh/peers/peer_exchange.h"
#include "mesh/peers/streams/frame_budget.h"
#include "mesh/peers/table/address_book.h"
#include "mesh/peers/table/peer_file.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(DialPolicy, OftenForAMinuteThenNowAndThenAndNotInStep) {
  const DialRules rules;
  EXPECT_EQ(next_beat(rules, Millis(0), 0.9), Millis(300));
  EXPECT_EQ(next_beat(rules, Millis(59'999), 0.1), Millis(300));
  EXPECT_EQ(next_beat(rules, Millis(60'000), 0.5), Millis(5000));
  EXPECT_EQ(next_beat(rules, Millis(60'000), 0), Millis(4000));
  EXPECT_EQ(next_beat(rules, Millis(600'000), 1), Millis(6000));
  EXPECT_LT(dial_limit(rules, Millis(0)), dial_limit(rules, Millis(60'000)));
}

TEST(DialPolicy, TheBestAddressEveryTimeAndTheOthersInTurn) {
  EXPECT_THAT(dialled_at(3, 0), IsEmpty());
  EXPECT_THAT(dialled_at(3, 1), ElementsAre(0));
  EXPECT_THAT(dialled_at(0, 3), ElementsAre(0, 1));
  EXPECT_THAT(dialled_at(1, 3), ElementsAre(0, 2));
  EXPECT_THAT(dialled_at(2, 3), ElementsAre(0, 1));
}

// Both were called LinkFacts once. The linker takes two types of one name in one namespace for one type.
static_assert(!std::is_same_v<LinkIdentity, LinkQuality>);

TEST(LinkChoice, BothEndsComeToTheSameAnswer) {
  const auto x = test_key(1).id(), y = test_key(2).id();
  const auto low = std::min(x, y), high = std::max(x, y);
  const Boot boot{1, {1}}, later{2, {2}};
  // Dialled by the lower one against dialled by the higher one, seen from both ends.
  for (const bool at_low : {true, false}) {
    const auto own = at_low ? low : high, peer = at_low ? high : low;
    const auto by_low = identity_of(own, peer, at_low, boot), by_high = identity_of(own, peer, !at_low, boot);
    EXPECT_TRUE(takes_over(by_low, by_high));
    EXPECT_FALSE(takes_over(by_high, by_low));
    // Of two by one node: it has lost the first.
    EXPECT_TRUE(takes_over(by_low, by_low));
    EXPECT_TRUE(takes_over(by_high, by_high));
    // The peer died and came back: its old link is none.
    EXPECT_TRUE(takes_over(identity_of(own, peer, !at_low, later), by_low));
  }
}

TEST(AddressBook, WhoSaysMuchTakesNobodysPlace) {
  AddressBook addresses;
  addresses.proved({"proven", 1});
  addresses.configured({"configured", 1});
  addresses.announced({{"said", 1}, {"proven", 1}});
  for (std::uint16_t i = 1; i < 1000; ++i) {
    addresses.reported({"told", i});
    addresses.hinted({"hint", i});
  }
  const auto all = addresses.all();
  ASSERT_THAT(all, SizeIs(3 + AddressBook::kMaxReported + AddressBook::kMaxHints));
  EXPECT_EQ(all[0].host, "proven");
  EXPECT_EQ(all[1].host, "configured");
  EXPECT_EQ(all[2].host, "said");
  EXPECT_EQ(all.back(), (Address{"hint", 999}));
  EXPECT_THAT(addresses.first_hand(), ElementsAre(Address{"proven", 1}, Address{"said", 1}));
  addresses.is_elsewhere({"told", 999});
  EXPECT_THAT(addresses.all(), SizeIs(all.size() - 1));
}

TEST(AddressBook, WhoSaysItIsKnownOfEachAddress) {
  AddressBook addresses;
  addresses.reported({"told", 1});
  addresses.reported({"settings", 1});
  addresses.configured({"settings", 1});
  addresses.announced({{"said", 1}});
  EXPECT_EQ(addresses.origin_of({"settings", 1}), Origin::settings) << "though somebody told it before";
  for (const auto* host : {"told", "said", "nobody"}) EXPECT_EQ(addresses.origin_of({host, 1}), Origin::other) << host;
  addresses.proved({"said", 1});
  EXPECT_EQ(addresses.origin_of({"said", 1}), Origin::link);
  addresses.proved({"settings", 1});
  EXPECT_EQ(addresses.origin_of({"said", 1}), Origin::other);
  EXPECT_EQ(addresses.origin_of({"settings", 1}), Origin::settings);
}

TEST(PeerExchange, GoOverTheWireAsTheyAre) {
  const auto key = test_key(1);
  const PeerExchange exchange{make_claim(key, {5, {1, 2}}),
                              {{key.id(), true, {{"192.168.1.7", 8100}, {"fd00::1", 8100}}},
                               {test_key(2).id(), false, {}},
                               {test_key(3).id(), true, {}}}};
  EXPECT_EQ(*decode_peer_exchange(encode(exchange)), exchange);
  EXPECT_EQ(*decode_peer_exchange(encode(exchange) + "more of a later version"), exchange);
  // An earlier version says otherwise that it has a link, and adds the life of each such node.
  auto earlier = encode(exchange);
  earlier[kEpochClaimBytes + 2 + 32] = 1;
  EXPECT_EQ(*decode_peer_exchange(earlier + std::string(32, 'x')), exchange);
}

TEST(PeerExchange, WhatMakesNoSenseIsRefused) {
  PeerExchange exchange{make_claim(test_key(1), {5, {}}), {{test_key(1).id(), true, {}}}};
  const auto good = encode(exchange);
  for (std::size_t size = 0; size <= good.size(); ++size) {
    EXPECT_EQ(decode_peer_exchange(good.substr(0, size)).has_value(), size == good.size());
  }
  auto many = good;
  many[kEpochClaimBytes + 2 + 33] = 9;
  EXPECT_EQ(decode_peer_exchange(many).error().code, errc::malformed);
  // Thousands of nodes: as many as a frame has room for.
  exchange.nodes.assign(5000, {test_key(2).id(), true, {{"a-host-with-a-name", 1}}});
  EXPECT_LE(encode(exchange).size(), max_bytes(FrameKind::peer_exchange));
  EXPECT_TRUE(decode_peer_exchange(encode(exchange)));
}

TEST(PeerExchange, OnlyStreamsThatPeersOpenAreAskedFor) {
  EXPECT_EQ((*decode_dial_me(encode(ReverseDialRequest{7, Purpose::copy})))->number, 7u);
  EXPECT_EQ((*decode_dial_me(encode(ReverseDialRequest{7, Purpose::rpc})))->purpose, Purpose::rpc);
  EXPECT_FALSE(decode_dial_me(encode(ReverseDialRequest{7, Purpose::control})));
  EXPECT_FALSE(decode_dial_me(encode(ReverseDialRequest{7, Purpose::join})));
  EXPECT_FALSE(decode_dial_me("short"));
  const auto before = decode_dial_me(encode(ReverseDialRequest{7, static_cast<Purpose>(5)}));
  ASSERT_TRUE(before);
  EXPECT_FALSE(*before);
}

TEST(PeerFile, IsReadAsItWasWrittenAndPutAsideWhenItCantBe) {
  TestFolder folder;
  EXPECT_THAT(read_peers(folder.path()), IsEmpty());
  const std::vector<KnownPeer> peers{{test_key(1).public_key(), make_claim(test_key(1), {3, {}}), {{"a", 1}, {"b", 2}}},
                                     {test_key(2).public_key(), {}, {}}};
  ASSERT_TRUE(write_state_file(folder / kPeersFile, encode(peers)));
  EXPECT_EQ(read_peers(folder.path()), peers);
  const auto good = encode(peers);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode_peers(good.substr(0, size)));
  EXPECT_FALSE(decode_peers(good + "x"));
  std::filesystem::resize_file(folder / kPeersFile, 20);
  EXPECT_THAT(read_peers(folder.path()), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder / kPeersFile));
}

TEST(FrameBudget, HonestNodesStayBelowAndFloodsDont) {
  const MonoTime start(std::chrono::hours(1));
  FrameBudget budget;
  for (int i = 0; i < 600; ++i) {  // a minute of announcements, with a change of links each second
    const auto now = start + i * Millis(100);
    EXPECT_TRUE(budget.take({FrameKind::members, std::string(1000, 'x')}, now));
    if (i % 10 == 0) EXPECT_TRUE(budget.take({FrameKind::peer_exchange, std::string(3000, 'x')}, now));
  }
  FrameBudget questioned;
  int asked = 0;
  while (asked < 1000 && questioned.take({FrameKind::allot_ask, ""}, start)) ++asked;
  EXPECT_LT(asked, 100);
  FrameBudget hosted;
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(hosted.take({FrameKind::grant, ""}, start + i * Millis(50)));
  int granted = 0;
  while (granted < 1000 && hosted.take({FrameKind::grant, ""}, start + Millis(30'000))) ++granted;
  EXPECT_LT(granted, 300);
  for (const auto kind : {FrameKind::members, FrameKind::peer_exchange, FrameKind::dial_me, FrameKind::join_proved}) {
    FrameBudget fresh;
    int taken = 0;
    while (taken < 10'000 && fresh.take({kind, ""}, start)) ++taken;
    EXPECT_LT(taken, 5000);
  }
}

}  // namespace
}  // namespace corral::mesh
