// Which filters a request passes.
#include "api/inference/inference.h"

#include <string>
#include <string_view>

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

// Through the table of the server.
TEST_F(InferenceTest, DefaultsOfTheServerReachTheBackend) {
  std::string forwarded;
  backend.reply = [&](const backends::FakeServer&, const http::RequestHead&, std::string_view body) {
    forwarded = body;
    return Result<http::Response>(http::Response::json(200, "{}"));
  };
  have("tiny-llama");
  context.filters.request_defaults = R"({"seed":42})";
  const auto chat = [&](std::string more) {
    const std::string body = R"({"model":"tiny-llama","messages":[{"role":"user","content":"hi"}])" + more + "}";
    EXPECT_EQ(post("/v1/chat/completions", body).status, 200u);
    return forwarded;
  };
  EXPECT_THAT(chat(""), HasSubstr(R"("seed":42)"));
  EXPECT_THAT(chat(R"(,"seed":7)"), testing::AllOf(HasSubstr(R"("seed":7)"), testing::Not(HasSubstr("42"))));
}

}  // namespace
}  // namespace corral::api
