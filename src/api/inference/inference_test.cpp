// Which filters a request passes.
#include "api/inference/inference.h"

#include "api/api_fixture_for_tests.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

class InferenceTest : public ApiTest {
 protected:
  InferenceFilter named(std::string name, Bodies bodies) {
    return {[this, name = std::move(name)](CallPtr call, Next next) {
              passed_.push_back(name);
              return next(std::move(call));
            },
            bodies};
  }

  std::vector<std::string> passed_;
};

TEST_F(InferenceTest, EachKindOfBodyPassesItsFilters) {
  const Filter last = [](CallPtr, Next) {
    return refused(Error(make_error_code(protocol::errc::bad_value), "the end"));
  };
  std::vector<http::Route> routes;
  add_inference(routes, context.inference,
                {named("all", Bodies::all), named("json", Bodies::json), named("forms", Bodies::forms), {last}});
  const auto none = [](const http::Request&, unsigned status) { return http::Response::json(status, "{}"); };
  handler = std::make_unique<http::RouteTable>(std::move(routes), none);
  EXPECT_EQ(post("/v1/chat/completions", "{}").error("message"), "the end");
  EXPECT_THAT(passed_, ElementsAre("all", "json"));
  passed_.clear();
  EXPECT_EQ(post("/v1/audio/transcriptions", "").error("message"), "the end");
  EXPECT_THAT(passed_, ElementsAre("all", "forms"));
}

TEST_F(InferenceTest, TheTableEndsWithTheModelForBothKinds) {
  const auto filters = inference_filters(context, std::make_shared<ActivityBoard>());
  ASSERT_FALSE(filters.empty());
  EXPECT_EQ(filters.front().bodies, Bodies::all);
  EXPECT_EQ(filters.back().bodies, Bodies::all);
  for (const auto& row : filters) EXPECT_TRUE(row.filter);
}

}  // namespace
}  // namespace corral::api
