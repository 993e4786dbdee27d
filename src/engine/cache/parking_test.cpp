#include "engine/cache/parking.h"

#include <numeric>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

std::vector<Token> counted(std::uint32_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}
std::vector<std::uint8_t> bytes(std::uint32_t count) { return std::vector<std::uint8_t>(count); }

struct Known : Session {
  explicit Known(std::uint64_t id, std::uint32_t tokens)
      : Session(std::make_shared<SessionShared>(SessionId(id), 1000), false) {
    history = counted(tokens);
  }
};

class ParkingTest : public ::testing::Test {
 protected:
  Parking parking_{std::make_shared<ParkedStore>(ParkedStoreOptions{.memory_bytes = 1 << 20})};
};

TEST_F(ParkingTest, WhatIsForEverybodyIsFoundByItsBeginning) {
  const std::vector<Token> tokens = counted(100);
  parking_.put(tokens, bytes(1000));
  EXPECT_TRUE(parking_.covers(tokens));
  EXPECT_EQ(parking_.counters().parked_bytes, 1000u);
  Known session(1, 90);
  const auto found = parking_.find(session, session.history, 0, true);
  ASSERT_TRUE(found.hit);
  EXPECT_EQ(found.hit->length, 90u);
  parking_.put_back(*found.hit);
  EXPECT_EQ(parking_.counters().restored_bytes, 1000u);
  parking_.erase(*found.hit);
  EXPECT_FALSE(parking_.find(session, session.history, 0, true).hit);
}

TEST_F(ParkingTest, MustGiveClearlyMoreThanThereIs) {
  parking_.put(counted(100), bytes(1000));
  Known session(1, 90);
  EXPECT_TRUE(parking_.find(session, session.history, 90 - Parking::kLeast, true).hit);
  EXPECT_FALSE(parking_.find(session, session.history, 91 - Parking::kLeast, true).hit);
}

// Of 1000 tokens that are put back 100 would stay.
TEST_F(ParkingTest, IsNotPutBackForALittleOfIt) {
  parking_.put(counted(1000), bytes(1000));
  Known session(1, 100);
  EXPECT_FALSE(parking_.find(session, session.history, 0, true).hit);
  session.history = counted(200);
  EXPECT_TRUE(parking_.find(session, session.history, 0, true).hit);
}

TEST_F(ParkingTest, WhatIsASessionsOwnNobodyElseFinds) {
  Known session(1, 100), other(2, 100);
  parking_.put_own(session, 80, bytes(500));
  EXPECT_FALSE(parking_.find(other, other.history, 0, true).hit);
  EXPECT_FALSE(parking_.own(other));
  const auto own = parking_.own(session);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->length, 80u);
  parking_.put_own(session, 70, bytes(400));
  EXPECT_EQ(parking_.counters().parked, 1u) << "there is more already";
  parking_.forget_own(session);
  EXPECT_FALSE(parking_.own(session));
}

TEST(NoParking, TakesNothingAndFindsNothing) {
  Parking parking(nullptr);
  Known session(1, 100);
  EXPECT_FALSE(parking.takes(100));
  EXPECT_FALSE(parking.find(session, session.history, 0, true).hit);
  EXPECT_FALSE(parking.own(session));
  parking.forget_own(session);
}

}  // namespace
}  // namespace corral::engine
