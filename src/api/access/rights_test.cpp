// What each route asks of its callers, over the real routes.
#include "api/access/rights.h"

#include <fstream>

#include "api/access/access_filter.h"
#include "api/admin/routes.h"
#include "api/api_fixture_for_tests.h"
#include "api/images/routes.h"
#include "api/ollama/routes.h"
#include "api/openai/routes.h"
#include "api/responses/routes.h"
#include "api/supply/routes.h"

namespace corral::api {
namespace {

class RightsTest : public ApiTest {
 protected:
  RightsTest() {
    inputs_.environment = [this](std::string_view name) {
      return name == "HOME" ? std::optional(dir.path().string()) : std::nullopt;
    };
    live_ = std::move(*config::LiveSettings::open(inputs_));
    plain_ = config::create_key(keys_file_, "plain", {.inference = true}, 0)->text;
    other_ = config::create_key(keys_file_, "other", {.inference = true}, 0)->text;
    admin_ = config::create_key(keys_file_, "admin", {.admin = true}, 0)->text;
    store_ = std::move(*KeyStore::open(keys_file_, dir.path() / "uses.json", ""));
    context.core.settings = live_.get();
    context.access.keys = store_.get();
    handler = make_api(context);
    use_keys();
  }
  // A filter in front, as in the program.
  void use_keys() {
    inner_ = std::move(handler);
    auto filter = std::make_unique<Keyed>(*inner_, timers, AccessOptions{.keys = store_->table()});
    filter_ = &filter->filter;
    store_->on_change([this](auto keys) { filter_->set({.keys = std::move(keys)}); });
    handler = std::move(filter);
  }
  Answer with(std::string key, std::string method, std::string path, std::string body = {}) {
    key_ = std::move(key);
    auto answer = ask(std::move(method), std::move(path), std::move(body));
    key_.clear();
    return answer;
  }

  // Puts the key into requests.
  struct Keyed final : http::Handler {
    Keyed(http::Handler& inside, const Clock& clock, AccessOptions options)
        : filter(inside, clock, std::move(options)) {}
    async::Task<http::Response> handle(http::Request request) override {
      if (!key_.empty()) request.head.headers.add("x-api-key", key_);
      return filter.handle(std::move(request));
    }
    AccessFilter filter;
  };

  inline static std::string key_;
  const std::filesystem::path keys_file_ = dir.path() / "keys.json";
  config::Inputs inputs_;
  std::unique_ptr<config::LiveSettings> live_;
  std::string plain_, other_, admin_;
  std::unique_ptr<KeyStore> store_;
  std::unique_ptr<http::Handler> inner_;
  AccessFilter* filter_ = nullptr;
};

TEST_F(RightsTest, EveryRouteIsInTheTable) {
  std::vector<http::Route> routes;
  add_inference(routes, context.inference, {});
  add_requests(routes, context.core, std::make_shared<ActivityBoard>());
  add_memory(routes, context.core);
  add_root(routes, context.llama);
  add_image_files(routes, context.images);
  for (auto* add : {add_health, add_load, add_events, add_metrics, add_options, add_config, add_keys, add_mesh,
                    add_stats_history, add_logs})
    add(routes, context.admin);
  for (auto* add : {add_models, add_ollama_models, add_ollama_registry, add_pull, add_downloads, add_removal, add_names,
                    add_import})
    add(routes, context.supply);
  for (auto* add : {add_responses, add_conversations}) add(routes, context.responses);
  ASSERT_GT(routes.size(), 40u);
  for (const auto& route : routes)
    EXPECT_NE(find_rights(route.method, route.pattern), nullptr)
        << route.method << " " << route.pattern << ": add a row to rights.cpp";
}

// Where nodes are and how links to them fail is nobody's business who may only use models, and who is let in even less.
// Names of nodes and what they serve are shown beside the models.
TEST_F(RightsTest, TheMeshIsForAdmins) {
  std::vector<http::Route> routes;
  add_mesh(routes, context.admin);
  ASSERT_FALSE(routes.empty());
  for (const auto& route : routes) EXPECT_EQ(find_rights(route.method, route.pattern)->needs, kAdmin) << route.pattern;
}

struct Row {
  const char* method;
  const char* path;
  const char* body;
  bool inference, admin;  // whether a key with only this scope may
};

TEST_F(RightsTest, KeysMayWhatTheirScopesSay) {
  const Row rows[] = {
      {"GET", "/v1/models", "", true, true},
      {"GET", "/v1/models/tiny-llama", "", true, true},
      {"GET", "/v1/models/tiny-llama/options", "", true, true},
      {"GET", "/v1/stats", "", true, true},
      {"GET", "/v1/memory", "", true, true},
      {"GET", "/v1/logs", "", false, true},
      {"GET", "/metrics", "", true, true},
      {"GET", "/v1/requests", "", true, true},
      {"POST", "/v1/chat/completions", "{}", true, false},
      {"POST", "/api/v0/embeddings", "{}", true, false},
      {"POST", "/v1/tokenize", "{}", true, false},
      {"POST", "/v1/load", "{}", false, true},
      {"POST", "/v1/estimate", "{}", false, true},
      {"POST", "/api/v1/unload", "", false, true},
      {"POST", "/v1/models/tiny-llama/options", "{}", false, true},
      {"DELETE", "/v0/models/tiny-llama/options", "", false, true},
      {"POST", "/internal/pin", "{}", false, true},
      {"POST", "/internal/simulate-vram-pressure", "{}", false, true},
      {"GET", "/internal/config", "", false, true},
      {"HEAD", "/internal/config", "", false, true},
      {"POST", "/internal/set", "{}", false, true},
      {"GET", "/internal/keys", "", false, true},
      {"POST", "/internal/keys", "{}", false, true},
      {"DELETE", "/internal/keys/none", "", false, true},
  };
  for (const auto& row : rows) {
    const auto refused = [&](const std::string& key) { return with(key, row.method, row.path, row.body).status; };
    EXPECT_EQ(refused(""), 401u) << row.path;
    EXPECT_EQ(refused(plain_ + "x"), 401u) << row.path;
    EXPECT_EQ(refused(plain_) != 403u, row.inference) << row.method << row.path;
    EXPECT_EQ(refused(admin_) != 403u, row.admin) << row.method << row.path;
    EXPECT_NE(refused(plain_), 401u);
    EXPECT_NE(refused(admin_), 401u);
  }
  const auto refused = with(plain_, "POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  EXPECT_EQ(refused.error("code"), "insufficient_scope");
  EXPECT_THAT(refused.error("message"), HasSubstr("POST /v1/load needs admin"));
  EXPECT_THAT(with(admin_, "POST", "/v1/chat/completions", "{}").error("message"), HasSubstr("needs inference"));
  expect_untouched();
}

TEST_F(RightsTest, StrangersLearnNothingButThatTheServerLives) {
  for (const auto* path : {"/live", "/v1/live", "/v0/live", "/api/v1/live", "/api/v0/live", "/live?x=1"}) {
    EXPECT_EQ(with("", "GET", path).status, 200u) << path;
    EXPECT_EQ(with("wrong", "GET", path).status, 200u) << path;
  }
  for (const auto* path :
       {"/v1/models", "/LIVE", "/live/../v1/models", "/v1/models?/live", "/no/such/path", "/v1/nothing"})
    EXPECT_EQ(with("", "GET", path).status, 401u) << path;
  for (const auto* method : {"HEAD", "OPTIONS", "PATCH", "GET"})
    EXPECT_EQ(with("", method, "/v1/load").status, 401u) << method;
  EXPECT_EQ(with(plain_, "GET", "/v1/load").status, 405u);
  EXPECT_EQ(with(plain_, "GET", "/no/such/path").status, 404u);
}

TEST_F(RightsTest, OthersRequestsAreAnAdminsBusiness) {
  key_ = plain_;
  auto asking = send("POST", "/v1/chat/completions",
                     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})", "mine");
  key_.clear();
  EXPECT_THAT(with(plain_, "GET", "/v1/requests").text, HasSubstr("\"mine\""));
  EXPECT_THAT(with(admin_, "GET", "/v1/requests").text, HasSubstr("\"mine\""));
  EXPECT_EQ(with(other_, "GET", "/v1/requests").text, R"({"requests":[]})");
  EXPECT_EQ(with(other_, "POST", "/v1/requests/mine/cancel").status, 404u);
  EXPECT_FALSE(got(*asking));
  EXPECT_EQ(with(plain_, "POST", "/v1/requests/mine/cancel").status, 200u);
  EXPECT_EQ(got(*asking)->status, 499u);
}

TEST_F(RightsTest, WithoutAKeyHealthSaysOkOnly) {
  for (const auto* path : {"/health", "/v1/health", "/api/v1/health", "/live", "/v1/live"}) {
    const auto keyless = with("", "GET", path);
    EXPECT_EQ(keyless.status, 200u) << path;
    EXPECT_EQ(keyless.text, R"({"status":"ok"})") << path;
  }
  EXPECT_EQ(with("wrong", "GET", "/health").status, 401u);
  EXPECT_EQ(with("wrong", "GET", "/health").error("code"), "invalid_api_key");
  EXPECT_THAT(with(plain_, "GET", "/health").text, HasSubstr("all_models_loaded"));
  context.inference.given_is_loading = true;
  for (const auto* key : {"", plain_.c_str()}) EXPECT_EQ(with(key, "GET", "/health").status, 503u);
  EXPECT_EQ(with("wrong", "GET", "/health").status, 401u) << "before what it may not know";
}

TEST_F(RightsTest, KeysAreMadeAndRevokedOverHttp) {
  const auto made = with(admin_, "POST", "/internal/keys", R"({"name":"new","scopes":["inference"]})");
  ASSERT_EQ(made.status, 200u) << made.text;
  const std::string key(json::text_or(made.json(), "key", "")), id(json::text_or(made.json(), "id", ""));
  EXPECT_EQ(with(key, "GET", "/v1/health").status, 200u);
  const auto list = with(admin_, "GET", "/internal/keys").text;
  EXPECT_THAT(list, HasSubstr(id));
  EXPECT_THAT(list, testing::Not(HasSubstr("sha256")));
  EXPECT_EQ(with(admin_, "DELETE", "/internal/keys/" + id).status, 200u);
  EXPECT_EQ(with(key, "GET", "/v1/health").status, 401u) << "at once";
  EXPECT_EQ(with(admin_, "DELETE", "/internal/keys/" + id).status, 404u);
  for (const auto* body : {R"({})", R"({"scopes":[]})", R"({"scopes":["root"]})", R"({"scopes":[1]})",
                           R"({"scopes":"admin"})", R"({"scopes":["admin"],"name":"a\nb"})"}) {
    EXPECT_EQ(with(admin_, "POST", "/internal/keys", body).status, 400u) << body;
  }
}

TEST_F(RightsTest, AKeyThatSomebodyElseRevokesIsWorthlessOnceTheFileIsRead) {
  EXPECT_EQ(with(plain_, "GET", "/v1/health").status, 200u);
  ASSERT_TRUE(config::revoke_key(keys_file_, "plain"));
  store_->reread();
  EXPECT_EQ(with(plain_, "GET", "/v1/health").status, 401u);
  std::ofstream(keys_file_) << "nonsense";
  store_->reread();
  EXPECT_EQ(with(plain_, "GET", "/v1/health").status, 401u);
  EXPECT_EQ(with(other_, "GET", "/v1/health").status, 200u) << "the keys did not change";
  std::filesystem::remove(keys_file_);
  store_->reread();
  EXPECT_EQ(with("", "GET", "/v1/models").status, 401u) << "a file that is gone opens nothing";
}

TEST_F(RightsTest, WhenAKeyWasUsedIsKept) {
  EXPECT_EQ(with(plain_, "GET", "/v1/health").status, 200u);
  store_->save_uses();
  const auto uses = config::read_key_uses(dir.path() / "uses.json");
  EXPECT_EQ(uses.size(), 1u);
  const auto again = *KeyStore::open(keys_file_, dir.path() / "uses.json", "");
  EXPECT_EQ(again->table()->uses(), uses);
}

TEST_F(RightsTest, AnOpenServerKeepsItsDoors) {
  inputs_.flags.clear();
  handler = nullptr;
  store_->on_change({});
  auto open = std::make_unique<Keyed>(*inner_, timers, AccessOptions());
  handler = std::move(open);
  EXPECT_EQ(with("", "POST", "/internal/set", R"({"swap_patience":"1s"})").status, 200u);
  EXPECT_EQ(with("", "GET", "/internal/config").status, 200u);
  for (const auto* body :
       {R"({"host":"0.0.0.0"})", R"({"allow_open":true})", R"({"api_key":"mine"})",
        R"({"allowed_origins":"http://evil.com"})", R"({"allowed_hosts":"evil.com"})", R"({"models_dir":["/"]})",
        R"({"runtime_dir":"/tmp"})", R"({"host":null})", R"({"swap_patience":"3s","host":"0.0.0.0"})"}) {
    const auto refused = with("", "POST", "/internal/set", body);
    EXPECT_EQ(refused.status, 403u) << body;
    EXPECT_EQ(refused.error("code"), "admin_key_needed");
    EXPECT_THAT(refused.error("message"),
                testing::EndsWith("' can be changed over HTTP only with a key that has the scope admin: edit the "
                                  "configuration file, which is reread at once, or create a key with corral key create "
                                  "--scope admin; all other requests without a key then get 401, except GET /health "
                                  "and /live"));
  }
  EXPECT_EQ(live_->in_force()->swap_patience, 1s) << "nothing of it was set";
  const auto keys = with("", "GET", "/internal/keys");
  EXPECT_EQ(keys.status, 403u);
  EXPECT_EQ(keys.error("message"),
            "GET /internal/keys needs a key with the scope admin: create one with corral key create --scope admin; all "
            "other requests without a key then get 401, except GET /health and /live");
  EXPECT_EQ(with("", "POST", "/internal/keys", R"({"scopes":["admin"]})").status, 403u);
}

TEST_F(RightsTest, TheLogNamesTheCallerOfAChange) {
  log::set_level(log::Level::info);
  testing::internal::CaptureStderr();
  ASSERT_EQ(with(admin_, "POST", "/v1/models/tiny-llama/options", R"({"ctx_size":512})").status, 200u);
  ASSERT_EQ(with(admin_, "DELETE", "/v1/models/tiny-llama/options").status, 200u);
  const auto made = with(admin_, "POST", "/internal/keys", R"({"scopes":["inference"]})").json();
  const std::string id(json::text_or(made, "id", ""));
  ASSERT_EQ(with(admin_, "DELETE", "/internal/keys/" + id).status, 200u);
  ASSERT_EQ(with(admin_, "POST", "/internal/set", R"({"swap_patience":"1s"})").status, 200u);
  store_->on_change({});
  handler = make_api(context);  // open
  ASSERT_EQ(post("/v1/models/tiny-llama/options", R"({"ctx_size":256})").status, 200u);
  const auto lines = testing::internal::GetCapturedStderr();
  log::set_level(log::Level::none);
  const auto by = "by key " + admin_.substr(7, 8);
  EXPECT_THAT(lines, HasSubstr("options of tiny-llama changed over HTTP " + by));
  EXPECT_THAT(lines, HasSubstr("key " + id + " created over HTTP " + by));
  EXPECT_THAT(lines, HasSubstr("key " + id + " revoked over HTTP " + by));
  EXPECT_THAT(lines, HasSubstr("setting swap_patience changed over HTTP " + by));
  EXPECT_THAT(lines, HasSubstr("options of tiny-llama changed over HTTP by a client without a key"));
}

}  // namespace
}  // namespace corral::api
