// A stream inside another, as a relay carries it: on both networks. What the relay sees of it, on TLS.
#include <gmock/gmock.h>

#include "mesh/link/network_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using async::Task;
using testing::HasSubstr;
using testing::Not;

// One end of a carrier, by someone who listens in and may change a byte.
class Tapped final : public Stream {
 public:
  Tapped(std::unique_ptr<Stream> inner, std::string& heard, bool& meddles, bool& gone)
      : inner_(std::move(inner)), heard_(heard), meddles_(meddles), gone_(gone) {}
  ~Tapped() override { gone_ = true; }
  Tapped(const Tapped&) = delete;
  Tapped& operator=(const Tapped&) = delete;

  const Peer& peer() const override { return inner_->peer(); }
  Purpose purpose() const override { return inner_->purpose(); }
  Task<Result<std::size_t>> read_some(std::span<char> space) override { return inner_->read_some(space); }
  Task<Result<>> write(std::string_view bytes) override {
    heard_ += bytes;
    std::string sent(bytes);
    if (meddles_ && !sent.empty()) sent.back() = static_cast<char>(sent.back() ^ 1);
    return inner_->write(sent);
  }
  Task<void> finish() override { return inner_->finish(); }
  void close() override { inner_->close(); }
  Task<Result<bool>> readable() override { return inner_->readable(); }
  bool is_quiet() const override { return inner_->is_quiet(); }
  Sha256 exporter(std::string_view label) const override { return inner_->exporter(label); }

 private:
  std::unique_ptr<Stream> inner_;
  std::string& heard_;
  bool& meddles_;
  bool& gone_;
};

class CarriedStream : public NetworkFixture {
 protected:
  static Task<void> dial_over(Network& network, std::unique_ptr<Stream> carrier, NodeId pin, StreamResult& result) {
    result = co_await network.dial_within(std::move(carrier), pin, Purpose::http);
  }
  static Task<void> accept_over(Network& network, std::unique_ptr<Stream> carrier, Doorkeeper keeper,
                                StreamResult& result) {
    result = co_await network.accept_within(std::move(carrier), std::move(keeper));
  }
  void carry(const NodeId& pin) {
    connect(Purpose::relay);
    auto near = std::make_unique<Tapped>(std::move(**dialled), heard, meddles, gone);
    const Doorkeeper keeper = [this](const PublicKey& key, Purpose purpose) { return verdict(key, purpose); };
    group.spawn("dial", dial_over(*net_a, std::move(near), pin, inner_a));
    group.spawn("accept", accept_over(*net_b, std::move(**accepted), keeper, inner_b));
    ASSERT_TRUE(until([this] { return inner_a.has_value(); }));
    settle();
  }
  void TearDown() override {
    group.cancel();
    settle();
    inner_a.reset();
    inner_b.reset();
    settle();
    NetworkFixture::TearDown();
  }
  static Task<void> say(Stream& stream, std::string text) { co_await stream.write(text); }
  static Task<void> hear(Stream& stream, std::size_t count, std::optional<Result<std::string>>& result) {
    result = co_await read_exactly(stream, count);
  }

  std::string heard;
  bool meddles = false, gone = false;
  StreamResult inner_a, inner_b;
};
CORRAL_ON_BOTH_NETWORKS(CarriedStream);

TEST_P(CarriedStream, BothEndsKnowEachOtherAndTheCarrierReadsNothing) {
  carry(b.id());
  ASSERT_TRUE(*inner_a) << inner_a->error().message;
  ASSERT_TRUE(inner_b && *inner_b);
  EXPECT_EQ((**inner_a)->peer().id, b.id());
  EXPECT_EQ((**inner_b)->peer().id, a.id());
  EXPECT_EQ((**inner_b)->purpose(), Purpose::http);
  run(say(***inner_a, "a secret question"));
  std::optional<Result<std::string>> got;
  run(hear(***inner_b, 17, got));
  EXPECT_EQ(**got, "a secret question");
  run(say(***inner_b, "an answer"));
  run(hear(***inner_a, 9, got));
  EXPECT_EQ(**got, "an answer");
  if (GetParam() == Kind::tls) EXPECT_THAT(heard, Not(HasSubstr("secret")));
  // The end of one is the end of the other.
  inner_a.reset();
  run(hear(***inner_b, 1, got));
  EXPECT_FALSE(*got);
}

// Though the other end never ends its own: a relay and a peer that mean no good mustn't pile up what nobody uses.
TEST_P(CarriedStream, TheCarrierGoesWithTheStreamAndWhatWasWrittenArrives) {
  carry(b.id());
  ASSERT_TRUE(*inner_a && inner_b && *inner_b);
  EXPECT_FALSE(gone);
  run(say(***inner_a, "last words"));
  inner_a.reset();
  EXPECT_TRUE(until([this] { return gone; }));
  std::optional<Result<std::string>> got;
  run(hear(***inner_b, 10, got));
  ASSERT_TRUE(*got) << got->error().message;
  EXPECT_EQ(**got, "last words");
}

TEST_P(CarriedStream, AFinishedStreamThatIsDroppedTakesItsCarrierAlong) {
  carry(b.id());
  ASSERT_TRUE(*inner_a && inner_b && *inner_b);
  run((**inner_a)->finish());
  settle();
  EXPECT_FALSE(gone);  // it can still be read
  inner_a.reset();
  EXPECT_TRUE(until([this] { return gone; }));
}

TEST_P(CarriedStream, AnotherNodeThanThePinnedOneIsRefused) {
  carry(c.id());
  ASSERT_FALSE(*inner_a);
  EXPECT_EQ(inner_a->error().code, errc::wrong_peer);
}

TEST_P(CarriedStream, TheDoorkeeperIsAsked) {
  verdict = [](const PublicKey&, Purpose purpose) {
    return purpose == Purpose::relay ? Result<>() : Result<>(fail(errc::not_a_member, ""));
  };
  carry(b.id());
  ASSERT_FALSE(*inner_a);
  ASSERT_TRUE(inner_b);
  EXPECT_FALSE(*inner_b);
}

TEST_P(CarriedStream, WhatTheCarrierChangesIsFound) {
  if (GetParam() == Kind::memory) return;  // nothing is secret in memory
  carry(b.id());
  ASSERT_TRUE(*inner_a && inner_b && *inner_b);
  meddles = true;
  run(say(***inner_a, "a question"));
  std::optional<Result<std::string>> got;
  run(hear(***inner_b, 10, got));
  EXPECT_FALSE(*got);
}

}  // namespace
}  // namespace corral::mesh
