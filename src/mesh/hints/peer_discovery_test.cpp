#include "mesh/hints/peer_discovery.h"

#include <gtest/gtest.h>

#include "mesh/hints/hint_diff.h"
#include "mesh/hints/message_pack.h"
#include "mesh/hints/serf_config.h"
#include "mesh/hints/serf_wire.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

Hint hint(std::uint8_t node, std::uint64_t epoch = 1, std::uint64_t sequence = 1) {
  return {test_key(node).id(), {{"192.168.1.7", 8100}, {"fd00::1", 8100}}, epoch, sequence};
}

TEST(HintLabels, SayAllAndComeBack) {
  const auto sent = hint(1, 7, 99);
  const auto labels = labels_of(sent);
  EXPECT_EQ(labels.addresses, "192.168.1.7:8100,[fd00::1]:8100");
  EXPECT_EQ(labels.progress, "7.99");
  EXPECT_EQ(hint_of(labels), sent);
}

TEST(HintLabels, NonsenseIsNoHint) {
  const auto good = labels_of(hint(1));
  for (const auto& broken : std::vector<HintLabels>{
           {},
           {good.node.substr(1), good.addresses, good.progress},
           {good.node, "nowhere", good.progress},
           {good.node, "a:1,,b:2", good.progress},
           {good.node, "a:1,b:2,c:3,d:4,e:5", good.progress},
           {good.node, good.addresses, "1"},
           {good.node, good.addresses, "1."},
           {good.node, good.addresses, "1.x"},
           {good.node, good.addresses, "99999999999999999999.1"},
           {good.node, good.addresses, "1.1 "},
       }) {
    EXPECT_FALSE(hint_of(broken)) << broken.node << ' ' << broken.addresses << ' ' << broken.progress;
  }
}

TEST(HintDiff, OnlyWhatChangedIsNews) {
  HintDiff diff(test_key(9).id());
  EXPECT_EQ(diff.take({hint(1), hint(9), hint(2)}), (std::vector{hint(1), hint(2)}));
  EXPECT_TRUE(diff.take({hint(2), hint(1)}).empty());
  EXPECT_EQ(diff.take({hint(2), hint(1, 1, 2)}), (std::vector{hint(1, 1, 2)}));
  // Forgotten, and heard of again.
  EXPECT_TRUE(diff.take({hint(1, 1, 2)}).empty());
  EXPECT_EQ(diff.take({hint(1, 1, 2), hint(2)}), (std::vector{hint(2)}));
}

TEST(HintDiff, OfTwoHintsOfOneNodeTheFirstCounts) {
  HintDiff diff(test_key(9).id());
  EXPECT_EQ(diff.take({hint(1), hint(1, 5)}), (std::vector{hint(1)}));
}

TEST(SerfConfig, HoldsWhatTheAgentNeeds) {
  SerfSetup setup{test_key(1).id(),       {"10.0.0.1", 8101},  4711, "secret", mesh_id({test_key(1).public_key(), {}}),
                  "/state/serf.snapshot", {{"10.0.0.2", 8101}}};
  const auto text = serf_config(setup);
  for (const auto* part : {R"("bind":"10.0.0.1:8101")", R"("rpc_addr":"127.0.0.1:4711")", R"("rpc_auth":"secret")",
                           R"("retry_join":["10.0.0.2:8101"])", R"("reconnect_interval":"1s")"}) {
    EXPECT_TRUE(text.contains(part)) << part << " in " << text;
  }
  // Another mesh doesn't understand this one.
  auto other = setup;
  other.mesh = mesh_id({test_key(2).public_key(), {}});
  EXPECT_NE(text, serf_config(other));
}

std::string plain(std::string_view bytes) { return std::string(bytes); }

TEST(MessagePack, CutOffIsToldFromNonsense) {
  const auto whole =
      PackWriter().map(2).text("a").number(300).text("b").array(2).flag(true).text(std::string(70'000, 'x')).take();
  EXPECT_EQ(extent_of(whole + "rest").bytes, whole.size());
  for (std::size_t size = 0; size < whole.size(); size += size < 40 ? 1 : 997) {
    EXPECT_EQ(extent_of(whole.substr(0, size)).state, PackState::cut_off) << size;
  }
  EXPECT_EQ(extent_of("\xc1").state, PackState::malformed);
  EXPECT_EQ(extent_of("\xd4\x01\x02").state, PackState::malformed);  // an extension
}

TEST(MessagePack, WhatWasLookedAtIsNotLookedAtAgain) {
  const auto whole = PackWriter().array(3).text("abc").number(300).map(1).text("k").text(std::string(40, 'x')).take();
  PackScanner scanner;
  std::string seen;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    seen.push_back(whole[size]);
    // Nobody minds what has become of the bytes before the last value's.
    const auto extent = scanner.scan(seen);
    EXPECT_EQ(extent.state, size + 1 < whole.size() ? PackState::cut_off : PackState::whole);
    if (size > 20) std::fill(seen.begin(), seen.begin() + 8, '\xc1');
  }
  EXPECT_EQ(scanner.scan(seen).bytes, whole.size());
}

TEST(MessagePack, CountsAreNotBelieved) {
  // Arrays of 4 billion elements in each other.
  std::string bomb;
  for (int i = 0; i < 1000; ++i) bomb += plain("\xdd\xff\xff\xff\xff");
  EXPECT_EQ(extent_of(bomb).state, PackState::cut_off);
  EXPECT_EQ(extent_of(plain("\xdb\xff\xff\xff\xff") + "abc").state, PackState::cut_off);
}

// As an agent of Serf 0.9.4 sent it.
const std::string kHead =
    "\x82\xa5"
    "Error\xa0\xa3"
    "Seq\x03";
std::string members_answer(const HintLabels& labels, std::string_view status = "alive") {
  const char address[] = {'\xc4', '\x04', '\x7f', '\x00', '\x00', '\x01'};
  std::string member =
      "\x8b\xa4"
      "Addr" +
      std::string(address, sizeof address);
  member +=
      "\xab"
      "DelegateCur\x05\xab"
      "DelegateMax\x05\xab"
      "DelegateMin\x02\xa4"
      "Name\xa2n1\xa4"
      "Port\xcd\x46\x1a";
  member +=
      "\xab"
      "ProtocolCur\x02\xab"
      "ProtocolMax\x05\xab"
      "ProtocolMin\x01";
  member += PackWriter()
                .text("Status")
                .text(status)
                .text("Tags")
                .map(4)
                .text("id")
                .text(labels.node)
                .text("other")
                .text("x")
                .text("at")
                .text(labels.addresses)
                .text("seq")
                .text(labels.progress)
                .take();
  return PackWriter().map(1).text("Members").array(1).take() + member;
}

TEST(SerfWire, ReadsWhatAnAgentSays) {
  SerfReader reader;
  const auto all = kHead + members_answer(labels_of(hint(1, 4, 5)));
  // Byte by byte.
  std::vector<std::string> values;
  for (const char byte : all) {
    ASSERT_TRUE(reader.put({&byte, 1}));
    auto value = reader.take();
    ASSERT_TRUE(value);
    if (*value) values.push_back(**value);
  }
  ASSERT_EQ(values.size(), 2u);
  const auto head = read_serf_head(values[0]);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->number, 3u);
  EXPECT_EQ(head->error, "");
  const auto members = read_serf_members(values[1]);
  ASSERT_TRUE(members);
  EXPECT_EQ(*members, std::vector{hint(1, 4, 5)});
}

TEST(SerfWire, WhoLeftOrSaysNonsenseIsPassedOver) {
  EXPECT_TRUE(read_serf_members(members_answer(labels_of(hint(1)), "failed"))->empty());
  EXPECT_TRUE(read_serf_members(members_answer({"who", "where", "1.1"}))->empty());
}

TEST(SerfWire, CutOffAndChangedAnswersAreRefusedOrRead) {
  const auto good = members_answer(labels_of(hint(1)));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read_serf_members(good.substr(0, size))) << size;
  // Every byte changed in every bit: nothing but an error or other hints come of it.
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      (void)read_serf_members(changed);
      (void)read_serf_head(changed);
    }
  }
}

TEST(SerfWire, AnAnswerHasABound) {
  SerfReader reader(100);
  EXPECT_TRUE(reader.put(std::string(100, '\xdd')));
  const auto more = reader.put("x");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, errc::too_large);
}

}  // namespace
}  // namespace corral::mesh
