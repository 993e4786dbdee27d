// Cuts, delays and members that mean no good. On the network in memory, which makes such faults.
#include <gmock/gmock.h>

#include "mesh/link/member_exchange.h"
#include "mesh/link/stream_link.h"
#include "mesh/peers/peer_exchange.h"
#include "mesh/peers/peers_fixture_for_tests.h"
#include "mesh/peers/table/peer_file.h"

namespace corral::mesh {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class PeersFaults : public PeersFixture {};
INSTANTIATE_TEST_SUITE_P(Networks, PeersFaults, testing::Values(Kind::memory), kind_name);

TEST_P(PeersFaults, ACutIsSeenByBothAndHealsWithinASecond) {
  start_linked(2);
  pass(Millis(3000));
  std::vector<std::shared_ptr<Read>> reads;
  for (const auto purpose : {Purpose::http, Purpose::rpc}) {
    const auto stream = open(a(), b(), purpose);
    reads.push_back(read(**stream->value()));
    write(**stream->value(), "one");
    reads.push_back(read(*b().came.at(reads.size() / 2)));
  }
  cut(a(), b());
  pass(Millis(2500));
  EXPECT_FALSE(a().peers->is_up(id(b())) || b().peers->is_up(id(a())));
  for (const auto& one : reads) EXPECT_TRUE(one->ended);  // which they wouldn't notice by themselves
  for (const int seconds : {1, 20, 30}) {
    pass(Millis(seconds * 1000));
    heal(a(), b());
    EXPECT_TRUE(passing([this] { return all_up(); }, Millis(1000))) << seconds;
    pass(Millis(3000));
    EXPECT_TRUE(all_up());
    cut(a(), b());
    pass(Millis(2500));
    EXPECT_FALSE(a().peers->is_up(id(b())));
  }
  heal(a(), b());
}

TEST_P(PeersFaults, AOneWayCutEndsTheLinkOnBothSidesAndNothingFlaps) {
  start_linked(2);
  pass(Millis(3000));
  air.cut(a().key.public_key(), b().key.public_key());
  pass(Millis(2500));
  const auto ups = a().events.ups + b().events.ups;
  EXPECT_FALSE(a().peers->is_up(id(b())) || b().peers->is_up(id(a())));
  pass(Millis(60000), Millis(250));
  EXPECT_EQ(a().events.ups + b().events.ups, ups);
}

TEST_P(PeersFaults, APairThatIsCutStaysDownUntilItIsWholeAndNothingFlaps) {
  start_linked(3);
  pass(Millis(3000));
  cut(a(), b());
  ASSERT_TRUE(passing([&] { return !a().peers->is_up(id(b())) && !b().peers->is_up(id(a())); }, Millis(3500)));
  const auto downs = a().events.downs.size() + c().events.downs.size();
  const auto refused = open(a(), b());
  ASSERT_TRUE(*refused);
  ASSERT_FALSE(**refused);
  EXPECT_EQ((*refused)->error().code, errc::unreachable);
  pass(Millis(60000), Millis(250));
  EXPECT_EQ(view(a(), b()).state, PeerState::waiting);
  EXPECT_EQ(a().events.downs.size() + c().events.downs.size(), downs);
  EXPECT_TRUE(c().peers->is_up(id(a())) && c().peers->is_up(id(b())));
  heal(a(), b());
  ASSERT_TRUE(passing([this] { return all_up(); }, Millis(7000)));
}

TEST_P(PeersFaults, OneLinkStaysWhenBothDialAtOnceOverALongWay) {
  make_members(2);
  delay(a(), b(), Millis(40));
  a().configured = {{b().key.id(), b().place}};
  b().configured = {{a().key.id(), a().place}};
  start(a());
  start(b());
  ASSERT_TRUE(passing([this] { return all_up(); }, Millis(2000), Millis(10)));
  pass(Millis(2000), Millis(10));
  EXPECT_THAT(a().events.downs, IsEmpty());
  EXPECT_THAT(b().events.downs, IsEmpty());
  const auto ups = a().events.ups + b().events.ups;
  EXPECT_LE(ups, 4);
  EXPECT_NE(view(a(), b()).dialled, view(b(), a()).dialled);  // the same one
  const bool a_is_lower = id(a()) < id(b());
  EXPECT_EQ(view(a(), b()).dialled, a_is_lower);
  pass(Millis(60000), Millis(250));
  EXPECT_EQ(a().events.ups + b().events.ups, ups);
}

TEST_P(PeersFaults, AStreamThatWaitsCostsNoRoundTrip) {
  make_members(2);
  delay(a(), b(), Millis(50));
  start(a());
  b().configured = {{a().key.id(), a().place}};
  start(b());
  ASSERT_TRUE(passing([this] { return all_up(); }, Millis(3000), Millis(10)));
  pass(Millis(1000), Millis(10));
  // No time passes from here until the request's bytes are on their way.
  const auto stream = open(a(), b());
  ASSERT_TRUE(*stream && **stream);
  write(**stream->value(), "question");
  EXPECT_THAT(b().came, IsEmpty());
  pass(Millis(50), Millis(10));
  EXPECT_THAT(b().came, SizeIs(1));
}

TEST_P(PeersFaults, APeerThatTakesNothingLosesItsLinkAndNobodyWaits) {
  start_linked(3);
  air.cut(a().key.public_key(), b().key.public_key());
  for (int i = 0; i < 100; ++i) {
    a().peers->send(id(b()), {FrameKind::heads, std::string(64 * 1024, 'x')});
    if (i < 20) a().peers->send(id(c()), {FrameKind::heads, "x"});
  }
  settle();
  EXPECT_FALSE(a().peers->is_up(id(b())));
  ASSERT_THAT(a().events.downs, SizeIs(1));
  EXPECT_EQ(a().events.downs[0].reason, CloseReason::slow);
  EXPECT_THAT(c().events.frames, SizeIs(20));
}

TEST_P(PeersFaults, AHintIsDialledOnceAndOnlyForItsKey) {
  make_members(2);
  start(a());
  start(b());
  pass(Millis(2000));
  EXPECT_THAT(a().network->dialled, IsEmpty());
  a().peers->hint(id(b()), {"nowhere", 1});
  pass(Millis(400));
  EXPECT_THAT(a().network->dialled, testing::Not(IsEmpty()));
  for (int i = 0; i < 100; ++i) a().peers->hint(id(b()), {"nowhere", static_cast<std::uint16_t>(i + 1)});
  pass(Millis(1000));
  EXPECT_LE(a().network->dialled.size(), 10u);  // two each 0.3 s
  a().peers->hint(id(b()), b().place);
  EXPECT_TRUE(come_together());
}

TEST_P(PeersFaults, OfSeveralHintsTheOneThatIsRightIsFoundWhereverItStands) {
  make_members(2);
  start(a());
  start(b());
  pass(Millis(1000));
  a().peers->hint(id(b()), b().place);
  for (std::uint16_t i = 1; i <= 3; ++i) a().peers->hint(id(b()), {"nowhere", i});
  EXPECT_TRUE(come_together());
}

TEST_P(PeersFaults, WhenStopIsDoneNothingIsUnderWayAnyMore) {
  start_linked(2);
  cut(a(), b());
  pass(Millis(3000));
  ASSERT_GT(a().network->dialling(), 0u);
  std::optional<std::size_t> left;
  auto stop = [](Member& member, std::optional<std::size_t>& dialling) -> async::Task<void> {
    co_await member.peers->stop();
    dialling = member.network->dialling();  // before anything else has its turn
  };
  group.spawn("stop", stop(a(), left));
  ASSERT_TRUE(passing([&] { return left.has_value(); }, Millis(3000)));
  EXPECT_EQ(*left, 0u);
  // And nothing begins: what whoever holds it still asks is refused.
  const auto refused = open(a(), b());
  ASSERT_TRUE(*refused);
  EXPECT_EQ((*refused)->error().code, errc::link_closed);
}

TEST_P(PeersFaults, AnEndInTheMiddleOfWritingForgetsNobody) {
  start_linked(2);
  // What is known is written in the next turn of the loop, which comes after the end.
  timers.advance(Millis(1000));
  a().peers.reset();
  settle();
  EXPECT_THAT(read_peers(a().folder.path()), SizeIs(1));
}

TEST_P(PeersFaults, ANodeThatEndsWhileStreamsAreBeingOpenedLeavesNothingBehind) {
  start_linked(3);
  cut(a(), b());
  std::vector<std::shared_ptr<Opened>> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(open(a(), b(), Purpose::copy));
  pass(Millis(200));
  kill(a());
  ASSERT_TRUE(passing([&] { return std::ranges::all_of(streams, [](const auto& one) { return one->has_value(); }); },
                      Millis(10000)));
  for (const auto& stream : streams) EXPECT_FALSE(**stream);
}

TEST_P(PeersFaults, WhatChangesWhileALinkComesUpIsToldAllTheSame) {
  for (int moment = 0; moment < 400; moment += 20) {
    make_members(3);
    delay(a(), b(), Millis(40));
    start(a());
    b().configured = {{a().key.id(), a().place}};
    start(b());
    pass(Millis(moment), Millis(20));
    ASSERT_TRUE(at_once(a().peers->revoke({c().key.id()})));
    ASSERT_TRUE(passing([this] { return a().peers->is_up(id(b())) && b().peers->is_up(id(a())); }, Millis(2000)));
    pass(Millis(300), Millis(20));
    EXPECT_EQ(b().store->set().standing(c().key.id()), MembershipStatus::revoked) << moment;
    TearDown();
  }
}

TEST_P(PeersFaults, ThirtyTwoNodesAreLinkedWholeAndNothingFlaps) {
  start_linked(32);
  pass(Millis(2000));
  for (const auto& member : members) {
    EXPECT_THAT(member->events.downs, IsEmpty());
    for (const auto& view : member->peers->view()) EXPECT_EQ(view.state, PeerState::up);
  }
}

// A member that a test speaks for.
class PeersAndALiar : public PeersFixture {
 protected:
  void start_with_liar() {
    make_members(3);
    a().configured = {{b().key.id(), b().place}};
    start(a());
    start(b());
    liar_ = test_key(3);
    place_ = c().place;
    network_ = air.add(liar_.public_key(), place_, [](const PublicKey&, Purpose) { return Result<>(); });
    group.spawn("liar", call_it());
    ASSERT_TRUE(passing([this] { return link_ != nullptr; }, Millis(1000)));
    settle();
    ASSERT_TRUE(a().peers->is_up(liar_.id()));
  }
  void TearDown() override {
    link_.reset();
    streams_.clear();
    network_.reset();
    PeersFixture::TearDown();
  }
  async::Task<void> call_it() {
    std::vector<NodeId> pins{id(a())};
    auto stream = co_await network_->dial(a().place, std::move(pins), Purpose::control);
    if (!stream) co_return;
    LinkOptions options;
    options.hello = {
        a().store->set().mesh(), kProtocolMinor, a().store->set().digest(), make_claim(liar_, {1, {}}), {}};
    auto link = co_await open_link(std::move(*stream), std::move(options), timers);
    if (link) link_ = std::move(*link);
  }
  void call_again() {
    link_.reset();
    settle();
    group.spawn("liar", call_it());
    settle();
  }
  // Another link beside the one that stands; the members that it tells come before it is one.
  async::Task<void> call_and_send(std::string members) {
    std::vector<NodeId> pins{id(a())};
    auto stream = co_await network_->dial(a().place, std::move(pins), Purpose::control);
    if (!stream) co_return;
    LinkOptions options;
    options.hello = {a().store->set().mesh(), kProtocolMinor, {}, make_claim(liar_, {1, {}}), {}};
    auto link = co_await open_link(std::move(*stream), std::move(options), timers);
    if (!link) co_return;
    Frame frame{FrameKind::members, std::move(members)};
    EXPECT_TRUE((*link)->offer(std::move(frame)));
    co_await (*link)->finished();
  }
  static async::Task<void> dial_into(Network& network, Address at, NodeId pin, Purpose purpose,
                                     std::vector<std::unique_ptr<Stream>>& streams) {
    std::vector<NodeId> pins{pin};
    auto stream = co_await network.dial(std::move(at), std::move(pins), purpose);
    if (stream) streams.push_back(std::move(*stream));
  }
  void dial(Purpose purpose) {
    group.spawn("dial", dial_into(*network_, a().place, id(a()), purpose, streams_));
    settle();
  }
  bool still_open(Stream& stream) {
    const auto got = read(stream);
    return !got->ended;
  }
  // As many as the link takes.
  void flood(const Frame& frame, int count) {
    for (int i = 0; i < count; ++i) {
      if (!link_->offer(frame)) break;
      if (i % 50 == 0) settle();
    }
    settle();
  }
  CloseReason end_of_liar() {
    EXPECT_FALSE(a().peers->is_up(liar_.id()));
    return a().events.downs.empty() ? CloseReason::lost : a().events.downs.back().reason;
  }

  SigningKey liar_ = test_key(3);
  Address place_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Link> link_;
  std::vector<std::unique_ptr<Stream>> streams_;
};
INSTANTIATE_TEST_SUITE_P(Networks, PeersAndALiar, testing::Values(Kind::memory), kind_name);

TEST_P(PeersAndALiar, FloodsEndTheLink) {
  for (const auto kind : {FrameKind::members, FrameKind::peer_exchange, FrameKind::dial_me, FrameKind::heads}) {
    start_with_liar();
    std::string payload = kind == FrameKind::members         ? std::string(1, '\1')
                          : kind == FrameKind::dial_me       ? encode(ReverseDialRequest{1, Purpose::http})
                          : kind == FrameKind::peer_exchange ? encode(PeerExchange{make_claim(liar_, {1, {}}), {}})
                                                             : std::string("x");
    flood({kind, std::move(payload)}, 6000);
    EXPECT_EQ(end_of_liar(), CloseReason::overrun);
    TearDown();
  }
}

TEST_P(PeersAndALiar, WhatMakesNoSenseEndsTheLink) {
  for (const auto kind : {FrameKind::members, FrameKind::peer_exchange, FrameKind::dial_me}) {
    start_with_liar();
    flood({kind, "\x07nonsense"}, 1);
    EXPECT_EQ(end_of_liar(), CloseReason::malformed);
    EXPECT_TRUE(a().peers->is_up(id(b())));
    TearDown();
  }
}

TEST_P(PeersAndALiar, ThousandsOfAddressesCostAFewDials) {
  start_with_liar();
  kill(b());
  pass(Millis(2000));
  for (std::uint16_t i = 0; i < 300; ++i) {
    PeerExchange lies{make_claim(liar_, {1, {}}), {}};
    std::vector<Address> addresses;
    for (std::uint16_t j = 0; j < 8; ++j) addresses.push_back({"victim", static_cast<std::uint16_t>(1 + i * 8 + j)});
    lies.nodes.push_back({b().key.id(), false, addresses});
    ASSERT_TRUE(link_->offer({FrameKind::peer_exchange, encode(lies)}));
    pass(Millis(200));
    if (!a().peers->is_up(liar_.id())) break;
  }
  EXPECT_LE(view(a(), b()).addresses.size(), 8u);
  EXPECT_EQ(view(a(), b()).addresses[0], b().place);
  start(b());  // and it is found all the same
  EXPECT_TRUE(passing([&] { return a().peers->is_up(id(b())); }, Millis(1000)));
}

TEST_P(PeersAndALiar, DialMeMakesUsDialNobodyElse) {
  start_with_liar();
  // Where it says it is itself, one dial after the other: never where others are.
  PeerExchange lies{make_claim(liar_, {1, {}}), {{liar_.id(), true, {{"victim", 22}, place_}}}};
  ASSERT_TRUE(link_->offer({FrameKind::peer_exchange, encode(lies)}));
  settle();
  a().network->dialled.clear();
  for (std::uint64_t i = 0; i < 50; ++i)
    ASSERT_TRUE(link_->offer({FrameKind::dial_me, encode(ReverseDialRequest{i, Purpose::http})}));
  settle();
  pass(Millis(10000));
  EXPECT_LE(a().network->dialled.size(), 150u);
  for (const auto& [address, purpose] : a().network->dialled) {
    EXPECT_TRUE(address == place_ || address.host == "victim") << to_text(address);
    EXPECT_NE(purpose, Purpose::control);
  }
}

TEST_P(PeersAndALiar, StreamsThatSayNothingAreFewAndTakeNobodysPlace) {
  start_with_liar();
  for (std::size_t i = 0; i < 100; ++i) dial(std::array{Purpose::http, Purpose::copy, Purpose::rpc}[i % 3]);
  EXPECT_LE(std::ranges::count_if(streams_, [this](const auto& one) { return still_open(*one); }), 48);
  EXPECT_THAT(a().came, IsEmpty());
  const auto other = open(b(), a());
  ASSERT_TRUE(*other && **other);
  write(**other->value(), "question");
  EXPECT_THAT(a().came, SizeIs(1));
}

TEST_P(PeersAndALiar, AStreamBackThatNobodyAskedForIsClosed) {
  start_with_liar();
  dial(Purpose::back);
  write(*streams_.back(), "12345678");
  pass(Millis(100));
  EXPECT_FALSE(still_open(*streams_.back()));
  EXPECT_TRUE(a().peers->is_up(id(b())));
}

// An earlier version asks for a stream of purpose 5, to pass on to it what others send.
TEST_P(PeersAndALiar, ARequestToDialForAPurposeOfEarlierVersionsIsPassedOver) {
  start_with_liar();
  ASSERT_TRUE(link_->offer({FrameKind::dial_me, encode(ReverseDialRequest{7, static_cast<Purpose>(5)})}));
  pass(Millis(3000));
  EXPECT_TRUE(a().peers->is_up(liar_.id()));
}

TEST_P(PeersAndALiar, AForgedRecordOfMembersEndsTheLinkAndChangesNothing) {
  start_with_liar();
  auto forged = sign_revoke(test_key(1), a().store->set().mesh(), b().key.public_key(), {});
  forged.signature.bytes[0] ^= 1;
  const MemberRecord record = forged;
  const auto page = member_pages({&record, 1});
  ASSERT_TRUE(link_->offer({FrameKind::members, page.front()}));
  settle();
  EXPECT_EQ(end_of_liar(), CloseReason::malformed);
  EXPECT_TRUE(a().peers->is_up(id(b())));
  EXPECT_EQ(a().store->set().standing(b().key.public_key()), MembershipStatus::member);
  // It costs verifying: for a while it isn't let in again.
  call_again();
  EXPECT_FALSE(a().peers->is_up(liar_.id()));
  pass(Millis(61'000), Millis(500));
  call_again();
  EXPECT_TRUE(a().peers->is_up(liar_.id()));
}

TEST_P(PeersAndALiar, AForgedRecordOverAnotherLinkEndsTheOneThatStands) {
  start_with_liar();
  auto forged = sign_revoke(test_key(1), a().store->set().mesh(), b().key.public_key(), {});
  forged.signature.bytes[0] ^= 1;
  const MemberRecord record = forged;
  group.spawn("liar", call_and_send(member_pages({&record, 1}).front()));
  settle();
  EXPECT_EQ(end_of_liar(), CloseReason::malformed);
  call_again();
  EXPECT_FALSE(a().peers->is_up(liar_.id()));
  EXPECT_TRUE(a().peers->is_up(id(b())));
}

TEST_P(PeersAndALiar, RecordsThatLeadNowhereHaveABound) {
  start_with_liar();
  std::vector<MemberRecord> junk;
  for (unsigned i = 0; i < 400; ++i) {
    Admit admit{test_key(50).public_key(), {}, {}};
    admit.subject.bytes[0] = static_cast<std::uint8_t>(i);
    admit.subject.bytes[1] = static_cast<std::uint8_t>(i >> 8);
    junk.emplace_back(admit);
  }
  const auto page = member_pages(junk).front();
  std::map<CloseReason, int> ends;
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(link_->offer({FrameKind::members, page}));
    settle();
    ++ends[end_of_liar()];
    call_again();
  }
  EXPECT_EQ(ends[CloseReason::malformed], 20);  // 8,192 records
  EXPECT_EQ(ends[CloseReason::overrun], 5);
}

}  // namespace
}  // namespace corral::mesh
