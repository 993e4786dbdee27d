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
  auto head = a.gossip->store().find(c.id())->head;
  const auto send = [&](Frame frame) {
    b.peers.send(a.id(), std::move(frame));
    settle();
  };
  const auto send_head = [&](const Head& lie) {
    std::string bytes;
    encode(lie, bytes);
    send({FrameKind::heads, std::move(bytes)});
  };
  auto newer = head;
  newer.seq += 5;  // c's, changed
  send_head(newer);
  newer.author = b.key.public_key();  // c's entries as b's own
  send_head(newer);
  newer.author = a.key.public_key();  // as if a had said it
  newer.boot.epoch += 5;
  send_head(newer);
  send_head(head);  // replayed
  send({FrameKind::heads, "nonsense"});
  send({FrameKind::pages, "short"});
  std::string unasked(as_text(c.key.public_key().bytes));
  ByteWriter(unasked).sized<std::uint32_t>("a page");
  send({FrameKind::pages, unasked});
  send({FrameKind::ask_pages, "short"});
  EXPECT_EQ(word(a, c), "c");
  EXPECT_EQ(word(a, b), "");
  EXPECT_EQ(a.gossip->counters().refused, 6u);
  EXPECT_EQ(a.gossip->store().find(c.id())->head, head);
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
  EXPECT_EQ(a.gossip->store().find(b.id())->head.seq, 1000u);
}

TEST_F(GossipTest, SignaturesThatAreCheckedForOnePeerHaveABound) {
  auto& a = make(1);
  auto& b = make(2);
  link(a, b);
  for (unsigned i = 1; i <= 4000; ++i) {
    Head head;
    head.author = (i % 2 == 0 ? a : b).key.public_key();
    head.boot = {7, {}};
    head.seq = i;
    std::string bytes;
    encode(head, bytes);
    b.peers.send(a.id(), {FrameKind::heads, std::move(bytes)});
    settle();
  }
  EXPECT_LE(a.gossip->counters().checks, 1501u);
  EXPECT_GT(a.gossip->counters().checks, 1000u);
}

TEST_F(GossipTest, QuestionsAreAnsweredWithinABound) {
  auto& a = make(1);
  auto& b = make(2);
  a.gossip->announce(statement("a", 2000));
  link(a, b);
  settle();
  const auto before = a.gossip->counters().pages_out;
  const auto& head = a.gossip->store().find(a.id())->head;
  std::string question(as_text(head.author.bytes));
  for (int i = 0; i < 400; ++i) ByteWriter(question).raw(head.pages.back().hash);
  for (int i = 0; i < 50; ++i) b.peers.send(a.id(), {FrameKind::ask_pages, question});
  settle();
  EXPECT_LE((a.gossip->counters().pages_out - before) * head.pages.back().bytes, 1'200'000u);
}

TEST_F(GossipTest, AFullBookMakesNoHonestHeadWorthless) {
  std::size_t large = 0;
  for (const auto& page : encode_pages(rounded(statement("b", 200)))) large += page.size();
  store_bytes = 3 * large / 2;
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
  EXPECT_NE(a.gossip->store().find(c.id()), nullptr);
}

}  // namespace
}  // namespace corral::mesh
