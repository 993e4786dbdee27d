#include <gtest/gtest.h>

#include "command.h"
#include "packet.h"
#include "path.h"

namespace corral::wire {
namespace {

struct Sent {
  Path path;
  std::mt19937_64 random{7};
  Nanos now = 1000 * kMilli;

  std::optional<Nanos> one(std::size_t bytes = 1000, bool dial = false) { return path.send(now, bytes, dial, random); }
};

TEST(Path, WithoutFaultsArrivesAtOnce) {
  Sent sent;
  EXPECT_EQ(sent.one(), sent.now);
  EXPECT_TRUE(sent.path.arrive());
  EXPECT_EQ(sent.path.counts.passed, 1U);
}

TEST(Path, DelayIsAddedAndOrderStaysWhenItShrinks) {
  Sent sent;
  sent.path.faults.delay_ms = 20;
  EXPECT_EQ(sent.one(), sent.now + 20 * kMilli);
  sent.path.faults.delay_ms = 1;
  EXPECT_EQ(sent.one(), sent.now + 20 * kMilli) << "behind the one before it";
}

TEST(Path, JitterStaysWithinItsBoundsAndKeepsTheOrder) {
  Sent sent;
  sent.path.faults = {.delay_ms = 10, .jitter_ms = 4};
  Nanos last = 0;
  for (int i = 0; i < 1000; ++i, sent.now += 10 * kMilli) {
    const Nanos arrival = *sent.one();
    EXPECT_GE(arrival, sent.now + 6 * kMilli);
    EXPECT_LE(arrival, sent.now + 14 * kMilli);
    EXPECT_GE(arrival, last);
    last = arrival;
  }
}

TEST(Path, LosesTheShareThatIsAskedFor) {
  Sent sent;
  sent.path.faults.loss_percent = 20;
  int arrived = 0;
  for (int i = 0; i < 10'000; ++i) arrived += sent.one().has_value() ? 1 : 0;
  EXPECT_NEAR(arrived, 8000, 200);
  EXPECT_EQ(sent.path.counts.lost + static_cast<std::uint64_t>(arrived), 10'000U);
}

TEST(Path, LateOnesAreOvertaken) {
  Sent sent;
  sent.path.faults.late_percent = 100;
  EXPECT_EQ(sent.one(), sent.now + 5 * kMilli);
  sent.path.faults.late_percent = 0;
  EXPECT_EQ(sent.one(), sent.now);
  EXPECT_EQ(sent.path.counts.late, 1U);
}

TEST(Path, ARateSpacesPacketsAndDropsWhatWouldWaitTooLong) {
  Sent sent;
  sent.path.faults.rate_mbit = 8;  // 1,000 bytes a millisecond
  EXPECT_EQ(sent.one(), sent.now + 1 * kMilli);
  EXPECT_EQ(sent.one(), sent.now + 2 * kMilli);
  for (int i = 0; i < 300; ++i) (void)sent.one();
  EXPECT_GT(sent.path.counts.over, 90U);
  sent.now += 1000 * kMilli;
  EXPECT_EQ(sent.one(), sent.now + 1 * kMilli) << "the queue has run empty";
}

TEST(Path, ACutLosesAlsoWhatIsUnderWay) {
  Sent sent;
  EXPECT_TRUE(sent.one());
  sent.path.faults.cut = true;
  EXPECT_FALSE(sent.path.arrive());
  EXPECT_FALSE(sent.one());
  EXPECT_EQ(sent.path.counts.cut, 2U);
}

TEST(Path, WithoutDialsOnlyTheBeginningsOfConnectionsAreLost) {
  Sent sent;
  sent.path.faults.dials = false;
  EXPECT_FALSE(sent.one(60, true));
  EXPECT_TRUE(sent.one(60, false));
  EXPECT_EQ(sent.path.counts.refused, 1U);
}

std::vector<std::uint8_t> tcp(std::uint8_t flags) {
  std::vector<std::uint8_t> packet(40);
  packet[0] = 0x45;
  packet[9] = 6;
  packet[16] = 10;
  packet[19] = 3;
  packet[33] = flags;
  return packet;
}

TEST(Packet, SaysWhereToAndWhetherItBeginsAConnection) {
  EXPECT_EQ(read_head(tcp(0x02))->to, 0x0A000003U);
  EXPECT_TRUE(read_head(tcp(0x02))->begins_connection);
  EXPECT_FALSE(read_head(tcp(0x12))->begins_connection) << "the answer to one";
  EXPECT_FALSE(read_head(tcp(0x10))->begins_connection);
  auto fragment = tcp(0x02);
  fragment[7] = 1;
  EXPECT_FALSE(read_head(fragment)->begins_connection) << "these bytes are no flags";
}

TEST(Packet, AnythingElseIsNothing) {
  auto packet = tcp(0x02);
  packet[0] = 0x60;
  EXPECT_FALSE(read_head(packet));
  EXPECT_FALSE(read_head(std::vector<std::uint8_t>(19, 0x45)));
  auto cut_off = tcp(0x02);
  cut_off.resize(25);
  EXPECT_FALSE(read_head(cut_off)->begins_connection);
}

TEST(Commands, AreWordsAndOptions) {
  const Command command = read_command("path a  b delay=2.5 cut=1");
  EXPECT_EQ(command.name, "path");
  EXPECT_EQ(command.words, (std::vector<std::string>{"a", "b"}));
  const Faults faults = *changed({.loss_percent = 3}, command.options);
  EXPECT_EQ(faults.delay_ms, 2.5);
  EXPECT_TRUE(faults.cut);
  EXPECT_EQ(faults.loss_percent, 3) << "what isn't named stays";
}

TEST(Commands, WrongOptionsAreNamed) {
  for (const char* wrong : {"delay=x", "delay=-1", "loss=101", "loss=nan", "cut=yes", "dely=1", "rate="}) {
    const auto faults = changed({}, read_command(std::string("path a b ") + wrong).options);
    ASSERT_FALSE(faults) << wrong;
    EXPECT_NE(faults.error().find(std::string_view(wrong).substr(0, 3)), std::string::npos) << faults.error();
  }
}

}  // namespace
}  // namespace corral::wire
