// A request that its backend ends because its program made no progress with it.
#include "backends/external/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class StalledRequestTest : public RouterTest {
 protected:
  backends::FakeRequest& request() { return server("a").request(); }
};

// The program of the backend may still serve others, so nothing is waited for and nothing is sent again.
TEST_F(StalledRequestTest, RequestWithoutProgressEndsAtOnceAndIsNotSentAgain) {
  have("a");
  const Error stalled(make_error_code(backends::external::errc::stalled), "no progress for 600 s");
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    request().break_off(stalled);
    settle();
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 504u);
    EXPECT_THAT(response.get().body.text(), HasSubstr("no progress for 600 s"));
    EXPECT_EQ(report().instances.at(0).view.leases, 0u);
  }
  auto begun = forward("a", true);
  request().send("data: 1\n\n");
  settle();
  auto client = reader(begun);
  request().break_off(stalled);
  settle();
  EXPECT_TRUE(client.ended());
  ASSERT_THAT(client.pieces(), SizeIs(2));
  EXPECT_THAT(client.pieces()[1], testing::StartsWith("data: {\"error\":"));
  EXPECT_THAT(client.pieces()[1], HasSubstr("backend_timeout"));
  EXPECT_THAT(server("a").requests(), SizeIs(3));
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

}  // namespace
}  // namespace corral::router
