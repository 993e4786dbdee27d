// Parts of other nodes' models, beside the models of this one.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using testing::IsEmpty;
using testing::Not;

class SharesApiTest : public ApiTest {
 protected:
  // A part of "big", for the node "laptop".
  void have_share() {
    share->load_at_once = true;
    share->askable = false;
    router::GroupLoad load{.model = backends::fake_model("share for x", ModelType::llm, "share"), .backend = share};
    load.share = router::ShareOf{"laptop", "big"};
    auto keep = [](router::ModelRouter& router, router::GroupLoad wanted, router::Lease& into) -> async::Task<bool> {
      auto asking = router.groups().acquire(std::move(wanted));
      auto lease = co_await std::move(asking);
      if (lease) into = std::move(*lease);
      co_return lease.has_value();
    };
    const async::SpawnedTask<bool> asking(loop.executor(), "share", keep(router, std::move(load), lease));
    settle();
    ASSERT_TRUE(lease);
  }

  std::shared_ptr<backends::FakeBackend> share = std::make_shared<backends::FakeBackend>(loop.executor(), "share");
  router::Lease lease;
};

TEST_F(SharesApiTest, AShareStandsApartWithWhoseItIs) {
  have_share();
  const auto health = get("/health").json();
  EXPECT_THAT(json::find(health, "all_models_loaded")->get_array(), IsEmpty());
  EXPECT_TRUE(json::find(health, "model_loaded")->is_null());
  ASSERT_EQ(json::find(health, "shares")->get_array().size(), 1u);
  const auto& shown = json::find(health, "shares")->get_array().at(0);
  EXPECT_EQ(json::text_or(shown, "model", ""), "big");
  EXPECT_EQ(json::text_or(shown, "host", ""), "laptop");
  EXPECT_EQ(json::text_or(shown, "status", ""), "in_use");
}

TEST_F(SharesApiTest, NobodyCanAskForOne) {
  have_share();
  const auto refused = post("/v1/completions", R"({"model":"share for x","prompt":"x"})");
  EXPECT_EQ(refused.status, 404u);
  EXPECT_EQ(refused.error("code"), "model_not_found");
  EXPECT_THAT(get("/v1/models").text, Not(testing::HasSubstr("share for")));
  EXPECT_EQ(post("/v1/load", R"({"model_name":"share for x"})").status, 404u);
}

TEST_F(SharesApiTest, MetricsAskItNothing) {
  have_share();
  EXPECT_THAT(get("/metrics").text, Not(testing::HasSubstr("corral_engine_up{model=\"share")));
  EXPECT_EQ(get("/slots").text, "[]");
}

}  // namespace
}  // namespace corral::api
