#include "router/forward/request_quarantine.h"

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/timer.h"

namespace corral::router {
namespace {

using namespace std::chrono_literals;

class RequestQuarantineTest : public testing::Test {
 protected:
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  RequestQuarantine quarantine{timers};
  static UpstreamExit end(std::uint64_t process, std::size_t requests = 1) { return {"it ended", process, requests}; }
};

TEST_F(RequestQuarantineTest, OneEndIsForgivenASecondOneIsNot) {
  EXPECT_FALSE(quarantine.any());
  EXPECT_TRUE(quarantine.note(7, end(1)));
  EXPECT_EQ(quarantine.quarantined(7), std::nullopt);
  EXPECT_FALSE(quarantine.note(7, end(2)));
  EXPECT_EQ(quarantine.quarantined(7), 60s);
  EXPECT_EQ(quarantine.quarantined(8), std::nullopt);
  timers.advance(60s);
  EXPECT_EQ(quarantine.quarantined(7), std::nullopt);
  EXPECT_FALSE(quarantine.note(7, end(3))) << "one try, and no second";
  EXPECT_EQ(quarantine.quarantined(7), 120s);
}

TEST_F(RequestQuarantineTest, OneThatWasAnsweredIsSuspectedNoMore) {
  EXPECT_TRUE(quarantine.note(7, end(1)));
  quarantine.forget(7);
  EXPECT_TRUE(quarantine.note(7, end(2)));
}

TEST_F(RequestQuarantineTest, CopiesOfARequestAreOneRequest) {
  for (int copy = 0; copy < 10; ++copy) EXPECT_TRUE(quarantine.note(7, end(1, 10)));
  for (int copy = 0; copy < 10; ++copy) EXPECT_FALSE(quarantine.note(7, end(2, 10)));
  EXPECT_TRUE(quarantine.quarantined(7));
}

TEST_F(RequestQuarantineTest, WhoOnlyStoodByIsNotKeptOff) {
  quarantine.note(7, end(1, 32));
  EXPECT_FALSE(quarantine.note(7, end(2, 32)));
  EXPECT_EQ(quarantine.quarantined(7), std::nullopt);
}

TEST_F(RequestQuarantineTest, OldOnesAreForgottenAndTheListHasAnEnd) {
  quarantine.note(7, end(1));
  timers.advance(2h);
  for (std::uint64_t key = 100; key < 3000; ++key) quarantine.note(key, end(key));
  EXPECT_TRUE(quarantine.note(7, end(2))) << "its first end is forgotten";
}

TEST_F(RequestQuarantineTest, AKeyIsOfModelPathAndBody) {
  const auto key = RequestQuarantine::key_of(ModelName("a"), "/v1/completions", "{}");
  EXPECT_EQ(key, RequestQuarantine::key_of(ModelName("a"), "/v1/completions", "{}"));
  EXPECT_NE(key, RequestQuarantine::key_of(ModelName("b"), "/v1/completions", "{}"));
  EXPECT_NE(key, RequestQuarantine::key_of(ModelName("a"), "/v1/embeddings", "{}"));
  EXPECT_NE(key, RequestQuarantine::key_of(ModelName("a"), "/v1/completions", "{ }"));
}

}  // namespace
}  // namespace corral::router
