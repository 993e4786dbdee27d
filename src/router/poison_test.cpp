// Requests that end processes: how often they are sent, and what becomes of others beside them.
#include "router/router_fixture.h"

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
  EXPECT_EQ(run(router->metrics()).get().models.at(ModelName("a")).kept_off, 2u);
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

}  // namespace
}  // namespace corral::router
