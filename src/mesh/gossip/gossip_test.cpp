#include "mesh/gossip/gossip_fixture_for_tests.h"

namespace corral::mesh {
namespace {

TEST_F(GossipTest, ALinkIsEnoughForBothToKnowAllOfEachOther) {
  auto& a = make(1);
  auto& b = make(2);
  a.gossip->announce(statement("a", 300));
  b.gossip->announce(statement("b"));
  link(a, b);
  settle();  // no time passes
  EXPECT_EQ(word(a, b), "b");
  EXPECT_EQ(word(b, a), "a");
  EXPECT_EQ(b.gossip->catalog()->models().size(), 301u);
}

TEST_F(GossipTest, AChangeCostsAHeadAndAPage) {
  auto& a = make(1);
  auto& b = make(2);
  a.gossip->announce(statement("a", 300));
  link(a, b);
  pass(Millis(2000));
  const auto before = b.gossip->counters();
  auto node_state = statement("a", 300);
  node_state.serving = {{.name = "a-7"}};
  a.gossip->announce(node_state);
  settle();
  EXPECT_EQ(b.gossip->counters().heads_in, before.heads_in + 1);
  EXPECT_EQ(b.gossip->counters().pages_in, before.pages_in + 1);
  EXPECT_EQ(b.gossip->catalog()->find("a-7").model->status, ModelStatus::ready);
  a.gossip->announce(node_state);  // nothing new
  settle();
  EXPECT_EQ(b.gossip->counters().heads_in, before.heads_in + 1);
}

TEST_F(GossipTest, MoreThanTwoASecondArePutTogether) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  for (int i = 0; i < 50; ++i) {
    a.gossip->announce(statement("a" + std::to_string(i)));
    settle();
    pass(Millis(100));
  }
  EXPECT_LE(a.gossip->counters().own, 12u);
  pass(Millis(1000));
  EXPECT_EQ(word(b, a), "a49");
}

TEST_F(GossipTest, NobodyPassesOnWhatAnotherSaid) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  a.gossip->announce(statement("a"));
  link(a, b);
  link(b, c);
  pass(Millis(1000));
  EXPECT_EQ(word(b, a), "a");
  EXPECT_EQ(c.gossip->store().find(a.id()), nullptr);
  a.gossip->announce(statement("news"));
  air.down(a.peers, b.peers);
  pass(Millis(1000));
  EXPECT_EQ(c.gossip->store().find(a.id()), nullptr);
  link(a, c);
  settle();
  EXPECT_EQ(word(c, a), "news");
}

// Earlier versions pass announcements on, and ask for pages of others.
TEST_F(GossipTest, WhatComesOverAnothersLinkIsPassedOver) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  c.gossip->announce(statement("c"));
  b.gossip->announce(statement("b"));
  link(a, b);
  pass(Millis(1000));  // they have said whom they have links to
  const auto& head = c.gossip->store().find(c.id())->head;
  Frame heads{FrameKind::heads, {}}, question{FrameKind::ask_pages, std::string(as_text(head.author.bytes))};
  encode(head, heads.payload);
  encode(b.gossip->store().find(b.id())->head, heads.payload);
  for (const auto& page : head.pages) ByteWriter(question.payload).raw(page.hash);
  std::size_t sent = 0;
  air.filter = [&](const FakeAir::Message& message) {
    sent += message.from == &a.peers ? 1 : 0;
    return true;
  };
  b.peers.send(a.id(), heads);
  b.peers.send(a.id(), question);
  pass(Millis(1000));
  EXPECT_EQ(sent, 0u);
  EXPECT_EQ(a.gossip->store().find(c.id()), nullptr);
  EXPECT_EQ(word(a, b), "b");
  EXPECT_EQ(a.gossip->counters().refused, 0u);
}

TEST_F(GossipTest, EachNodeHearsOfAChangeOnce) {
  std::vector<Node*> all;
  for (unsigned number = 1; number <= kNodes; ++number) all.push_back(&make(number));
  for (auto* node : all) node->gossip->announce(statement("n"));
  for (auto* a : all) {
    for (auto* b : all) {
      if (a->id() < b->id()) link(*a, *b);
    }
  }
  pass(Millis(3000));
  const auto before = all[0]->gossip->counters();
  all[1]->gossip->announce(statement("news"));
  pass(Millis(1000));
  EXPECT_EQ(all[0]->gossip->counters().heads_in, before.heads_in + 1);
  EXPECT_EQ(word(*all[0], *all[1]), "news");
}

TEST_F(GossipTest, ANodeThatCameBackSaysNothingUntilItSpeaks) {
  auto& a = make(1);
  auto* b = &make(2);
  b->gossip->announce(statement("before"));
  link(a, *b);
  settle();
  EXPECT_EQ(word(a, *b), "before");
  air.down(a.peers, b->peers);
  EXPECT_EQ(word(a, *b), "before");  // what it was, for people; it isn't routable
  b = &make(2, 2);
  link(a, *b);
  EXPECT_EQ(word(a, *b), "");
  b->gossip->announce(statement("after"));
  settle();
  EXPECT_EQ(word(a, *b), "after");
}

// Its models stay known by their names until it says which it has; nothing else of its earlier life counts.
TEST_F(GossipTest, ANodeThatCameBackIsStillKnownToHaveItsModels) {
  auto& a = make(1);
  auto* b = &make(2);
  b->gossip->announce(statement("b"));
  link(a, *b);
  settle();
  ASSERT_TRUE(a.gossip->catalog()->find("b-0").model);
  const auto is_away = [&] {
    const auto found = a.gossip->catalog()->find("b-0");
    return !found.model && found.away == std::vector{b->id()};
  };
  air.down(a.peers, b->peers);
  EXPECT_TRUE(is_away());
  b = &make(2, 2);
  a.peers.since = timers.now();
  link(a, *b);
  EXPECT_TRUE(is_away());  // before its first word
  auto node_state = statement("b", 0);
  node_state.looking = true;
  b->gossip->announce(node_state);
  settle();
  EXPECT_EQ(word(a, *b), "b");
  EXPECT_TRUE(is_away());  // before it has looked at its disks
  EXPECT_TRUE(a.gossip->catalog()->models().empty());
  int changes = 0;
  a.gossip->on_change([&] { ++changes; });
  pass(std::chrono::minutes(1));  // it never looks, and nothing else happens
  EXPECT_EQ(changes, 1);
  EXPECT_FALSE(a.gossip->busy());
  EXPECT_TRUE(a.gossip->catalog()->find("b-0").away.empty());
  a.peers.since = timers.now();
  a.gossip->reach_changed();
  EXPECT_TRUE(is_away());
  b->gossip->announce(statement("other"));
  pass(Millis(1000));
  EXPECT_TRUE(a.gossip->catalog()->find("b-0").away.empty());  // it has other models now
  EXPECT_TRUE(a.gossip->catalog()->find("other-0").model);
}

TEST_F(GossipTest, OfWhomNothingIsKnownYetMaySpeakAnyMoment) {
  auto& a = make(1);
  const auto expected = [&] {
    std::size_t count = 0;
    for (const auto& node : a.gossip->known())
      count += node.expected_until && *node.expected_until > timers.now() ? 1 : 0;
    return count;
  };
  EXPECT_EQ(expected(), kNodes - 1);  // it was just started itself
  timers.advance(std::chrono::seconds(10));
  EXPECT_EQ(expected(), 0u);
  auto& b = make(2);
  a.peers.since = timers.now();
  link(a, b);
  EXPECT_EQ(expected(), 1u);
  b.gossip->announce(statement("b"));
  settle();
  EXPECT_EQ(expected(), 0u);
}

TEST_F(GossipTest, ANodeThatLostItsCountLearnsItFromWhatOthersHold) {
  auto& a = make(1);
  auto* b = &make(2, 5);
  b->gossip->announce(statement("before"));
  link(a, *b);
  settle();
  air.down(a.peers, b->peers);
  b = &make(2, 1);
  b->gossip->announce(statement("after"));
  link(a, *b);
  pass(Millis(2000));
  EXPECT_EQ(word(a, *b), "after");
  EXPECT_EQ(b->gossip->boot().epoch, 6u);
  EXPECT_EQ(b->kept_epoch, 6u);
}

TEST_F(GossipTest, ACountThatIsTheSameByChanceIsNoticed) {
  auto& a = make(1);
  auto* b = &make(2, 1);
  for (int i = 0; i < 5; ++i) {
    b->gossip->announce(statement("before" + std::to_string(i)));
    pass(Millis(600));
  }
  link(a, *b);
  settle();
  air.down(a.peers, b->peers);
  b = &make(2, 1);
  b->gossip->announce(statement("after"));
  link(a, *b);
  pass(Millis(2000));
  EXPECT_EQ(word(a, *b), "after");
  EXPECT_EQ(b->gossip->boot().epoch, 2u);
}

TEST_F(GossipTest, AnAnnouncementThatItsAuthorDoesntGiveRestsAndTheOneBeforeCounts) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  const auto send_head = [&](std::uint64_t seq, std::vector<PageRef> pages) {
    Head head;
    head.boot = {7, {}};
    head.seq = seq;
    head.pages = std::move(pages);
    sign(head, b.key, mesh);
    std::string bytes;
    encode(head, bytes);
    b.peers.send(a.id(), {FrameKind::heads, std::move(bytes)});
    settle();
  };
  const auto newest = [&] { return a.gossip->store().find(b.id())->head.seq; };
  std::size_t asked = 0;
  bool mute = true;
  air.filter = [&](const FakeAir::Message& message) {
    const bool question = message.from == &a.peers && message.frame.kind == FrameKind::ask_pages;
    asked += question ? 1 : 0;
    return !question || !mute;
  };
  send_head(10, {});
  send_head(50, {ref_of("never given")});
  pass(Millis(16'000));  // it is asked three times
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(newest(), 10u);
  pass(Millis(8000));
  EXPECT_EQ(asked, 3u);
  // It is asked again, later; it answers that there is no such page.
  mute = false;
  pass(Millis(2000));
  EXPECT_EQ(asked, 6u);
  send_head(51, {});
  EXPECT_EQ(newest(), 51u);
}

// Whoever was asked for it says so, and what came later is fetched: nobody waits for pages that are gone.
TEST_F(GossipTest, AnAnnouncementThatIsOutOfDateIsNotWaitedFor) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  std::deque<FakeAir::Message> held;
  air.filter = [&](const FakeAir::Message& message) {
    const bool late = message.from == &b.peers && message.frame.kind == FrameKind::ask_pages && held.empty();
    if (late) held.push_back(message);
    return !late;
  };
  a.gossip->announce(statement("0"));
  settle();
  ASSERT_EQ(held.size(), 1u);
  for (int i = 1; i < 8; ++i) {
    pass(Millis(500));
    a.gossip->announce(statement(std::to_string(i)));
    settle();
  }
  EXPECT_EQ(word(b, a), "");
  air.under_way.push_back(held.front());
  settle();
  pass(Millis(200));
  EXPECT_EQ(word(b, a), "7");
}

TEST_F(GossipTest, ANodeThatIsThrownOutIsForgotten) {
  auto& a = make(1);
  auto& b = make(2);
  b.gossip->announce(statement("b"));
  link(a, b);
  settle();
  EXPECT_EQ(word(a, b), "b");
  thrown_out = b.key.public_key();
  a.gossip->members_changed();
  EXPECT_EQ(a.gossip->store().find(b.id()), nullptr);
  b.gossip->announce(statement("again"));
  pass(Millis(1000));
  EXPECT_EQ(a.gossip->store().find(b.id()), nullptr);
}

TEST_F(GossipTest, TellsThatSomethingHasChangedAndRunsByItself) {
  auto& a = make(1);
  auto& b = make(2);
  int changes = 0;
  b.gossip->on_change([&] { ++changes; });
  async::TaskGroup group(loop.executor());
  group.spawn("gossip", a.gossip->run());
  link(a, b);
  a.gossip->announce(statement("a"));
  settle();
  a.gossip->announce(statement("later"));
  changes = 0;
  for (int i = 0; i < 10; ++i) {
    timers.advance(Millis(100));
    while (loop.context().poll() > 0) {
    }
    settle();
  }
  EXPECT_EQ(word(b, a), "later");
  EXPECT_GT(changes, 0);
  const auto sleepers = timers.sleepers();
  EXPECT_EQ(sleepers, 0u);  // an idle one wakes nobody
  group.cancel();
  while (loop.context().poll() > 0) {
  }
}

}  // namespace
}  // namespace corral::mesh
