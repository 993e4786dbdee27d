#include "mesh/groups/grant_wire.h"

#include <gtest/gtest.h>

#include "mesh/groups/group_plan.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

const std::vector<GroupMessage> kMessages = {
    GrantRequest{{sha256({"m"}), true}, {7, 8}, 9, sha256({"plan"}), 1ULL << 40},
    GrantResponse{{sha256({"m"}), false}, {7, 8}, 9, GrantDecision::settling, 10'000},
    GrantRelease{{sha256({"m"}), false}, {7, 8}, 9},
    GrantRecall{{sha256({"m"}), false}, {7, 8}, 30'000},
};

TEST(GrantWireTest, WhatIsWrittenIsRead) {
  for (const auto& message : kMessages) {
    const auto frame = to_frame(message);
    EXPECT_EQ(frame.kind, FrameKind::grant);
    EXPECT_LE(frame.payload.size(), max_bytes(FrameKind::grant));
    const auto read = read_group_message(frame.payload);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, message);
    // A later version may say more.
    EXPECT_EQ(*read_group_message(frame.payload + "more"), message);
  }
}

TEST(GrantWireTest, WhatIsCutOffIsMalformed) {
  for (const auto& message : kMessages) {
    const auto payload = to_frame(message).payload;
    for (std::size_t length = 0; length < payload.size(); ++length) {
      const auto read = read_group_message(std::string_view(payload).substr(0, length));
      ASSERT_FALSE(read) << length;
      EXPECT_EQ(read.error().code, errc::malformed);
    }
  }
}

TEST(GrantWireTest, AVerdictOfALaterVersionIsANo) {
  auto payload = to_frame(kMessages[1]).payload;
  payload[payload.size() - 5] = 99;
  EXPECT_EQ(std::get<GrantResponse>(*read_group_message(payload)).verdict, GrantDecision::taken);
  payload[0] = 9;
  EXPECT_FALSE(read_group_message(payload));
}

TEST(GroupPlanTest, PredictionsDoNotMakeItAnotherPlan) {
  GroupPlan plan;
  plan.split.host = test_key(1).id();
  plan.split.shares = {{test_key(2).id(), 3, 10, 2, 1}, {test_key(1).id(), 4, 12, 2, 1}};
  auto other = plan;
  other.split.token_ms = 5;
  other.split.load_s = 7;
  EXPECT_EQ(digest_of(plan), digest_of(other));
  other.split.shares.front().layers = 2;
  EXPECT_NE(digest_of(plan), digest_of(other));
  other = plan;
  std::swap(other.split.shares[0], other.split.shares[1]);
  EXPECT_NE(digest_of(plan), digest_of(other));
  other = plan;
  other.model.bytes[0] = 1;
  EXPECT_NE(digest_of(plan), digest_of(other));
}

}  // namespace
}  // namespace corral::mesh
