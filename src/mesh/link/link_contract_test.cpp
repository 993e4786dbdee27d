// What streams and links promise, on the network in memory and on TLS over loopback.
#include <gmock/gmock.h>

#include "mesh/link/frame_stream.h"
#include "mesh/link/network_fixture_for_tests.h"
#include "mesh/members/join_token.h"

namespace corral::mesh {
namespace {

using async::Task;
using testing::ElementsAre;
using testing::HasSubstr;

class StreamContract : public NetworkFixture {};
CORRAL_ON_BOTH_NETWORKS(StreamContract);

Task<void> read_all(Stream& stream, std::string& text, std::optional<Error>& error) {
  std::array<char, 1000> space;
  while (true) {
    const auto got = co_await stream.read_some(space);
    if (!got) error = got.error();
    if (!got || *got == 0) co_return;
    text.append(space.data(), *got);
  }
}
Task<void> write_all(Stream& stream, std::string text, bool& done) {
  EXPECT_TRUE(co_await stream.write(text));
  co_await stream.finish();
  done = true;
}

TEST_P(StreamContract, BothEndsKnowEachOther) {
  connect(Purpose::copy);
  EXPECT_EQ(at_a().peer().id, b.id());
  EXPECT_TRUE(at_a().peer().dialled);
  EXPECT_EQ(at_other_end().peer().key, a.public_key());
  EXPECT_FALSE(at_other_end().peer().dialled);
  EXPECT_EQ(at_other_end().purpose(), Purpose::copy);
}

TEST_P(StreamContract, EachPurposeIsKnownAtBothEnds) {
  for (const auto purpose :
       {Purpose::control, Purpose::http, Purpose::copy, Purpose::join, Purpose::back, Purpose::rpc}) {
    EXPECT_EQ(purpose_of(alpn_of(purpose)), purpose);
    connect(purpose);
    EXPECT_EQ(at_a().purpose(), purpose);
    EXPECT_EQ(at_other_end().purpose(), purpose);
  }
}

TEST_P(StreamContract, TheExporterBelongsToOneConnection) {
  connect();
  const auto first = at_a().exporter(kJoinExporter);
  EXPECT_EQ(first, at_other_end().exporter(kJoinExporter));
  EXPECT_NE(first, at_a().exporter("EXPORTER-corral-other"));
  connect();
  EXPECT_NE(first, at_a().exporter(kJoinExporter));
  EXPECT_EQ(at_a().exporter(kJoinExporter), at_other_end().exporter(kJoinExporter));
}

// More than any buffer holds, both ways at once, up to an end that each side announces.
TEST_P(StreamContract, BytesComeInOrderAndTheEndIsSeen) {
  connect(Purpose::rpc);
  std::string sent(3'000'000, '\0'), got_a, got_b;
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 >> 3);
  std::optional<Error> error_a, error_b;
  bool done_a = false, done_b = false;
  group.spawn("write", write_all(at_a(), sent, done_a));
  group.spawn("write", write_all(at_other_end(), sent, done_b));
  group.spawn("read", read_all(at_a(), got_a, error_a));
  run(read_all(at_other_end(), got_b, error_b));
  EXPECT_TRUE(until([&] { return group.running() == 0; }));
  EXPECT_TRUE(done_a && done_b);
  EXPECT_FALSE(error_a || error_b);
  EXPECT_TRUE(got_a == sent);
  EXPECT_TRUE(got_b == sent);
}

TEST_P(StreamContract, ClosingEndsAPendingReadHereAndThere) {
  connect();
  std::string text;
  std::optional<Error> here, there;
  group.spawn("read", read_all(at_a(), text, here));
  group.spawn("read", read_all(at_other_end(), text, there));
  settle();
  EXPECT_EQ(group.running(), 2u);
  at_a().close();
  EXPECT_TRUE(until([&] { return group.running() == 0; }));
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->code, errc::link_closed);
  EXPECT_EQ(there->code, errc::link_closed);
}

TEST_P(StreamContract, AWriterThatIsAheadWaitsAndCancellingItThrows) {
  connect();
  bool done = false;
  group.spawn("write", write_all(at_a(), std::string(32'000'000, 'x'), done));
  settle();
  EXPECT_EQ(group.running(), 1u);
  group.cancel();
  settle();
  EXPECT_EQ(group.running(), 0u);
  EXPECT_FALSE(done);
}

TEST_P(StreamContract, AnotherNodeThanThePinnedOneIsRefused) {
  run(dial(Purpose::control, {c.id()}));
  ASSERT_FALSE(*dialled);
  EXPECT_EQ(dialled->error().code, errc::wrong_peer);
  EXPECT_THAT(dialled->error().message, HasSubstr(short_text(b.id())));
  group.spawn("accept", accept());
  settle();
  EXPECT_FALSE(accepted);
}

TEST_P(StreamContract, ThrownOutAndUnknownNodesAreToldApart) {
  verdict = [](const PublicKey&, Purpose) { return Result<>(fail(errc::revoked, "")); };
  run(dial(Purpose::control, {b.id()}));
  ASSERT_FALSE(*dialled);
  EXPECT_EQ(dialled->error().code, errc::revoked);
  verdict = [](const PublicKey&, Purpose) { return Result<>(fail(errc::not_a_member, "")); };
  run(dial(Purpose::control, {b.id()}));
  ASSERT_FALSE(*dialled);
  EXPECT_EQ(dialled->error().code, errc::not_a_member);
}

TEST_P(StreamContract, TheDoorkeeperSeesKeyAndPurpose) {
  std::optional<std::pair<PublicKey, Purpose>> asked;
  verdict = [&](const PublicKey& key, Purpose purpose) -> Result<> {
    asked.emplace(key, purpose);
    return {};
  };
  connect(Purpose::join);
  EXPECT_EQ(asked, std::pair(a.public_key(), Purpose::join));
}

TEST_P(StreamContract, WhereNobodyIsIsSaid) {
  net_b.reset();
  settle();
  run(dial(Purpose::control, {b.id()}));
  ASSERT_FALSE(*dialled);
  EXPECT_EQ(dialled->error().code, errc::unreachable);
}

class LinkContract : public NetworkFixture {
 protected:
  // b as a stream that the test speaks for, after a proper hello.
  void open_link_to_raw() {
    connect();
    group.spawn("a", open(link_a, std::move(**dialled), options(a)));
    auto hello = [](Stream& stream, Hello sent) -> Task<void> {
      Frame frame{FrameKind::hello, encode(sent)};
      EXPECT_TRUE(co_await write_frame(stream, std::move(frame)));
    };
    run(hello(at_other_end(), options(b).hello));
    ASSERT_TRUE(until([&] { return link_a.has_value(); }));
    ASSERT_TRUE(*link_a);
  }
  void write_raw(std::string bytes) {
    auto put = [](Stream& stream, std::string text) -> Task<void> { co_await stream.write(text); };
    run(put(at_other_end(), std::move(bytes)));
  }
  static Task<void> send(Link& link, Frame frame) { EXPECT_TRUE(co_await link.send(std::move(frame))); }
  static Task<void> receive(Link& link, std::optional<Result<Frame>>& frame) { frame = co_await link.receive(); }
};
CORRAL_ON_BOTH_NETWORKS(LinkContract);

TEST_P(LinkContract, FramesGoBothWaysInOrder) {
  open_links();
  EXPECT_EQ(a_link().peer().id, b.id());
  EXPECT_EQ(b_link().hello().claim.author, a.public_key());
  for (int i = 0; i < 20; ++i) run(send(a_link(), {FrameKind::members, std::string(i * 3000, static_cast<char>(i))}));
  run(send(b_link(), {FrameKind::members, "back"}));
  for (int i = 0; i < 20; ++i) {
    std::optional<Result<Frame>> frame;
    run(receive(b_link(), frame));
    EXPECT_EQ(**frame, (Frame{FrameKind::members, std::string(i * 3000, static_cast<char>(i))}));
  }
  std::optional<Result<Frame>> frame;
  run(receive(a_link(), frame));
  EXPECT_EQ((**frame).payload, "back");
}

TEST_P(LinkContract, LivesWhileBothBeatAndTellsWhatIsHeld) {
  auto with = options(a);
  std::vector<InFlightId> held{7, 9};
  with.held = [&] { return held; };
  open_links(std::move(with), options(b));
  pass(Millis(10000), Millis(250));
  EXPECT_FALSE(a_link().closing());
  EXPECT_FALSE(b_link().closing());
  EXPECT_THAT(b_link().peer_holds(), ElementsAre(7, 9));
  EXPECT_TRUE(a_link().round_trip());
  EXPECT_LE(*a_link().round_trip(), Millis(250));
  held = {9};
  pass(Millis(500));
  EXPECT_THAT(b_link().peer_holds(), ElementsAre(9));
}

TEST_P(LinkContract, AForeignMeshIsRefusedOnBothSides) {
  auto foreign = options(a);
  foreign.hello.mesh = mesh_id({c.public_key(), {}});
  open_links(std::move(foreign), options(b));
  ASSERT_FALSE(*link_a);
  ASSERT_FALSE(*link_b);
  EXPECT_EQ(link_a->error().code, errc::foreign_mesh);
  EXPECT_EQ(link_b->error().code, errc::foreign_mesh);
}

TEST_P(LinkContract, AClaimThatThePeerDidntSignIsRefused) {
  auto forged = options(a);
  forged.hello.claim.boot.epoch = 99;
  open_links(std::move(forged), options(b));
  ASSERT_FALSE(*link_b);
  EXPECT_EQ(link_b->error().code, errc::forged);
}

TEST_P(LinkContract, WhatThePeerHeardOfUsIsPassedOnIfWeSignedIt) {
  auto with = options(b);
  with.hello.known_claim = make_claim(a, {5, {}});
  open_links(options(a), std::move(with));
  ASSERT_TRUE(a_link().hello().known_claim);
  EXPECT_EQ(a_link().hello().known_claim->boot.epoch, 5u);
  link_a.reset();
  link_b.reset();
  with = options(b);
  with.hello.known_claim = make_claim(c, {5, {}});
  open_links(options(a), std::move(with));
  EXPECT_FALSE(a_link().hello().known_claim);
}

TEST_P(LinkContract, AReasonIsToldAndWhatCameBeforeItIsStillRead) {
  open_links();
  run(send(a_link(), {FrameKind::members, "last words"}));
  settle();
  a_link().close(CloseReason::stopping, "good night");
  run(a_link().finished());
  ASSERT_TRUE(until([&] { return b_link().closing().has_value(); }));
  EXPECT_EQ(b_link().closing()->reason, CloseReason::stopping);
  EXPECT_TRUE(b_link().closing()->by_peer);
  EXPECT_EQ(b_link().closing()->text, "good night");
  std::optional<Result<Frame>> frame;
  run(receive(b_link(), frame));
  EXPECT_EQ((**frame).payload, "last words");
  run(receive(b_link(), frame));
  EXPECT_EQ(frame->error().code, errc::link_closed);
  run(b_link().finished());
}

TEST_P(LinkContract, TheEndOfTheOtherProcessIsSeenAtOnce) {
  open_links();
  std::optional<Result<Frame>> frame;
  group.spawn("receive", receive(b_link(), frame));
  settle();
  link_a.reset();
  ASSERT_TRUE(until([&] { return frame.has_value(); }));
  EXPECT_EQ(b_link().closing()->reason, CloseReason::lost);
}

TEST_P(LinkContract, APeerThatSaysNothingIsDead) {
  open_link_to_raw();
  pass(Millis(1400));
  EXPECT_FALSE(a_link().closing());
  pass(Millis(700));
  ASSERT_TRUE(a_link().closing());
  EXPECT_EQ(a_link().closing()->reason, CloseReason::silent);
  // Nobody reads its farewell: it ends all the same.
  pass(Millis(1100));
  run(a_link().finished());
}

TEST_P(LinkContract, APeerThatDoesntHearIsDeadThoughItSpeaks) {
  open_link_to_raw();
  for (int i = 1; i <= 30 && !a_link().closing(); ++i) {
    write_raw(encode(Frame{FrameKind::heartbeat, encode(Heartbeat{static_cast<std::uint64_t>(i), 0, 0, {}})}));
    settle();
    pass(Millis(100));
  }
  ASSERT_TRUE(a_link().closing());
  EXPECT_EQ(a_link().closing()->reason, CloseReason::deaf);
}

TEST_P(LinkContract, WhatMakesNoSenseEndsTheLink) {
  const std::vector<std::string> nonsense{
      encode(Frame{FrameKind::heartbeat, std::string(4097, 'x')}),  // too long for its kind
      std::string("\xee\xff\xff\xff\xff", 5),                       // too long for any
      encode(Frame{FrameKind::heartbeat, "short"}),
      encode(Frame{FrameKind::hello, ""}),
  };
  for (const auto& bytes : nonsense) {
    open_link_to_raw();
    write_raw(bytes);
    ASSERT_TRUE(until([&] { return a_link().closing().has_value(); }));
    EXPECT_EQ(a_link().closing()->reason, CloseReason::malformed);
    link_a.reset();
  }
}

TEST_P(LinkContract, WhatALaterVersionSaysIsPassedOver) {
  open_link_to_raw();
  write_raw(encode(Frame{static_cast<FrameKind>(200), "news"}) + encode(Frame{FrameKind::members, "known"}));
  std::optional<Result<Frame>> frame;
  run(receive(a_link(), frame));
  EXPECT_EQ((**frame).payload, "known");
}

TEST_P(LinkContract, APeerThatSendsMoreThanIsTakenIsCutOff) {
  open_link_to_raw();
  std::string flood;
  for (int i = 0; i < 300; ++i) flood += encode(Frame{FrameKind::members, "x"});
  write_raw(flood);
  ASSERT_TRUE(until([&] { return a_link().closing().has_value(); }));
  EXPECT_EQ(a_link().closing()->reason, CloseReason::overrun);
}

// Also of what nobody takes: kinds that aren't known, heartbeats.
TEST_P(LinkContract, APeerThatSendsMoreBytesThanALinkMayCarryIsCutOff) {
  auto with = options(b);
  with.received = {1000, 100'000};
  open_links(options(a), with);
  const Frame unknown{static_cast<FrameKind>(200), std::string(10'000, 'x')};
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(a_link().offer(unknown));
  settle();
  EXPECT_FALSE(b_link().closing());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(a_link().offer(unknown));
  ASSERT_TRUE(until([this] { return b_link().closing().has_value(); }));
  EXPECT_EQ(b_link().closing()->reason, CloseReason::overrun);
}

TEST_P(LinkContract, ASenderWaitsForRoomAndLearnsTheEnd) {
  open_link_to_raw();
  int sent = 0;
  std::optional<Error> ended;
  auto flood = [](Link& link, int& count, std::optional<Error>& error) -> Task<void> {
    while (!error) {
      Frame frame{FrameKind::members, std::string(kLargestPage, 'x')};
      const auto put = co_await link.send(std::move(frame));
      if (put) ++count;
      if (!put) error = put.error();
    }
  };
  group.spawn("flood", flood(a_link(), sent, ended));
  settle();
  EXPECT_GE(sent, 15);
  EXPECT_FALSE(ended);
  a_link().close(CloseReason::superseded);
  settle();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, errc::link_closed);
  std::optional<Error> too_large;
  auto large = [](Link& link, std::optional<Error>& error) -> Task<void> {
    Frame frame{FrameKind::close, std::string(1000, 'x')};
    const auto put = co_await link.send(std::move(frame));
    error = put.error();
  };
  run(large(a_link(), too_large));
  EXPECT_EQ(too_large->code, errc::too_large);
}

TEST_P(LinkContract, APeerThatSaysNoHelloIsGivenUp) {
  connect();
  group.spawn("a", open(link_a, std::move(**dialled), options(a)));
  settle();
  pass(Millis(3100));
  ASSERT_TRUE(link_a);
  ASSERT_FALSE(*link_a);
  EXPECT_EQ(link_a->error().code, errc::timed_out);
}

// Faults that only the network in memory makes.
class CutLinks : public LinkContract {};
INSTANTIATE_TEST_SUITE_P(Networks, CutLinks, testing::Values(Kind::memory), kind_name);

TEST_P(CutLinks, ACutIsSeenByBothWithinTwoAndAHalfSeconds) {
  open_links();
  pass(Millis(3000));
  air.cut(a.public_key(), b.public_key());
  air.cut(b.public_key(), a.public_key());
  pass(Millis(2400));
  ASSERT_TRUE(a_link().closing() && b_link().closing());
  EXPECT_EQ(a_link().closing()->reason, CloseReason::silent);
}

TEST_P(CutLinks, AOneWayCutIsSeenByBothWithinTwoAndAHalfSeconds) {
  open_links();
  pass(Millis(3000));
  air.cut(a.public_key(), b.public_key());
  pass(Millis(2400));
  ASSERT_TRUE(a_link().closing() && b_link().closing());
  EXPECT_EQ(b_link().closing()->reason, CloseReason::silent);
}

TEST_P(CutLinks, ADelayIsMeasuredAndKillsNothing) {
  air.delay(a.public_key(), b.public_key(), Millis(40));
  air.delay(b.public_key(), a.public_key(), Millis(60));
  group.spawn("accept", accept());
  group.spawn("dial", dial(Purpose::control, {b.id()}));
  pass(Millis(200), Millis(10));
  ASSERT_TRUE(dialled && accepted && *dialled && *accepted);
  group.spawn("a", open(link_a, std::move(**dialled), options(a)));
  group.spawn("b", open(link_b, std::move(**accepted), options(b)));
  pass(Millis(200), Millis(10));
  ASSERT_TRUE(link_a && link_b && *link_a && *link_b);
  pass(Millis(2000), Millis(10));
  EXPECT_FALSE(a_link().closing());
  EXPECT_GE(*a_link().round_trip(), Millis(100));
  EXPECT_LE(*a_link().round_trip(), Millis(130));
}

TEST_P(CutLinks, APauseOfThisProcessKillsNothing) {
  open_links();
  pass(Millis(2000));
  timers.advance(Millis(5000));  // stopped as a whole: nothing was seen, and nothing said
  settle();
  pass(Millis(3000));
  EXPECT_FALSE(a_link().closing());
  EXPECT_FALSE(b_link().closing());
}

}  // namespace
}  // namespace corral::mesh
