// The pure parts: what nodes say around a request, and when one counts as lost.
#include <gtest/gtest.h>

#include "fleet/requests/lost_request_detector.h"
#include "fleet/requests/peer_headers.h"

namespace corral::fleet {
namespace {

using namespace std::chrono_literals;

TEST(PeerHeaders, AnErrandArrivesAsItWasSent) {
  const PeerRequestInfo infos[] = {
      {.held = 1, .model = "m"},
      {.held = ~0ull,
       .model = "org/name with spaces + 100% \r\n\"ü\"",
       .content = std::string(64, 'a'),
       .stream = true,
       .ping_interval = 0ms,
       .context = 4096},
      {.held = 5, .model = "m", .ping_interval = -1ms, .waits = true},
  };
  for (const auto& info : infos) {
    http::Headers headers;
    write(headers, info);
    for (const auto& [name, value] : headers) {
      EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos);
    }
    const auto read = read_request_info(headers);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, info);
  }
}

TEST(PeerHeaders, AMishapArrivesAsItWasSent) {
  for (const auto& failure : {PeerFailure{.unbegun = true}, PeerFailure{.process = 12, .requests = 3}}) {
    http::Headers headers;
    write(headers, failure);
    EXPECT_EQ(read_failure(headers), failure);
    auto comment = comment_of(failure);
    EXPECT_TRUE(comment.ends_with("\n\n"));
    comment.resize(comment.size() - 2);
    EXPECT_EQ(failure_in_comment(comment), failure);
  }
  for (const auto* text :
       {": ping", ": corral", ": corral ended", ": corral ended 1", ": corral ended x 1", "corral"}) {
    EXPECT_EQ(failure_in_comment(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_failure({}), std::nullopt);
}

struct Clocked {
  MonoTime now{1h};
  LostRequestDetector rule{now};
  std::uint64_t pieces = 0;
  bool lost(Millis time, bool listed, bool waits = true, bool received = true) {
    bool gone = false;
    for (Millis passed = 0ms; passed < time; passed += 500ms) {
      now += 500ms;
      gone = rule.lost(now, received ? std::optional(now) : std::nullopt, listed, waits, pieces);
    }
    return gone;
  }
};

TEST(LostRequestDetector, MissingForTwoSecondsIsLost) {
  Clocked clocked;
  EXPECT_FALSE(clocked.lost(1500ms, false));
  EXPECT_TRUE(clocked.lost(500ms, false));
}

TEST(LostRequestDetector, ListedIsNeverLost) {
  Clocked clocked;
  EXPECT_FALSE(clocked.lost(1h, true));
  EXPECT_FALSE(clocked.lost(1500ms, false));
  EXPECT_FALSE(clocked.lost(500ms, true));
  EXPECT_FALSE(clocked.lost(1500ms, false));
}

TEST(LostRequestDetector, WithoutHeartbeatsOrWithoutAWaiterNothingIsLost) {
  Clocked clocked;
  EXPECT_FALSE(clocked.lost(10s, false, true, false));
  EXPECT_FALSE(clocked.lost(10s, false, false));
  EXPECT_TRUE(clocked.lost(2s, false));
}

TEST(LostRequestDetector, BytesThatComeAreProof) {
  Clocked clocked;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(clocked.lost(1500ms, false));
    ++clocked.pieces;
    EXPECT_FALSE(clocked.lost(500ms, false));
  }
}

}  // namespace
}  // namespace corral::fleet
