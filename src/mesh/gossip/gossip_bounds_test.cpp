// What peers that lie, ask too much or tell too much can bring about: little.
#include "mesh/gossip/gossip_fixture_for_tests.h"

namespace corral::mesh {
namespace {

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

TEST_F(GossipTest, QuestionsForHeadsArePaidFor) {
  auto& a = make(1);
  auto& b = make(2);
  a.gossip->announce(statement("a"));
  link(a, b);
  settle();
  const auto before = a.gossip->counters().heads_out;
  const std::string question(as_text(a.key.public_key().bytes));
  for (int i = 0; i < 5000; ++i) {
    b.peers.send(a.id(), {FrameKind::ask_pages, question});
    settle();
  }
  EXPECT_LE(a.gossip->counters().heads_out - before, 1024u);
  EXPECT_GT(a.gossip->counters().heads_out - before, 100u);
}

// Peers take so many frames at once and no more: a link mustn't end because many have joined.
TEST_F(GossipTest, ManyNewMembersAreAskedForAFewAtATime) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  for (unsigned i = 0; i < 100; ++i) {
    Head head;
    head.boot = {1, {}};
    head.seq = 1;
    sign(head, test_key(100 + i), mesh);
    strangers.insert(head.author);
    a.peers.members.push_back(head.author);
    std::string bytes;
    encode(head, bytes);
    b.peers.send(a.id(), {FrameKind::heads, std::move(bytes)});
  }
  settle();
  std::size_t asked = 0;
  air.filter = [&](const FakeAir::Message& message) {
    asked += message.from == &a.peers && message.frame.kind == FrameKind::ask_pages ? 1 : 0;
    return true;
  };
  strangers.clear();
  for (int i = 0; i < 5; ++i) a.gossip->members_changed();
  settle();
  EXPECT_LE(asked, 16u);
  pass(Millis(1000));
  EXPECT_EQ(asked, 100u);
}

// Peers that tell of announcements whose pages they don't give: nobody else's news waits for that.
class GossipAndEmptyHands : public GossipTest {
 protected:
  // Heads of `count` authors, with pages of `bytes` that nobody has.
  std::vector<Head> nothing(unsigned first, unsigned count, const std::vector<std::uint32_t>& bytes = {100}) {
    std::vector<Head> heads(count);
    for (unsigned i = 0; i < count; ++i) {
      heads[i].boot = {1, {}};
      heads[i].seq = 1;
      for (const auto size : bytes) heads[i].pages.push_back({size, sha256({"nothing " + std::to_string(pages_++)})});
      sign(heads[i], test_key(first + i), mesh);
    }
    return heads;
  }
  void tell(Node& by, const Node& to, const std::vector<Head>& heads) {
    for (const auto& head : heads) {
      std::string text;
      encode(head, text);
      by.peers.send(to.id(), {FrameKind::heads, std::move(text)});
    }
    settle();
  }
  // Questions don't reach them, so they don't say either that they have no pages.
  void silence(std::set<const Node*> silent) {
    air.filter = [this, silent = std::move(silent)](const FakeAir::Message& message) {
      const auto is_it = [&](const Node* one) { return message.to == &one->peers; };
      if (message.frame.kind != FrameKind::ask_pages || std::ranges::none_of(silent, is_it)) return true;
      asked.insert(message.frame.payload.substr(0, 32));
      return false;
    };
  }
  std::set<std::string> asked;  // authors

 private:
  unsigned pages_ = 0;
};

TEST_F(GossipAndEmptyHands, TakeTheirOwnPlacesAlone) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  auto& d = make(4);
  link(a, b);
  link(a, c);
  link(c, d);
  silence({&b});
  tell(b, a, nothing(100, 300));
  EXPECT_EQ(asked.size(), 16u);
  d.gossip->announce(statement("d"));
  settle();
  EXPECT_EQ(word(a, d), "d");
  b.gossip->announce(statement("b"));  // what it says of itself needs none of them
  settle();
  EXPECT_TRUE(asked.contains(std::string(as_text(b.key.public_key().bytes))));
  // Those that wait have their turn.
  pass(Millis(16'000));
  EXPECT_GT(asked.size(), 17u);
  EXPECT_LE(asked.size(), 40u);
}

TEST_F(GossipAndEmptyHands, GiveTheirPlacesBackWhenTheirLinksEnd) {
  most_fetches = 20;
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  silence({&b});
  for (int i = 0; i < 5; ++i) {
    asked.clear();
    tell(b, a, nothing(100, 20));
    EXPECT_EQ(asked.size(), 16u);
    air.down(a.peers, b.peers);
    link(a, b);
  }
}

TEST_F(GossipAndEmptyHands, DontPassTheirPlacesOnToWhoHasNone) {
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  link(a, b);
  link(a, c);
  silence({&b, &c});
  const auto both = nothing(100, 16);
  tell(b, a, both);
  tell(c, a, nothing(200, 12));
  tell(c, a, both);
  EXPECT_EQ(asked.size(), 28u);
  asked.clear();
  air.down(a.peers, b.peers);
  pass(Millis(1000));
  EXPECT_EQ(asked.size(), 4u);
}

TEST_F(GossipAndEmptyHands, WhenAllPlacesAreTakenAuthorsAreHeardOverTheirLinks) {
  most_fetches = 8;
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  auto& d = make(4);
  link(a, b);
  link(a, c);
  link(c, d);
  silence({&b});
  tell(b, a, nothing(100, 20));
  EXPECT_EQ(asked.size(), 8u);
  c.gossip->announce(statement("c"));
  d.gossip->announce(statement("d"));
  settle();
  EXPECT_EQ(word(a, c), "c");
  EXPECT_EQ(word(a, d), "");  // that one waits
}

TEST_F(GossipAndEmptyHands, ArePassedOverWhereAnotherHasTheSame) {
  auto& a = make(1);
  auto* slow = &make(2);
  auto* fast = &make(3);
  auto& d = make(4);
  if (fast->id() < slow->id()) std::swap(slow, fast);
  link(*fast, d);
  d.gossip->announce(statement("d"));
  link(a, *slow);
  silence({slow});
  tell(*slow, a, nothing(100, 3, std::vector<std::uint32_t>(8, 32 * 1024)));  // as much as is asked for at a time
  EXPECT_EQ(asked.size(), 1u);
  tell(*slow, a, {d.gossip->book().find(d.id())->head});
  link(a, *fast);
  pass(Millis(200));
  EXPECT_EQ(word(a, d), "d");
}

TEST_F(GossipTest, AFullBookMakesNoHonestHeadWorthless) {
  std::size_t large = 0;
  for (const auto& page : encode_pages(rounded(statement("b", 200)))) large += page.size();
  book_bytes = 3 * large / 2;
  auto& a = make(1);
  auto& b = make(2);
  auto& c = make(3);
  b.gossip->announce(statement("b", 200));
  link(a, b);
  settle();
  ASSERT_EQ(word(a, b), "b");
  c.gossip->announce(statement("c", 200));
  link(a, c);
  pass(Millis(3000));
  EXPECT_EQ(word(a, c), "");
  const auto pages = c.gossip->counters().pages_out;
  // Its own words have their place.
  a.gossip->announce(statement("a", 200));
  settle();
  EXPECT_EQ(word(a, a), "a");
  pass(Millis(30'000));
  EXPECT_EQ(c.gossip->counters().pages_out, pages);  // nothing is fetched that has no room
  thrown_out = b.key.public_key();
  a.gossip->members_changed();
  pass(Millis(11'000));
  EXPECT_NE(a.gossip->book().find(c.id()), nullptr);
}

}  // namespace
}  // namespace corral::mesh
