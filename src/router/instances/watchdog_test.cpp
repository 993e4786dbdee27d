// Processes that hang: the decision, and what the router makes of it.
#include "router/instances/watchdog.h"

#include <ranges>

#include "backends/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

using Verdict = Watchdog::Verdict;
constexpr Watchdog::Seen kIdle{};
constexpr Watchdog::Seen kBusy{.busy = true};

Watchdog::Seen loading(std::uint64_t work = 0) { return {.loading = true, .work = work}; }

TEST(Watchdog, LoadWithoutProgressHangs) {
  Watchdog watchdog(Millis(8'000));
  EXPECT_EQ(watchdog.pace(), Millis(2'000));
  for (int look = 0; look < 3; ++look) EXPECT_EQ(watchdog.look(loading()), Verdict::fine);
  watchdog.alive();
  for (int look = 0; look < 3; ++look) EXPECT_EQ(watchdog.look(loading()), Verdict::fine);
  EXPECT_EQ(watchdog.look(loading()), Verdict::hung);
}

// Used to be killed while it made a large context, say.
TEST(Watchdog, LoadThatWorksWithoutAWordIsFine) {
  Watchdog watchdog(Millis(8'000));
  for (std::uint64_t work = 1; work < 100; ++work) EXPECT_EQ(watchdog.look(loading(work)), Verdict::fine);
  for (int look = 0; look < 3; ++look) EXPECT_EQ(watchdog.look(loading(99)), Verdict::fine);
  EXPECT_EQ(watchdog.look(loading(99)), Verdict::hung);
}

TEST(Watchdog, BusyProcessIsAskedAndHangsAfterThreeMissedAnswers) {
  Watchdog watchdog(Millis(8'000));
  for (int round = 0; round < 3; ++round) {
    for (int look = 0; look < 2; ++look) {
      EXPECT_EQ(watchdog.look(kBusy), Verdict::ask);
      watchdog.missed();
    }
    EXPECT_EQ(watchdog.look(kBusy), Verdict::ask);
    watchdog.alive();
  }
  for (int look = 0; look < 3; ++look) {
    EXPECT_EQ(watchdog.look(kBusy), Verdict::ask);
    watchdog.missed();
  }
  EXPECT_EQ(watchdog.look(kBusy), Verdict::hung);
}

TEST(Watchdog, IdleProcessIsLeftAlone) {
  Watchdog watchdog(Millis(8'000));
  watchdog.missed();
  watchdog.missed();
  watchdog.missed();
  for (int look = 0; look < 100; ++look) EXPECT_EQ(watchdog.look(kIdle), Verdict::fine);
  EXPECT_EQ(watchdog.look(kBusy), Verdict::ask) << "what was missed before counts no more";
}

TEST(Watchdog, ShortestTimeoutStillHasAPace) { EXPECT_GT(Watchdog(Millis(1)).pace(), Millis(0)); }

class WatchdogRouterTest : public RouterTest {
 protected:
  void SetUp() override {
    RouterTest::SetUp();
    RouterOptions options;
    options.watchdog_timeout = Millis(4'000);
    start(options);
  }
  // The newest request that asks how it is.
  static backends::FakeRequest* asked(const backends::FakeServer& fake) {
    for (const auto& request : std::views::reverse(fake.requests())) {
      if (request->head().target == "/health") return request.get();
    }
    return nullptr;
  }
};

TEST_F(WatchdogRouterTest, LoadThatHangsIsKilledAndTriedAgain) {
  auto a = acquire("a");
  server("a").progress(0.5);
  pass(3'000ms);
  server("a").progress(0.6);
  pass(3'900ms);
  EXPECT_EQ(backend.loads("a"), 1u);
  pass(100ms);
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(a.granted());
}

TEST_F(WatchdogRouterTest, LoadThatWorksWithoutAWordIsLeftAlone) {
  auto a = acquire("a");
  for (int look = 0; look < 20; ++look) {
    server("a").work();
    pass(1'000ms);
  }
  EXPECT_EQ(backend.loads("a"), 1u);
  pass(4'000ms);
  EXPECT_EQ(backend.loads("a"), 2u) << "and is killed when it doesn't any more";
  server("a").finish_load();
  settle();
  EXPECT_TRUE(a.granted());
}

TEST_F(WatchdogRouterTest, LoadThatHangsTwiceIsAnErrorWithItsCause) {
  auto a = acquire("a");
  pass(8'000ms);
  ASSERT_TRUE(a.refused());
  EXPECT_EQ(a.error().code, backends::errc::load_crashed);
  EXPECT_THAT(a.error().message, HasSubstr("no progress"));
  EXPECT_EQ(backend.loads("a"), 2u);
}

TEST_F(WatchdogRouterTest, BusyServerThatAnswersIsLeftAlone) {
  have("a");
  auto answer = forward("a");
  for (int look = 0; look < 20; ++look) {
    pass(1'000ms);
    ASSERT_TRUE(asked(server("a")));
    asked(server("a"))->answer(200, "{}");
    settle();
  }
  EXPECT_TRUE(server("a").alive());
  server("a").requests().front()->answer(200, R"({"x":1})");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

TEST_F(WatchdogRouterTest, BusyServerThatDoesNotAnswerIsReplacedAndAskedAgain) {
  have("a");
  auto answer = forward("a");
  pass(4'000ms);
  settle();
  EXPECT_EQ(backend.loads("a"), 2u) << "the request is repeated";
  server("a").finish_load();
  settle();
  server("a").request().answer(200, R"({"x":1})");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

TEST_F(WatchdogRouterTest, ErrorAfterTheFirstByteTellsTheCause) {
  have("a");
  auto answer = forward("a", true);
  server("a").request().begin_stream();
  server("a").request().send("data: 1\n\n");
  settle();
  auto client = reader(answer);
  pass(5'000ms);
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), HasSubstr("backend_died"));
  EXPECT_THAT(client.text(), HasSubstr("did not respond"));
  EXPECT_THAT(resident(), IsEmpty());
}

// A victim that hangs would keep the load that waits for it waiting for ever.
TEST_F(WatchdogRouterTest, HungVictimMakesRoom) {
  have("a");
  auto answer = forward("a");
  auto b = acquire("b");
  pass(4'000ms);
  EXPECT_EQ(backend.loads("b"), 1u);
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

TEST_F(WatchdogRouterTest, IdleServersAreNotAsked) {
  have("a");
  pass(60'000ms, 1'000ms);
  EXPECT_THAT(server("a").requests(), IsEmpty());
  EXPECT_TRUE(server("a").alive());
}

TEST_F(WatchdogRouterTest, ZeroIsOff) {
  start();
  auto a = acquire("a");
  pass(30'000ms, 1'000ms);
  EXPECT_EQ(backend.loads("a"), 1u);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(a.granted());
  pass(30'000ms, 1'000ms);
  EXPECT_THAT(server("a").requests(), IsEmpty());
}

}  // namespace
}  // namespace corral::router
