// Requests that end processes: how often they are sent, and what becomes of others beside them.
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class PoisonTest : public RouterTest {
 protected:
  backends::FakeRequest& request(const std::string& name) { return server(name).request(); }
  // Its process ends, the next one loads.
  void end_and_reload(const std::string& name) {
    server(name).die();
    settle();
    server(name).finish_load();
    settle();
  }
};

// Each time it was sent anew it took two more with it.
TEST_F(PoisonTest, ARequestThatEndedTwoProcessesIsNotSentToAThird) {
  for (const bool stream : {false, true}) {
    have("a");
    const auto before = backend.loads("a");
    const std::string body = stream ? R"({"poison":1,"stream":true})" : R"({"poison":1})";
    auto first = forward("a", stream, body);
    end_and_reload("a");
    server("a").die();
    settle();
    ASSERT_TRUE(first.done());
    EXPECT_EQ(first.get().head.status, 502u);
    auto again = forward("a", stream, body);
    ASSERT_TRUE(again.done());
    EXPECT_EQ(again.get().head.status, 503u);
    EXPECT_EQ(again.get().head.headers.get("Retry-After"), "60");
    EXPECT_THAT(again.get().body.text(), HasSubstr("request_ended_backend"));
    EXPECT_EQ(backend.loads("a"), before + 1) << "nothing is loaded for it";
    pass(70'000ms, 10'000ms);
    have("a");
    pass(61'000ms, 10'000ms);
    const auto unloaded = unload("a");
    EXPECT_TRUE(unloaded.done());
  }
  EXPECT_EQ(run(router->metrics()).get().models.at(ModelName("a")).quarantined, 2u);
}

// Copies that waited for the second process went to a third.
TEST_F(PoisonTest, CopiesOfOneThatWaitForTheNextProcessAreNotSentEither) {
  have("a");
  std::vector<Pending<http::Response>> copies;
  for (int i = 0; i < 3; ++i) copies.push_back(forward("a", false, R"({"poison":1})"));
  server("a").die();
  settle();
  for (int i = 0; i < 3; ++i) copies.push_back(forward("a", false, R"({"poison":1})"));
  server("a").finish_load();
  settle();
  server("a").die();
  settle();
  if (backend.loads("a") == 3) server("a").finish_load();
  settle();
  EXPECT_EQ(server("a").running(), 0u);
  for (auto& copy : copies) {
    ASSERT_TRUE(copy.done());
    EXPECT_THAT(copy.get().head.status, testing::AnyOf(502u, 503u));
  }
}

TEST_F(PoisonTest, OthersGoOnBesideARequestThatIsKeptOff) {
  have("a");
  auto poison = forward("a", false, R"({"poison":1})");
  end_and_reload("a");
  server("a").die();
  settle();
  auto good = forward("a", false, R"({"good":1})");
  server("a").finish_load();
  settle();
  request("a").answer(200, "{}");
  settle();
  ASSERT_TRUE(good.done());
  EXPECT_EQ(good.get().head.status, 200u);
}

// A process that was dead before it had read a request says nothing about it.
class UnreadTest : public PoisonTest {
 protected:
  using Phase = backends::RequestPhase;
  // It ends by a signal, and says that it was working on this.
  void die_with(const std::string& name, std::map<std::string, Phase> requests) {
    server(name).last_work = backends::LastWork{.by_signal = true, .requests = std::move(requests)};
    server(name).die();
    settle();
  }
  void reload(const std::string& name) {
    server(name).finish_load();
    settle();
  }
};

TEST_F(UnreadTest, IsSentAgainAndCountsForNothing) {
  for (int time = 0; time < 6; ++time) {
    have("a");
    auto asking = forward("a", time % 2 == 1, R"({"same":1})");
    die_with("a", {});
    reload("a");
    request("a").answer(200, "{}");
    settle();
    ASSERT_TRUE(asking.done()) << time;
    EXPECT_EQ(asking.get().head.status, 200u) << time;
  }
}

TEST_F(UnreadTest, IsSentAgainBesideOneThatWasRead) {
  have("a");
  auto culprit = forward("a", false, R"({"poison":1})");
  ForwardRequest other{.model = model("a"), .body = R"({"good":1})", .id = RequestId("req-2")};
  auto innocent = run(answered(forwarder->forward(std::move(other))));
  die_with("a", {{"req-1", Phase::read}});
  reload("a");
  ASSERT_TRUE(culprit.done());
  EXPECT_EQ(culprit.get().head.status, 502u);
  request("a").answer(200, "{}");
  settle();
  ASSERT_TRUE(innocent.done());
  EXPECT_EQ(innocent.get().head.status, 200u);
}

TEST_F(UnreadTest, LoadsNoProcessAfterTheOtherThatEndsUnasked) {
  have("a");
  auto asking = forward("a");
  for (int time = 0; time < 3; ++time) {
    die_with("a", {});
    reload("a");
  }
  EXPECT_FALSE(asking.done());
  die_with("a", {});
  ASSERT_TRUE(asking.done());
  EXPECT_EQ(asking.get().head.status, 502u);
}

// It may have ended its process, and would end the next one.
TEST_F(UnreadTest, OneWhoseProcessASignalEndedWhileItWasPreparedIsNotSentAgain) {
  for (const bool stream : {false, true}) {
    have("a");
    const auto before = backend.loads("a");
    auto asking = forward("a", stream, stream ? R"({"stream":true})" : "{}");
    die_with("a", {{"req-1", Phase::read}});
    ASSERT_TRUE(asking.done());
    EXPECT_EQ(asking.get().head.status, 502u);
    EXPECT_THAT(asking.get().body.text(), HasSubstr("backend_died"));
    EXPECT_EQ(backend.loads("a"), before);
  }
}

TEST_F(UnreadTest, OneThatWasBeingAnsweredIsSentAgainOnce) {
  have("a");
  auto asking = forward("a");
  die_with("a", {{"req-1", Phase::prepared}});
  reload("a");
  die_with("a", {{"req-1", Phase::prepared}});
  ASSERT_TRUE(asking.done());
  EXPECT_EQ(asking.get().head.status, 502u);
}

TEST_F(UnreadTest, ASuccessEndsSuspicion) {
  for (int time = 0; time < 4; ++time) {
    have("a");
    auto asking = forward("a", false, R"({"same":1})");
    die_with("a", {{"req-1", Phase::prepared}});
    reload("a");
    server("a").report({});
    request("a").answer(200, "{}");
    settle();
    ASSERT_TRUE(asking.done()) << time;
    EXPECT_EQ(asking.get().head.status, 200u) << time;
  }
}

}  // namespace
}  // namespace corral::router
