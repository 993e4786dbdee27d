// Joining, on the network in memory and on TLS over loopback. b issues, a joins.
#include "mesh/link/join.h"

#include <gmock/gmock.h>

#include "mesh/link/frame_stream.h"
#include "mesh/link/join_frames.h"
#include "mesh/link/member_exchange.h"
#include "mesh/link/network_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using async::Task;
using testing::ElementsAre;
using testing::HasSubstr;

class JoinTest : public NetworkFixture {
 protected:
  JoinTest() {
    verdict = [this](const PublicKey& key, Purpose purpose) {
      return may_enter(store.set(), tokens.open_count(timers.wall_now()) > 0, key, purpose);
    };
    group.spawn("serve", serve());
  }

  Task<void> serve() {
    while (true) {
      auto stream = co_await net_b->accept();
      if (!stream) co_return;
      const JoinServiceContext service{b, store, tokens, timers};
      auto admitted = co_await serve_join(std::move(*stream), service);
      served.push_back(admitted ? std::error_code() : admitted.error().code);
    }
  }
  JoinToken token(std::chrono::seconds lifetime = std::chrono::hours(1)) {
    return *at_once(tokens.issue(store.set().mesh(), b.id(), {lifetime, {at_b}}, timers.wall_now()));
  }
  Task<void> join_as(SigningKey key, JoinToken with) {
    JoinOptions with_steps;
    with_steps.on_step = [this](JoinStep step, const Address&) { steps.emplace_back(name_of(step)); };
    joined.emplace(co_await join_mesh(*net_a, timers, std::move(key), std::move(with), std::move(with_steps)));
  }
  void join(JoinToken with) {
    joined.reset();
    run(join_as(a, std::move(with)));
  }
  void expect_refused(errc cause, JoinStep step) {
    ASSERT_TRUE(joined && !*joined);
    EXPECT_EQ(joined->error().code, cause) << joined->error().message;
    ASSERT_NE(joined->error().fact<JoinFailure>(), nullptr);
    EXPECT_EQ(joined->error().fact<JoinFailure>()->step, step);
    EXPECT_THAT(joined->error().message, HasSubstr(name_of(step)));
    EXPECT_NE(store.set().standing(a.public_key()), MembershipStatus::member);
  }

  TestFolder folder;
  MemberStore store = *MemberStore::begin(folder.path(), MemberSet({b.public_key(), {}}));
  JoinTokenStore tokens = *JoinTokenStore::open(folder.path());
  std::vector<std::string> steps;
  std::vector<std::error_code> served;
  std::optional<Result<MemberSet>> joined;
};
CORRAL_ON_BOTH_NETWORKS(JoinTest);

TEST_P(JoinTest, ATokenMakesAMemberThatBothSidesKeep) {
  join(token());
  ASSERT_TRUE(*joined) << joined->error().message;
  EXPECT_THAT(steps, ElementsAre("dial", "proof", "admit", "members"));
  EXPECT_TRUE(**joined == store.set());
  EXPECT_EQ((*joined)->standing(a.public_key()), MembershipStatus::member);
  EXPECT_EQ((*MemberStore::open(folder.path()))->set().standing(a.public_key()), MembershipStatus::member);
  EXPECT_EQ(JoinTokenStore::open(folder.path())->list().front().used_by, a.id());
}

TEST_P(JoinTest, ATokenIsForOneNode) {
  const auto used = token();
  (void)token();  // another one is out, so strangers may knock
  ASSERT_TRUE(at_once(tokens.use(token_id(token_key(used).public_key()), c.id(), timers.wall_now())));
  join(used);
  expect_refused(errc::token_used, JoinStep::proof);
  EXPECT_THAT(joined->error().message, HasSubstr("each node needs its own"));
}

// Its answer was lost, or its disk was full: it may try again.
TEST_P(JoinTest, TheSameNodeMayComeAgainWithItsToken) {
  const auto own = token();
  join(own);
  ASSERT_TRUE(*joined);
  join(own);
  EXPECT_TRUE(*joined);
}

TEST_P(JoinTest, ExpiredWithdrawnAndUnknownTokensAreRefusedWithTheReason) {
  const auto expired = token(std::chrono::seconds(5)), withdrawn = token();
  (void)token();
  pass(Millis(6000), Millis(2000));
  join(expired);
  expect_refused(errc::token_expired, JoinStep::proof);
  ASSERT_TRUE(at_once(tokens.withdraw(short_text(token_id(token_key(withdrawn).public_key())))));
  join(withdrawn);
  expect_refused(errc::token_withdrawn, JoinStep::proof);
  auto wrong = token();
  wrong.secret[0] ^= 1;
  join(wrong);
  expect_refused(errc::token_unknown, JoinStep::proof);
  auto foreign = token();
  foreign.mesh.bytes[0] ^= 1;
  join(foreign);
  expect_refused(errc::foreign_mesh, JoinStep::proof);
  EXPECT_EQ(store.set().size(), 0u);
}

TEST_P(JoinTest, WithoutATokenOutStrangersArentEvenHeard) {
  auto old = token();
  ASSERT_TRUE(at_once(tokens.withdraw(short_text(token_id(token_key(old).public_key())))));
  join(old);
  expect_refused(errc::not_a_member, JoinStep::handshake);
  EXPECT_TRUE(served.empty());
}

TEST_P(JoinTest, AThrownOutNodeStaysOut) {
  join(token());
  ASSERT_TRUE(*joined);
  ASSERT_TRUE(at_once(store.revoke(b, a.public_key(), {})));
  join(token());
  expect_refused(errc::revoked, JoinStep::handshake);
}

TEST_P(JoinTest, NothingIsAdmittedWhenTheUseCantBeRecorded) {
  const auto own = token();
  std::filesystem::create_directory(folder / "tokens.new");
  join(own);
  expect_refused(errc::overloaded, JoinStep::admit);
  std::filesystem::remove(folder / "tokens.new");
  join(own);
  EXPECT_TRUE(*joined);
}

TEST_P(JoinTest, AnotherNodeThanTheIssuerIsntAsked) {
  auto pinned = token();
  pinned.pins = {c.id()};
  join(pinned);
  expect_refused(errc::wrong_peer, JoinStep::handshake);
  EXPECT_TRUE(served.empty());
}

TEST_P(JoinTest, TheNextAddressIsTriedWhereNobodyAnswers) {
  auto two = token();
  two.seeds.insert(two.seeds.begin(), Address{"127.0.0.1", 1});
  join(two);
  ASSERT_TRUE(*joined) << joined->error().message;
  two.seeds = std::vector{Address{"127.0.0.1", 1}};
  store = *MemberStore::begin(folder.path(), MemberSet({b.public_key(), {}}));
  join(two);
  expect_refused(errc::unreachable, JoinStep::dial);
}

// What one connection proved is sent again over another one, by the same node.
TEST_P(JoinTest, ARecordedProofIsWorthNothingElsewhere) {
  const auto open = token();
  std::optional<Frame> answer;
  auto replay = [&]() -> Task<void> {
    auto first = co_await net_a->dial(at_b, {b.id()}, Purpose::join);
    const auto proof = make_proof(open, a.public_key(), (*first)->exporter(kJoinExporter));
    first->reset();
    auto second = co_await net_a->dial(at_b, {b.id()}, Purpose::join);
    auto ask = to_frame(JoinAsk{0, open.mesh, proof});
    EXPECT_TRUE(co_await write_frame(**second, std::move(ask)));
    FrameReader reader;
    auto frame = co_await read_frame(**second, reader);
    answer = std::move(*frame);
  };
  run(replay());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, FrameKind::join_refused);
  EXPECT_EQ(read_refusal(answer->payload).code, errc::wrong_proof);
  EXPECT_EQ(store.set().standing(a.public_key()), MembershipStatus::unknown);
  EXPECT_EQ(tokens.open_count(timers.wall_now()), 1u);
}

TEST_P(JoinTest, AStrangerThatSaysNothingIsGivenUp) {
  (void)token();
  run(dial(Purpose::join, {b.id()}));
  ASSERT_TRUE(*dialled);
  settle();
  pass(Millis(11000), Millis(1000));
  ASSERT_TRUE(until([&] { return !served.empty(); }));
  EXPECT_EQ(served.front(), errc::timed_out);
}

TEST_P(JoinTest, AStrangerThatSaysNonsenseLearnsNothingAndChangesNothing) {
  (void)token();
  auto talk = [&](Frame frame) -> Task<void> {
    auto stream = co_await net_a->dial(at_b, {b.id()}, Purpose::join);
    co_await write_frame(**stream, std::move(frame));
    FrameReader reader;
    const auto answer = co_await read_frame(**stream, reader);
    EXPECT_EQ(answer->kind, FrameKind::join_refused);
  };
  run(talk({FrameKind::join_ask, "short"}));
  run(talk({FrameKind::members, "x"}));
  run(talk({FrameKind::join_admitted, ""}));
  EXPECT_EQ(store.set().size(), 0u);
}

TEST_P(JoinTest, AStrangerThatTalksWithoutSayingAnythingIsCutOff) {
  (void)token();
  auto talk = [&]() -> Task<void> {
    auto stream = co_await net_a->dial(at_b, {b.id()}, Purpose::join);
    for (int i = 0; i < 8; ++i) {
      Frame unknown{static_cast<FrameKind>(200), std::string(60'000, 'x')};
      co_await write_frame(**stream, std::move(unknown));
    }
    FrameReader reader;
    const auto answer = co_await read_frame(**stream, reader);
    EXPECT_TRUE(!answer || answer->kind == FrameKind::join_refused);
  };
  run(talk());
  ASSERT_TRUE(until([&] { return !served.empty(); }));
  EXPECT_EQ(served.front(), errc::too_large);
}

// An issuer that answers step by step, and not further.
class SlowIssuer : public NetworkFixture {
 protected:
  Task<void> serve(int answers) {
    auto stream = co_await net_b->accept();
    FrameReader reader;
    const auto ask = co_await read_frame(**stream, reader);
    EXPECT_TRUE(ask);
    Frame proved{FrameKind::join_proved, {}};
    if (answers > 0) co_await write_frame(**stream, std::move(proved));
    auto admitted = to_frame(founding);
    if (answers > 1) co_await write_frame(**stream, std::move(admitted));
    FrameReader nothing;
    co_await read_frame(**stream, nothing);
  }
  Task<void> join() {
    const JoinToken token{mesh_id(founding), {b.id()}, {at_b}, {}, {}};
    joined.emplace(co_await join_mesh(*net_a, timers, a, token, {}));
  }
  Founding founding{b.public_key(), {}};
  std::optional<Result<MemberSet>> joined;
};
CORRAL_ON_BOTH_NETWORKS(SlowIssuer);

TEST_P(SlowIssuer, EachStepHasItsDeadlineAndItsName) {
  constexpr std::array kSteps{JoinStep::proof, JoinStep::admit, JoinStep::members};
  for (int answers = 0; answers < 3; ++answers) {
    joined.reset();
    group.spawn("serve", serve(answers));
    group.spawn("join", join());
    settle();
    pass(Millis(6000), Millis(1000));
    ASSERT_TRUE(until([&] { return joined.has_value(); }));
    ASSERT_FALSE(*joined);
    EXPECT_EQ(joined->error().code, errc::timed_out);
    EXPECT_EQ(joined->error().fact<JoinFailure>()->step, kSteps[static_cast<std::size_t>(answers)]);
  }
}

// Members that don't hold the joiner, or that are of a mesh which somebody else founded.
TEST_P(SlowIssuer, AnIssuerThatLiesIsFoundOut) {
  auto lie = [&](Founding founding, std::string page) -> Task<void> {
    auto stream = co_await net_b->accept();
    FrameReader reader;
    const auto ask = co_await read_frame(**stream, reader);
    EXPECT_TRUE(ask);
    Frame proved{FrameKind::join_proved, {}}, members{FrameKind::members, std::move(page)};
    co_await write_frame(**stream, std::move(proved));
    auto admitted = to_frame(founding);
    co_await write_frame(**stream, std::move(admitted));
    co_await write_frame(**stream, std::move(members));
    co_await finish_politely(**stream);
  };
  group.spawn("lie", lie(founding, member_pages(MemberSet(founding)).front()));
  run(join());
  EXPECT_EQ(joined->error().code, errc::not_a_member);
  settle();
  const Founding other{c.public_key(), {}};
  joined.reset();
  group.spawn("lie", lie(other, member_pages(MemberSet(other)).front()));
  run(join());
  EXPECT_EQ(joined->error().code, errc::foreign_mesh);
}

class MembersOverLinks : public NetworkFixture {};
CORRAL_ON_BOTH_NETWORKS(MembersOverLinks);

TEST_P(MembersOverLinks, BothEndUpWithTheSameAndARevocationTravels) {
  const TestFolder folder_a, folder_b;
  MemberSet start({a.public_key(), {}});
  ASSERT_TRUE(start.add(std::vector<MemberRecord>{sign_admit(a, start.mesh(), b.public_key()),
                                                  sign_admit(a, start.mesh(), c.public_key())}));
  auto store_a = *MemberStore::begin(folder_a.path(), start), store_b = *MemberStore::begin(folder_b.path(), start);
  ASSERT_TRUE(at_once(store_a.revoke(a, c.public_key(), {})));
  ASSERT_TRUE(at_once(store_b.admit(b, test_key(4).public_key())));
  auto with_a = options(a), with_b = options(b);
  with_a.hello.members = store_a.set().digest();
  with_b.hello.members = store_b.set().digest();
  open_links(with_a, with_b);
  ASSERT_TRUE(*link_a && *link_b);
  auto exchange = [](Link& link, MemberStore& store, Sha256 digest) -> Task<void> {
    const auto learnt = co_await exchange_members(link, store, digest);
    EXPECT_TRUE(learnt && *learnt);
  };
  group.spawn("exchange", exchange(a_link(), store_a, with_a.hello.members));
  run(exchange(b_link(), store_b, with_b.hello.members));
  ASSERT_TRUE(until([&] { return store_a.set() == store_b.set(); }));
  EXPECT_EQ(store_b.set().standing(c.public_key()), MembershipStatus::revoked);
  EXPECT_EQ(store_a.set().standing(test_key(4).public_key()), MembershipStatus::member);
}

}  // namespace
}  // namespace corral::mesh
