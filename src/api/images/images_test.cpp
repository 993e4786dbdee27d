// Requests for images: several calls of a backend, URLs, events, and models that are missing.
#include "api/activity/filters.h"
#include "api/api_fixture_for_tests.h"
#include "api/images/filters.h"
#include "api/images/routes.h"
#include "api/inference/inference.h"
#include "api/inference/steps.h"

namespace corral::api {
namespace {

// One pixel.
constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

class ImagesTest : public ApiTest {
 protected:
  // Only the steps around the filter, and a backend that makes `at_most` images at once.
  void serve() {
    const Filter last = [this](CallPtr call, Next) {
      bodies.push_back(call->canonical.body);
      EXPECT_EQ(call->request.id.value(), "req-7");
      return made(call->canonical.body);
    };
    std::vector<http::Route> routes;
    add_inference(routes, context.inference,
                  {{noting_filter(context.core, std::make_shared<ActivityBoard>())},
                   {read_body_step(context.inference), Bodies::json},
                   {parse_body_step(context.inference), Bodies::json},
                   {image_filter(context.images)},
                   {last}});
    add_image_files(routes, context.images);
    const auto none = [](const http::Request&, unsigned status) { return http::Response::json(status, "{}"); };
    handler = std::make_unique<http::RouteTable>(std::move(routes), none);
  }
  async::Task<http::Response> made(std::string asked) {
    if (bodies.size() == fails_at) co_return http::Response::json(500, R"({"error":{"message":"no memory"}})");
    const auto body = json::parse(asked);
    const auto n = static_cast<unsigned>(json::number_or(*body, "n", 0));
    std::string answer = R"({"data":[)";
    for (unsigned i = 0; i < std::min(n, at_most); ++i)
      answer += std::string(i > 0 ? "," : "") + R"({"b64_json":")" + kPng + "\"}";
    co_return http::Response::json(200, answer + "]}");
  }

  std::vector<std::string> bodies;
  unsigned at_most = 10;
  std::size_t fails_at = 0;  // the number of the call; 0: none
};

TEST_F(ImagesTest, ABackendIsAskedUntilAllImagesAreThere) {
  serve();
  auto answer = post("/v1/images/generations", R"({"prompt":"x","n":3,"seed":5})");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(strings(json::find(answer.json(), "data"), "b64_json"), std::vector<std::string>(3, kPng));
  EXPECT_EQ(json::text_or(answer.json(), "size", ""), "1x1");
  EXPECT_THAT(bodies, ElementsAre(R"({"prompt":"x","response_format":"b64_json","n":3,"seed":5})"));
  bodies.clear();
  at_most = 2;
  answer = post("/v1/images/generations", R"({"prompt":"x","n":3,"seed":5})");
  EXPECT_EQ(strings(json::find(answer.json(), "data"), "b64_json").size(), 3u);
  EXPECT_THAT(bodies, ElementsAre(R"({"prompt":"x","response_format":"b64_json","n":3,"seed":5})",
                                  R"({"prompt":"x","response_format":"b64_json","n":1,"seed":7})"));
  at_most = 0;
  answer = post("/v1/images/generations", R"({"prompt":"x"})");
  EXPECT_EQ(answer.status, 502u);
  EXPECT_EQ(answer.error("message"), "the response of the backend has no image");
}

TEST_F(ImagesTest, AUrlLeadsToTheImageForAnHour) {
  serve();
  http::Request request;
  request.head = {"POST", "/api/v1/images/generations", {}};
  request.head.headers.add("Host", "corral.local:8000");
  request.body = http::Body(R"({"prompt":"x","response_format":"url"})");
  request.id = RequestId("req-7");
  const auto answer = finish(*start(std::move(request)));
  const auto urls = strings(json::find(answer.json(), "data"), "url");
  ASSERT_EQ(urls.size(), 1u);
  constexpr std::string_view kHost = "http://corral.local:8000";
  ASSERT_TRUE(urls[0].starts_with(std::string(kHost) + "/api/v1/images/files/")) << urls[0];
  const auto path = urls[0].substr(kHost.size());
  const auto image = get(path);
  EXPECT_EQ(image.status, 200u);
  EXPECT_EQ(image.headers.get("Content-Type"), "image/png");
  EXPECT_TRUE(image.text.starts_with("\x89PNG\r\n"));
  timers.advance(1h);
  const auto gone = get(path);
  EXPECT_EQ(gone.status, 404u);
  EXPECT_EQ(gone.error("code"), "image_not_found");
  EXPECT_EQ(gone.error("message"),
            "there is no such image: this server keeps images for an hour, or until newer ones need the space");
}

TEST_F(ImagesTest, AStreamHasAnEventForEachImage) {
  serve();
  fails_at = 3;
  const auto answer = post("/v1/images/generations", R"({"prompt":"x","n":4,"stream":true})");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_THAT(answer.headers.get("Content-Type"), testing::StartsWith("text/event-stream"));
  std::size_t events = 0;
  for (auto at = answer.text.find("event: image_generation.completed\n"); at != std::string::npos;
       at = answer.text.find("event: image_generation.completed\n", at + 1))
    ++events;
  EXPECT_EQ(events, 2u) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("no memory")) << "the third call failed";
  EXPECT_EQ(bodies.size(), 3u);
  EXPECT_THAT(bodies[2], HasSubstr(R"("n":1)"));
}

TEST_F(ImagesTest, AnErrorOfTheFirstCallHasItsStatus) {
  serve();
  for (const char* stream : {"false", "true"}) {
    fails_at = bodies.size() + 1;
    const auto answer = post("/v1/images/generations", std::string(R"({"prompt":"x","stream":)") + stream + "}");
    EXPECT_EQ(answer.status, 500u);
    EXPECT_EQ(answer.error("message"), "no memory");
  }
}

TEST_F(ImagesTest, WithoutAModelForImagesTheErrorSaysHowToGetOne) {
  constexpr std::string_view kHow =
      " Get one with: curl -L -O https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/resolve/main/"
      "v1-5-pruned-emaonly.safetensors. Then add it to models.toml with recipe = \"sd-cpp\" and its path as "
      "checkpoint; docs/images.md describes each step";
  for (const auto prefix : kPrefixes) {
    const auto path = std::string(prefix) + "images/generations";
    auto answer = post(path, R"({"model":"gpt-image-1","prompt":"x"})");
    EXPECT_EQ(answer.status, 404u);
    EXPECT_EQ(answer.error("code"), "model_not_found");
    EXPECT_EQ(answer.error("param"), "model");
    EXPECT_EQ(answer.error("message"),
              "There is no model 'gpt-image-1' on this server, and no other model for images." + std::string(kHow));
    answer = post(path, R"({"prompt":"x"})");
    EXPECT_EQ(answer.status, 404u);
    EXPECT_EQ(answer.error("message"), "There is no model for images on this server." + std::string(kHow));
    answer = post(path, R"({"model":"tiny-llama","prompt":"x"})");
    EXPECT_EQ(answer.status, 400u);
    EXPECT_EQ(answer.error("code"), "wrong_model_type");
  }
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
