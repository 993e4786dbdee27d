#include "mesh/gossip/gossip.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

class GossipTest : public testing::Test {
 protected:
  struct Node {
    Node(GossipTest& test, unsigned number, std::uint64_t epoch)
        : key(test_key(number)), peers(test.air, key.public_key(), {epoch, nonce(test)}) {
      for (unsigned other = 1; other <= kNodes; ++other) peers.members.push_back(test_key(other).public_key());
      GossipOptions options;
      options.mesh = test.mesh;
      options.standing = [&test](const PublicKey& member) {
        return test.thrown_out == member ? Standing::revoked : Standing::member;
      };
      options.keep_epoch = [this](std::uint64_t count) { kept_epoch = count; };
      gossip = std::make_unique<Gossip>(peers, test.timers, test.loop.executor(), key, options);
      peers.listen(*gossip);
    }
    static std::array<std::uint8_t, 16> nonce(GossipTest& test) { return {++test.lives}; }
    NodeId id() const { return key.id(); }

    SigningKey key;
    FakePeers peers;
    std::unique_ptr<Gossip> gossip;
    std::uint64_t kept_epoch = 0;
  };
  static constexpr unsigned kNodes = 6;

  Node& make(unsigned number, std::uint64_t epoch = 1) {
    auto& node = nodes[number];
    node = std::make_unique<Node>(*this, number, epoch);
    return *node;
  }
  static Statement statement(const std::string& name, unsigned models = 1) {
    Statement said;
    said.name = name;
    for (unsigned i = 0; i < models; ++i) {
      auto& model = said.models.emplace_back();
      model.name = name + "-" + std::to_string(i);
      model.hash = sha256({model.name});
      model.bytes = 1000;
    }
    return said;
  }
  void link(Node& a, Node& b) { air.up(a.peers, b.peers); }
  void settle() { air.deliver_all(); }
  void pass(Millis time) {
    for (Millis gone(0); gone < time; gone += Millis(100)) {
      timers.advance(Millis(100));
      for (auto& [number, node] : nodes) {
        if (node && node->gossip->busy()) node->gossip->tick();
      }
      settle();
    }
  }
  static std::string word(const Node& at, const Node& of) {
    for (const auto& node : at.gossip->known()) {
      if (node.id == of.id()) return node.said ? node.said->name : "";
    }
    return "?";
  }

  MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  PublicKey thrown_out;
  const FakePeers* mute = nullptr;
  std::uint8_t lives = 0;
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  FakeAir air;
  std::map<unsigned, std::unique_ptr<Node>> nodes;
};

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
  auto said = statement("a", 300);
  said.serving = {{.name = "a-7"}};
  a.gossip->announce(said);
  settle();
  EXPECT_EQ(b.gossip->counters().heads_in, before.heads_in + 1);
  EXPECT_EQ(b.gossip->counters().pages_in, before.pages_in + 1);
  EXPECT_EQ(b.gossip->catalog()->find("a-7").model->status, ModelStatus::ready);
  a.gossip->announce(said);  // nothing new
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

TEST_F(GossipTest, ThirdPartiesPassOnAndDontProveLife) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  a.gossip->announce(statement("a"));
  link(a, b);
  link(b, c);
  settle();
  EXPECT_EQ(word(c, a), "a");
  EXPECT_EQ(c.gossip->catalog()->models().size(), 0u);  // no link, so nothing of it
  c.peers.relayed.insert(a.id());
  c.gossip->reach_changed();
  EXPECT_EQ(c.gossip->catalog()->models().size(), 1u);
}

TEST_F(GossipTest, NobodyRepeatsWhatTheAuthorTellsItself) {
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

TEST_F(GossipTest, WhatADyingNodeToldOnlyOneComesToAll) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  link(a, b);
  link(b, c);
  link(a, c);
  a.gossip->announce(statement("a"));
  pass(Millis(2000));
  air.filter = [&](const FakeAir::Message& message) { return message.from != &a.peers || message.to != &c.peers; };
  a.gossip->announce(statement("last words"));
  settle();
  EXPECT_EQ(word(b, a), "last words");
  EXPECT_EQ(word(c, a), "a");
  air.down(a.peers, b.peers);
  air.down(a.peers, c.peers);
  settle();
  EXPECT_EQ(word(c, a), "last words");
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

TEST_F(GossipTest, APeerThatDoesntAnswerIsLeftForAnother) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  auto& d = make(4);
  a.gossip->announce(statement("a"));
  link(a, b);
  link(a, c);
  settle();
  air.filter = [&](const FakeAir::Message& message) {
    return message.frame.kind != FrameKind::pages || message.from != mute;
  };
  mute = &b.peers;
  link(b, d);
  link(c, d);
  pass(Millis(6000));
  EXPECT_EQ(word(d, a), "a");
  // And when all were silent for a while, it is tried again.
  mute = &c.peers;
  a.gossip->announce(statement("news"));
  air.down(b.peers, d.peers);
  pass(Millis(10'000));
  EXPECT_EQ(word(d, a), "a");
  mute = nullptr;
  pass(Millis(4000));
  EXPECT_EQ(word(d, a), "news");
}

TEST_F(GossipTest, AnAnnouncementThatNobodyGivesRestsAndTheOneBeforeCounts) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  const auto tell = [&](std::uint64_t seq, std::vector<PageRef> pages) {
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
  tell(50, {ref_of("never given")});
  tell(10, {});
  tell(9, {});
  EXPECT_EQ(a.gossip->book().find(b.id()), nullptr);
  pass(Millis(17'000));
  ASSERT_TRUE(a.gossip->book().find(b.id()));
  EXPECT_EQ(a.gossip->book().find(b.id())->head.seq, 10u);
  tell(11, {});
  EXPECT_EQ(a.gossip->book().find(b.id())->head.seq, 11u);
  // It is asked for again, later.
  const auto asked = [&] {
    return std::ranges::any_of(air.under_way, [](const auto& sent) { return sent.frame.kind == FrameKind::ask_pages; });
  };
  bool again = false;
  for (int i = 0; i < 120 && !again; ++i) {
    timers.advance(Millis(100));
    a.gossip->tick();
    again = asked();
    settle();
  }
  EXPECT_TRUE(again);
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

TEST_F(GossipTest, LiesChangeNothing) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  a.gossip->announce(statement("a"));
  c.gossip->announce(statement("c"));
  link(a, b);
  link(a, c);
  settle();
  auto head = a.gossip->book().find(c.id())->head;
  const auto send = [&](Frame frame) {
    b.peers.send(a.id(), std::move(frame));
    settle();
  };
  const auto told = [&](const Head& lie) {
    std::string bytes;
    encode(lie, bytes);
    send({FrameKind::heads, std::move(bytes)});
  };
  auto newer = head;
  newer.seq += 5;  // c's, changed
  told(newer);
  newer.author = b.key.public_key();  // c's entries as b's own
  told(newer);
  told(head);  // replayed
  send({FrameKind::heads, "nonsense"});
  send({FrameKind::pages, "short"});
  std::string unasked(as_text(c.key.public_key().bytes));
  ByteWriter(unasked).sized<std::uint32_t>("a page");
  send({FrameKind::pages, unasked});
  send({FrameKind::ask_pages, "short"});
  EXPECT_EQ(word(a, c), "c");
  EXPECT_EQ(word(a, b), "");
  EXPECT_EQ(a.gossip->counters().refused, 6u);
  EXPECT_EQ(a.gossip->book().find(c.id())->head, head);
}

TEST_F(GossipTest, EndlessNewsOfOneAuthorAreTakenTwiceASecond) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  const auto key = test_key(2);
  for (unsigned i = 1; i <= 1000; ++i) {
    Head head;
    head.boot = {7, {}};
    head.seq = i;
    sign(head, key, mesh);
    std::string bytes;
    encode(head, bytes);
    b.peers.send(a.id(), {FrameKind::heads, std::move(bytes)});
    settle();
    if (i % 10 == 0) pass(Millis(100));
  }
  EXPECT_LE(a.gossip->counters().accepted, 6u + 22u);
  pass(Millis(1000));
  EXPECT_EQ(a.gossip->book().find(b.id())->head.seq, 1000u);
}

TEST_F(GossipTest, SignaturesThatAreCheckedForOnePeerHaveABound) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  for (unsigned i = 1; i <= 4000; ++i) {
    Head head;
    head.author = test_key(3).public_key();
    head.boot = {7, {}};
    head.seq = i;
    std::string bytes;
    encode(head, bytes);
    b.peers.send(a.id(), {FrameKind::heads, std::move(bytes)});
    settle();
  }
  EXPECT_LE(a.gossip->counters().checks, 1501u);
}

TEST_F(GossipTest, QuestionsAreAnsweredWithinABound) {
  auto& a = make(1);
  auto& b = make(2);
  a.gossip->announce(statement("a", 2000));
  link(a, b);
  settle();
  const auto before = a.gossip->counters().pages_out;
  const auto& head = a.gossip->book().find(a.id())->head;
  std::string question(as_text(head.author.bytes));
  for (int i = 0; i < 400; ++i) ByteWriter(question).raw(head.pages.back().hash);
  for (int i = 0; i < 50; ++i) b.peers.send(a.id(), {FrameKind::ask_pages, question});
  settle();
  EXPECT_LE((a.gossip->counters().pages_out - before) * head.pages.back().bytes, 1'200'000u);
}

TEST_F(GossipTest, WhoIsThrownOutIsForgottenAndANewMemberIsAskedFor) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  c.gossip->announce(statement("c"));
  link(b, c);
  settle();
  thrown_out = c.key.public_key();  // or a member that a hasn't heard of yet
  link(a, b);
  settle();
  EXPECT_EQ(word(a, c), "");
  thrown_out = {};
  a.gossip->members_changed();
  settle();
  EXPECT_EQ(word(a, c), "c");
  thrown_out = c.key.public_key();
  a.gossip->members_changed();
  EXPECT_EQ(a.gossip->book().find(c.id()), nullptr);
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
