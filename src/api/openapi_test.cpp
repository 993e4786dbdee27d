// The description of the API says what the routes and the tables say, no more and no less. Whether it is an OpenAPI
// description at all is asked of a validator (tests/clients/openapi.test.mjs).
#include "api/openapi.h"

#include "api/admin/routes.h"
#include "api/api_fixture_for_tests.h"
#include "api/ollama/routes.h"
#include "api/openai/routes.h"

namespace corral::api {
namespace {

const json::Value& at(const json::Value& from, std::initializer_list<std::string_view> names) {
  const auto* here = &from;
  for (const auto name : names) {
    here = json::find(*here, name);
    if (here == nullptr) {
      ADD_FAILURE() << "there is no " << name;
      return from;
    }
  }
  return *here;
}

TEST_F(ApiTest, TheDescriptionHasEveryRoute) {
  const auto all = get("/openapi.json");
  ASSERT_EQ(all.status, 200u);
  EXPECT_LT(all.text.size(), 256u * 1024);
  EXPECT_EQ(all.text, get("/openapi.json").text);
  const auto description = all.json();
  EXPECT_EQ(json::text_or(description, "openapi", ""), "3.1.0");
  EXPECT_EQ(json::text_or(at(description, {"info"}), "version", ""), "1.2.3");
  std::vector<http::Route> routes;
  add_inference(routes, context.inference, {});
  add_models(routes, context.supply);
  add_health(routes, context.admin);
  add_load(routes, context.admin);
  add_requests(routes, context.core, std::make_shared<ActivityBoard>());
  add_root(routes, context.llama);
  add_ollama_models(routes, context.supply);
  std::size_t found = 0;
  for (auto route : routes) {
    if (route.pattern.starts_with("/api/v") || route.pattern.starts_with("/v0/")) continue;
    if (const auto rest = route.pattern.find("..."); rest != std::string::npos) route.pattern.erase(rest, 3);
    for (auto& c : route.method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    at(description, {"paths", route.pattern, route.method});
    ++found;
  }
  EXPECT_GT(found, 40u);
}

TEST_F(ApiTest, TheDescriptionHasTheFieldsOfBodies) {
  const auto description = get("/openapi.json").json();
  const auto schema = [&](std::string_view path) -> const json::Value& {
    const auto& body = at(description, {"paths", path, "post", "requestBody", "content", "application/json", "schema"});
    const auto name = json::text_or(body, "$ref", "");
    EXPECT_TRUE(name.starts_with("#/components/schemas/")) << path;
    return at(description, {"components", "schemas", name.substr(name.rfind('/') + 1)});
  };
  const auto& chat = schema("/v1/chat/completions");
  EXPECT_EQ(json::serialize(at(chat, {"properties", "temperature", "type"})), R"(["number","null"])");
  EXPECT_EQ(json::number_or(at(chat, {"properties", "top_logprobs"}), "maximum", 0), 20);
  EXPECT_EQ(json::serialize(at(chat, {"required"})), R"(["messages"])");
  EXPECT_EQ(&schema("/chat/completions"), &chat) << "the same table is written once";
  at(schema("/completion"), {"properties", "n_predict"});
  EXPECT_EQ(&schema("/completions"), &schema("/completion"));
  EXPECT_EQ(&schema("/v2/rerank"), &schema("/v1/rerank"));
  at(schema("/api/chat"), {"properties", "keep_alive"});
  at(schema("/v1/load"), {"properties", "ctx_size"});
  at(schema("/v1/messages"), {"properties", "max_tokens"});
  EXPECT_EQ(json::text_or(at(description, {"paths", "/api/chat", "post", "responses", "default"}), "$ref", ""),
            "#/components/responses/OllamaError");
}

TEST_F(ApiTest, TheDescriptionHasWhatMayStandBehindAPath) {
  const auto description = get("/openapi.json").json();
  std::vector<std::string> names;
  const auto& models = at(description, {"paths", "/v1/models", "get", "parameters"});
  for (const auto& one : models.as_array()) {
    EXPECT_EQ(json::text_or(one, "in", ""), "query");
    names.emplace_back(json::text_or(one, "name", ""));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rescan", "show_all", "limit", "after_id", "before_id", "reload"}));
  const auto& events = at(description, {"paths", "/v1/events", "get", "parameters"}).as_array().front();
  EXPECT_EQ(json::serialize(at(events, {"schema", "enum"})), R"(["changes","snapshots"])");
  EXPECT_EQ(get("/v1/events?view=else").status, 400u);
  EXPECT_EQ(json::find(at(description, {"paths", "/v1/health", "get"}), "parameters"), nullptr);
}

}  // namespace
}  // namespace corral::api
