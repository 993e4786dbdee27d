#include "mesh/link/frame.h"

#include <random>

#include <gtest/gtest.h>

#include "mesh/identity/errors.h"
#include "mesh/link/join_frames.h"
#include "mesh/link/link.h"
#include "mesh/link/link_failure_detector.h"
#include "mesh/link/member_exchange.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

TEST(FrameReader, CutsFramesWhereverTheBytesAreCut) {
  const std::vector<Frame> frames{{FrameKind::hello, "abc"}, {FrameKind::members, ""}, {FrameKind::close, "x"}};
  std::string bytes;
  for (const auto& frame : frames) bytes += encode(frame);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    FrameReader reader;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      ASSERT_TRUE(reader.put(std::string_view(bytes).substr(at, step)));
      while (reader.has_frame()) got.push_back(reader.take());
    }
    EXPECT_EQ(got, frames) << step;
  }
}

// The bound holds when the head is there, before anything of the payload came.
TEST(FrameReader, AnAnnouncedLengthOverTheBoundIsRefusedAtOnce) {
  for (const auto kind : {FrameKind::hello, FrameKind::heartbeat, FrameKind::close, FrameKind::members,
                          FrameKind::join_ask, static_cast<FrameKind>(250)}) {
    auto head = encode(Frame{kind, std::string(max_bytes(kind), 'x')}).substr(0, kFrameHead);
    FrameReader within;
    EXPECT_TRUE(within.put(head));
    head = encode(Frame{kind, std::string(max_bytes(kind) + 1, 'x')}).substr(0, kFrameHead);
    FrameReader beyond;
    EXPECT_EQ(beyond.put(head).error().code, errc::too_large);
  }
}

// Readers of what peers send: no input may do more than be refused.
TEST(Frames, RubbishIsRefusedOrReadButNeverMore) {
  std::mt19937_64 random(1);
  const auto key = test_key(1);
  const Hello hello{{}, 1, {}, make_claim(key, {1, {}}), make_claim(key, {2, {}})};
  MemberSet set({key.public_key(), {}});
  ASSERT_TRUE(set.add(std::vector<MemberRecord>{sign_admit(key, set.mesh(), test_key(2).public_key())}));
  std::vector<std::string> seeds{encode(hello),
                                 encode(Heartbeat{1, 2, 3, {4, 5}}),
                                 member_pages(set).front(),
                                 to_frame(JoinAsk{}).payload,
                                 to_frame(set.founding()).payload,
                                 encode(CloseReason::silent, "text"),
                                 encode(set)};
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = seeds[random() % seeds.size()];
    for (auto changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 2 == 0 ? bytes.size() : random() % (bytes.size() + 8));
    (void)decode_hello(bytes);
    (void)decode_heartbeat(bytes);
    (void)decode_closing(bytes);
    (void)PageCollector().take(bytes);
    (void)read_ask(bytes);
    (void)read_founding(bytes);
    (void)read_refusal(bytes);
    FrameReader reader;
    (void)reader.put(bytes);
  }
}

TEST(Frames, HellosAndClosingsComeBack) {
  const auto key = test_key(1);
  const Hello hello{{{7}}, 3, {8}, make_claim(key, {1, {}}), make_claim(key, {2, {}})};
  const auto back = decode_hello(encode(hello) + "what a later version says");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->mesh, hello.mesh);
  EXPECT_EQ(back->minor, 3);
  EXPECT_EQ(back->members, hello.members);
  EXPECT_EQ(back->claim, hello.claim);
  EXPECT_EQ(back->known_claim, hello.known_claim);
  const auto closing = decode_closing(encode(CloseReason::overrun, "too\nmuch\x1b[31m" + std::string(500, 'x')));
  EXPECT_EQ(closing.reason, CloseReason::overrun);
  EXPECT_EQ(closing.text.substr(0, 12), "toomuch[31mx");
  EXPECT_LE(closing.text.size(), 200u);
  EXPECT_EQ(decode_closing("").reason, CloseReason::lost);
}

TEST(Frames, ARefusalCarriesItsCauseAndNothingOfThisMachine) {
  const auto used = read_refusal(refusal(Error(make_error_code(errc::token_used), "used by another")).payload);
  EXPECT_EQ(used.code, errc::token_used);
  EXPECT_EQ(used.message, "used by another");
  const Error disk(std::make_error_code(std::errc::no_space_on_device), "can't write /home/me/state");
  const auto decoded = read_refusal(refusal(disk).payload);
  EXPECT_EQ(decoded.code, errc::overloaded);
  EXPECT_EQ(decoded.message.find("/home"), std::string::npos);
}

TEST(Pages, LargeSetsTakeSeveralAndComeTogetherAgain) {
  const auto key = test_key(1);
  MemberSet set({key.public_key(), {}});
  std::vector<MemberRecord> records;
  for (unsigned i = 2; i < 202; ++i) records.emplace_back(sign_admit(key, set.mesh(), test_key(i).public_key()));
  std::vector<PublicKey> keep;
  for (unsigned i = 2; i < 202; ++i) keep.push_back(test_key(i).public_key());
  for (unsigned i = 2; i < 10; ++i) {
    records.emplace_back(sign_revoke(key, set.mesh(), test_key(i).public_key(), keep));
  }
  ASSERT_TRUE(set.add(records));
  const auto pages = member_pages(set);
  EXPECT_GE(pages.size(), 2u);
  PageCollector collector;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    EXPECT_LE(pages[i].size(), kLargestPage);
    EXPECT_EQ(*collector.take(pages[i]), i + 1 == pages.size());
  }
  EXPECT_TRUE(collector.records() == set.records());
  EXPECT_FALSE(PageCollector().take(std::string(1, '\0')));  // nothing, and more to come
}

// Revokes are large: the bound on their number alone would let 34 MB in.
TEST(Pages, AreBoundedInBytesBeforeAnythingIsVerified) {
  Revoke revoke;
  for (unsigned i = 0; i < kMaxKept; ++i) revoke.keep.push_back({{static_cast<std::uint8_t>(i)}});
  std::string page(1, '\0');
  while (page.size() + encoded_size(revoke) <= kLargestPage) encode(MemberRecord(revoke), page);
  PageCollector collector;
  std::size_t taken = 0;
  Result<bool> last = false;
  for (; taken < 100 && last; ++taken) last = collector.take(page);
  EXPECT_LT(taken, 20u);
  EXPECT_EQ(last.error().code, errc::too_many);
}

struct HeartbeatTest : testing::Test {
  MonoTime start{std::chrono::hours(1)};
  LinkFailureDetector a{{}, start}, b{{}, start};
  MonoTime at(int ms) const { return start + Millis(ms); }
};

TEST_F(HeartbeatTest, StampsThatComeBackMeasureTheWayWithoutTheWaiting) {
  b.take(a.beat(at(0), {}), at(30));
  a.take(b.beat(at(400), {}), at(450));
  EXPECT_EQ(a.round_trip(), Millis(80));
}

TEST_F(HeartbeatTest, SilenceAndDeafnessAreToldApart) {
  EXPECT_EQ(a.state(at(1499)), LinkFailureDetector::State::alive);
  EXPECT_EQ(a.state(at(1500)), LinkFailureDetector::State::silent);
  for (int ms = 0; ms <= 2000; ms += 500) {
    a.tick(at(ms));
    a.take(b.beat(at(ms), {}), at(ms));  // b never got anything
  }
  EXPECT_EQ(a.state(at(1999)), LinkFailureDetector::State::alive);
  EXPECT_EQ(a.state(at(2000)), LinkFailureDetector::State::deaf);
}

TEST_F(HeartbeatTest, AnEchoThatWasNeverSentIsNotBelieved) {
  a.take({1, 1'000'000, 0, {}}, at(100));
  EXPECT_FALSE(a.round_trip());
  a.take({2, 50, 4'000'000'000, {}}, at(100));  // a delay that is longer than the way
  EXPECT_EQ(a.round_trip(), Millis(0));
}

TEST_F(HeartbeatTest, TimeInWhichThisProcessStoodStillDoesntCount) {
  a.tick(at(0));
  a.tick(at(500));
  a.tick(at(9500));
  a.take({1, 501, 0, {}}, at(9500));  // an echo from before it
  EXPECT_EQ(a.state(at(9500)), LinkFailureDetector::State::alive);
  for (int ms = 10'000; ms <= 11'000; ms += 500) a.tick(at(ms));
  EXPECT_EQ(a.state(at(11'000)), LinkFailureDetector::State::silent);
}

TEST_F(HeartbeatTest, AHeartbeatHoldsNoMoreThanItMay) {
  const Heartbeat many{1, 1, 1, std::vector<InFlightId>(1000, 3)};
  EXPECT_LE(encode(many).size(), max_bytes(FrameKind::heartbeat));
  EXPECT_EQ(decode_heartbeat(encode(many))->held.size(), kMaxHeld);
  EXPECT_FALSE(decode_heartbeat(encode(many).substr(0, 100)));
}

}  // namespace
}  // namespace corral::mesh
