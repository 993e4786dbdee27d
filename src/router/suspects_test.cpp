#include "router/suspects.h"

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/timer.h"

namespace corral::router {
namespace {

using namespace std::chrono_literals;

class SuspectsTest : public testing::Test {
 protected:
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  Suspects suspects{timers};
  static Ending end(std::uint64_t process, std::size_t requests = 1) { return {"it ended", process, requests}; }
};

TEST_F(SuspectsTest, OneEndIsForgivenASecondOneIsNot) {
  EXPECT_FALSE(suspects.any());
  EXPECT_TRUE(suspects.note(7, end(1)));
  EXPECT_EQ(suspects.kept_off(7), std::nullopt);
  EXPECT_FALSE(suspects.note(7, end(2)));
  EXPECT_EQ(suspects.kept_off(7), 60s);
  EXPECT_EQ(suspects.kept_off(8), std::nullopt);
  timers.advance(60s);
  EXPECT_EQ(suspects.kept_off(7), std::nullopt);
  EXPECT_FALSE(suspects.note(7, end(3))) << "one try, and no second";
  EXPECT_EQ(suspects.kept_off(7), 120s);
}

TEST_F(SuspectsTest, OneThatWasAnsweredIsSuspectedNoMore) {
  EXPECT_TRUE(suspects.note(7, end(1)));
  suspects.forget(7);
  EXPECT_TRUE(suspects.note(7, end(2)));
}

TEST_F(SuspectsTest, CopiesOfARequestAreOneRequest) {
  for (int copy = 0; copy < 10; ++copy) EXPECT_TRUE(suspects.note(7, end(1, 10)));
  for (int copy = 0; copy < 10; ++copy) EXPECT_FALSE(suspects.note(7, end(2, 10)));
  EXPECT_TRUE(suspects.kept_off(7));
}

TEST_F(SuspectsTest, WhoOnlyStoodByIsNotKeptOff) {
  suspects.note(7, end(1, 32));
  EXPECT_FALSE(suspects.note(7, end(2, 32)));
  EXPECT_EQ(suspects.kept_off(7), std::nullopt);
}

TEST_F(SuspectsTest, OldOnesAreForgottenAndTheListHasAnEnd) {
  suspects.note(7, end(1));
  timers.advance(2h);
  for (std::uint64_t key = 100; key < 3000; ++key) suspects.note(key, end(key));
  EXPECT_TRUE(suspects.note(7, end(2))) << "its first end is forgotten";
}

TEST_F(SuspectsTest, AKeyIsOfModelPathAndBody) {
  const auto key = Suspects::key_of(ModelName("a"), "/v1/completions", "{}");
  EXPECT_EQ(key, Suspects::key_of(ModelName("a"), "/v1/completions", "{}"));
  EXPECT_NE(key, Suspects::key_of(ModelName("b"), "/v1/completions", "{}"));
  EXPECT_NE(key, Suspects::key_of(ModelName("a"), "/v1/embeddings", "{}"));
  EXPECT_NE(key, Suspects::key_of(ModelName("a"), "/v1/completions", "{ }"));
}

}  // namespace
}  // namespace corral::router
