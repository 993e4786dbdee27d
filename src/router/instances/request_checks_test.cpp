// Requests that can't succeed evict no model.
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

constexpr const char* kTools = R"({"tools":[]})";
constexpr const char* kFine = R"({"error":{"message":"fine","code":"no_weights"}})";
constexpr const char* kWrong = R"({"error":{"message":"no such rule","code":"invalid_argument","param":"grammar"}})";

class RequestChecksTest : public RouterTest {
 protected:
  void SetUp() override {
    RouterTest::SetUp();
    backend.checks = true;
    have("a");
  }
  backends::FakeServer& checker() { return server("checker of b"); }
  std::size_t checkers() const { return backend.loads("checker of b"); }
  void be_ready() {
    checker().finish_load();
    settle();
  }
  void reply(unsigned status, const char* body) {
    checker().request().answer(status, body);
    settle();
  }
};

TEST_F(RequestChecksTest, WhatIsWrongIsToldAndNobodyGoes) {
  auto answer = forward("b", false, kTools);
  be_ready();
  EXPECT_EQ(checker().request().body(), kTools);
  EXPECT_EQ(checker().request().head().path(), "/v1/chat/completions");
  reply(400, kWrong);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 400u);
  EXPECT_EQ(answer.get().body.text(), kWrong);
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_THAT(resident(), ElementsAre("a"));
}

TEST_F(RequestChecksTest, AStreamThatBeganHearsItAsItsError) {
  auto answer = forward("b", true, kTools);
  pass(1000ms);
  auto read = reader(answer);
  be_ready();
  reply(400, kWrong);
  EXPECT_TRUE(read.ended());
  EXPECT_THAT(read.text(), HasSubstr("no such rule"));
  EXPECT_THAT(resident(), ElementsAre("a"));
}

TEST_F(RequestChecksTest, ARequestWithNothingWrongLoadsItsModel) {
  auto answer = forward("b", false, kTools);
  be_ready();
  reply(503, kFine);
  EXPECT_EQ(backend.loads("b"), 1u);
}

TEST_F(RequestChecksTest, PlainRequestsAndThoseThatEvictNobodyAreNotChecked) {
  auto plain = forward("b", false, R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(backend.loads("b"), 1u);
  auto joins = forward("b", false, kTools);
  auto in_memory = forward("a", false, kTools);
  EXPECT_EQ(checkers(), 0u);
}

TEST_F(RequestChecksTest, WhereThereIsRoomForBothNothingIsChecked) {
  router->change(slots(2));
  auto answer = forward("b", false, kTools);
  EXPECT_EQ(checkers(), 0u);
  EXPECT_EQ(backend.loads("b"), 1u);
}

TEST_F(RequestChecksTest, OneCheckerServesAllRequestsToItsModelAndEndsWhenIdle) {
  auto first = forward("b", false, kTools);
  auto second = forward("b", false, kTools);
  be_ready();
  EXPECT_EQ(checker().running(), 2u);
  for (const auto& request : checker().requests()) request->answer(400, kWrong);
  settle();
  EXPECT_TRUE(first.done() && second.done());
  EXPECT_TRUE(checker().alive());
  pass(121s, 1s);
  EXPECT_FALSE(checker().alive());
  EXPECT_EQ(checkers(), 1u);
}

TEST_F(RequestChecksTest, ACheckerThatEndedWhileItWasIdleIsReplaced) {
  auto first = forward("b", false, kTools);
  be_ready();
  reply(400, kWrong);
  checker().die();
  auto second = forward("b", false, kTools);
  EXPECT_EQ(checkers(), 2u);
  be_ready();
  reply(503, kFine);
  EXPECT_EQ(backend.loads("b"), 1u);
}

TEST_F(RequestChecksTest, ARequestThatEndsItsCheckerIsNotSentAgain) {
  auto answer = forward("b", false, kTools);
  be_ready();
  checker().die("killed by signal 11 (SIGSEGV)");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 502u);
  EXPECT_THAT(answer.get().body.text(), HasSubstr("backend_died"));
  EXPECT_EQ(checkers(), 1u);
  EXPECT_THAT(resident(), ElementsAre("a"));
}

TEST_F(RequestChecksTest, WhatCannotBeCheckedIsLeftToTheLoad) {
  auto late = forward("b", false, kTools);
  be_ready();
  pass(10s, 1s);
  EXPECT_EQ(backend.loads("b"), 1u);
  auto unchecked = forward("c", false, kTools);
  server("checker of c").fail_load(Error(make_error_code(backends::errc::load_failed), "no"));
  settle();
  EXPECT_EQ(report().snapshot.queue.size(), 1u);
}

TEST_F(RequestChecksTest, WhoWaitsForACheckerIsLetGoAtTheEnd) {
  auto waiting = forward("b", false, kTools);
  EXPECT_EQ(checkers(), 1u);
}

}  // namespace
}  // namespace corral::router
