// Peers that mean no good, engines that take nothing, links that fail; and what the ends of a tunnel say to each other.
#include <vector>

#include <gmock/gmock.h>

#include "fleet/tunnels/tunnel_fixture_for_tests.h"

namespace corral::fleet {
namespace {

using mesh::Kind;
using mesh::kind_name;
using mesh::Purpose;

TEST(TunnelMessages, AreReadAsTheyWereWritten) {
  TunnelAsk ask;
  ask.model.bytes[5] = 7;
  ask.model.pending = true;
  ask.of = {3, 9};
  const auto encoded = encode(ask);
  const auto length = tunnel_length(encoded.substr(0, kTunnelHead), kMaxTunnelAsk);
  ASSERT_TRUE(length);
  EXPECT_EQ(*length, encoded.size() - kTunnelHead);
  EXPECT_EQ(decode_tunnel_ask(encoded.substr(kTunnelHead)), ask);
  EXPECT_EQ(decode_tunnel_ask(encoded.substr(kTunnelHead) + "of a later version"), ask);
  EXPECT_FALSE(decode_tunnel_ask(encoded.substr(kTunnelHead, 20)));
  EXPECT_FALSE(tunnel_length(std::string("\0\0", 2), kMaxTunnelAsk));
  EXPECT_FALSE(tunnel_length("\xff\xff", kMaxTunnelAsk));

  const auto answer = [](const std::optional<std::string>& refusal) {
    const auto all = encode_tunnel_answer(refusal);
    EXPECT_TRUE(tunnel_length(all.substr(0, kTunnelHead), kMaxTunnelAnswer));
    return decode_tunnel_answer(all.substr(kTunnelHead));
  };
  EXPECT_TRUE(answer(std::nullopt));
  const auto refused = answer("no\nworker\x1b[31m \xff here" + std::string(5000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::worker_refused);
  EXPECT_THAT(refused.error().message, testing::StartsWith("noworker[31m"));
  EXPECT_LE(refused.error().message.size(), 400u);
  EXPECT_FALSE(decode_tunnel_answer(""));
  EXPECT_EQ(decode_tunnel_answer("x").error().code, mesh::errc::malformed);
}

class TunnelFaults : public TunnelFixture {};
CORRAL_ON_BOTH_NETWORKS(TunnelFaults);

TEST_P(TunnelFaults, NonsenseEndsItsStream) {
  const auto valid = encode(TunnelAsk{model, plan});
  for (const auto& words : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(2, '\0'), std::string(4000, '\xff'),
                            std::string("\0\x05hello", 7)}) {
    const auto stream = open(a(), b(), Purpose::rpc);
    ASSERT_TRUE(*stream && **stream);
    const auto answer = read(**stream->value());
    write(**stream->value(), words);
    settle();
    EXPECT_TRUE(answer->ended);
    EXPECT_EQ(door->streams(), 0u);
  }
  EXPECT_EQ(asked, 0);
  // What comes right behind the words belongs to the worker.
  const auto stream = open(a(), b(), Purpose::rpc);
  write(**stream->value(), valid + "hello");
  settle();
  const auto connected = served();
  ASSERT_TRUE(connected);
  EXPECT_EQ(got(connected), "hello");
  stream->reset();
  settle();
  EXPECT_TRUE(is_over(connected));
}

TEST_P(TunnelFaults, WordsThatDontComeWholeAreNotWaitedFor) {
  const auto valid = encode(TunnelAsk{model, plan});
  std::vector<std::shared_ptr<Opened>> streams;
  std::vector<std::shared_ptr<Read>> answers;
  for (int i = 0; i < 40; ++i) {
    streams.push_back(open(a(), b(), Purpose::rpc));
    ASSERT_TRUE(*streams.back() && **streams.back());
    answers.push_back(read(**streams.back()->value()));
    write(**streams.back()->value(), valid.substr(0, static_cast<std::size_t>(i % 20) + 1));
  }
  EXPECT_EQ(door->streams(), 40u);
  pass(Millis(3100));
  EXPECT_EQ(door->streams(), 0u);
  for (const auto& answer : answers) EXPECT_TRUE(answer->ended);
  EXPECT_EQ(asked, 0);
  streams.clear();
  opened.clear();
  settle();
  open_entry();
  connect_through();
}

TEST_P(TunnelFaults, AnEngineThatTakesNothingHoldsUpNobodyElse) {
  open_entry();
  auto slow = connect_through(), other = connect_through();
  const std::string much(1 << 20, 'x');
  std::size_t taken = 0;
  for (int i = 0; i < 60; ++i) {
    taken += put(slow.worker, much);
    settle();
  }
  EXPECT_LT(taken, 60u << 20);
  put(other.worker, "answer");
  settle();
  EXPECT_EQ(got(other.engine), "answer");
  slow.engine.reset();
  settle();
  got(slow.worker);
  EXPECT_TRUE(is_over(slow.worker));
}

// Spares that can't be had are asked for once, and not on and on.
TEST_P(TunnelFaults, WhereAllStreamsAreInUseTheOthersGoOn) {
  open_entry();
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < TunnelEntry::kMaxConnections; ++i) pairs.push_back(connect_through());
  const auto begun = begin_open(plan);
  ASSERT_TRUE(*begun && **begun);
  auto first = std::exchange(entry, std::move(***begun));
  settle();
  EXPECT_EQ(view(a(), b()).streams_to, 40u);
  const auto pair = connect_through();
  EXPECT_EQ(view(a(), b()).streams_to, 40u);
  put(pairs.front().engine, "hello");
  settle();
  EXPECT_EQ(got(pairs.front().worker), "hello");
}

// Faults that only the network in memory makes.
class CutTunnels : public TunnelFixture {};
INSTANTIATE_TEST_SUITE_P(Networks, CutTunnels, testing::Values(Kind::memory), kind_name);

TEST_P(CutTunnels, ASilentLinkEndsBothEnds) {
  open_entry();
  auto pair = connect_through();
  pass(Millis(3000));
  air.cut(a().key.public_key(), b().key.public_key());  // of one way: the worker's answers would still come
  pass(Millis(2500));
  EXPECT_TRUE(is_over(pair.engine));
  EXPECT_TRUE(is_over(pair.worker));
}

TEST_P(CutTunnels, ConnectionsWaitForNoRoundTrip) {
  delay(a(), b(), Millis(50));
  pass(Millis(2000), Millis(10));
  const auto begun = begin_open(plan);
  ASSERT_TRUE(passing([&] { return begun->has_value(); }, Millis(1000), Millis(10)));
  entry = std::move(***begun);
  pass(Millis(1000), Millis(10));
  // No time passes from here until the engine's bytes are on their way.
  std::vector<UniqueFd> engines;
  for (std::size_t i = 0; i < TunnelEntry::kReady; ++i) {
    engines.push_back(connect());
    put(engines.back(), "hello");
  }
  settle();
  EXPECT_FALSE(served());
  pass(Millis(50), Millis(10));
  for (std::size_t i = 0; i < TunnelEntry::kReady; ++i) {
    const auto connected = served();
    ASSERT_TRUE(connected);
    EXPECT_EQ(got(connected), "hello");
  }
}

}  // namespace
}  // namespace corral::fleet
