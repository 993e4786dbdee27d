// The settings of the running server over HTTP. What they do to models in memory is in router/ and tests/integration.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

class ConfigTest : public ApiTest {
 protected:
  ConfigTest() {
    inputs_.environment = [this](std::string_view name) {
      return name == "HOME" ? std::optional(dir.path().string()) : std::nullopt;
    };
    inputs_.flags["api_key"] = {"secret"};
    live_ = std::move(*config::LiveSettings::open(inputs_));
    context.core.settings = live_.get();
    handler = make_api(context);
  }

  config::Inputs inputs_;
  std::unique_ptr<config::LiveSettings> live_;
};

TEST_F(ConfigTest, ShowsEveryValueWithItsOrigin) {
  const auto answer = get("/internal/config");
  ASSERT_EQ(answer.status, 200u);
  const auto body = answer.json();
  const auto& rows = *json::find(body, "settings");
  for (const auto& option : config::options()) EXPECT_NE(json::find(rows, option.key), nullptr) << option.key;
  EXPECT_EQ(json::serialize(*json::find(rows, "max_loaded_models")),
            R"({"value":1,"source":"default","where":"default","default":"1","applies":"now"})");
  EXPECT_EQ(json::text_or(*json::find(rows, "api_key"), "where", ""), "--api-key");
  EXPECT_THAT(answer.text, Not(HasSubstr("secret")));
  EXPECT_EQ(json::text_or(get("/internal/config/defaults").json(), "port", ""), "8000");
}

TEST_F(ConfigTest, DescribesEverySettingOnRequest) {
  const auto body = get("/internal/config?describe=true").json();
  const auto& rows = *json::find(body, "settings");
  for (const auto& option : config::options()) {
    const auto& row = *json::find(rows, option.key);
    EXPECT_EQ(json::text_or(row, "meaning", ""), option.help) << option.key;
    EXPECT_EQ(json::text_or(row, "group", ""), config::title(option.group)) << option.key;
    EXPECT_EQ(json::text_or(row, "expects", ""), config::expectation(option)) << option.key;
  }
  EXPECT_THAT(strings(json::find(*json::find(rows, "model_type"), "choices")),
              ElementsAre("auto", "llm", "embedding", "reranking"));
  EXPECT_NE(json::find(*json::find(rows, "api_key"), "secret"), nullptr);
  EXPECT_NE(json::find(*json::find(rows, "state_dir"), "settable"), nullptr);
  EXPECT_EQ(json::find(*json::find(rows, "port"), "settable"), nullptr);
  EXPECT_EQ(get("/internal/config?describe=1").status, 400u);
}

TEST_F(ConfigTest, SetsAndSaysWhenItCounts) {
  const auto answer = post("/internal/set", R"({"max_loaded_models":2,"ctx_size":1024,"port":9000})");
  EXPECT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(answer.text, R"({"status":"success","updated":{"ctx_size":1024,"max_loaded_models":2,"port":9000},)"
                         R"("applies":{"ctx_size":"next_load","max_loaded_models":"now","port":"restart"}})");
  const auto body = get("/internal/config").json();
  const auto* port = json::find(*json::find(body, "settings"), "port");
  EXPECT_EQ(json::serialize(*json::find(*port, "value")), "8000");
  EXPECT_EQ(json::serialize(*json::find(*port, "after_restart")), "9000");
}

TEST_F(ConfigTest, WhatIsSetKeepsItsKind) {
  const auto value = [this](std::string_view key) {
    const auto body = get("/internal/config").json();
    return json::serialize(*json::find(*json::find(*json::find(body, "settings"), key), "value"));
  };
  const auto answer =
      post("/internal/set", R"({"evict_idle_timeout":90,"swap_patience":"3s","max_loaded_models":[5,2]})");
  EXPECT_THAT(answer.text,
              HasSubstr(R"("updated":{"evict_idle_timeout":90,"max_loaded_models":[5,2],"swap_patience":"3s"})"));
  EXPECT_EQ(value("evict_idle_timeout"), "90");
  EXPECT_EQ(value("swap_patience"), "\"3s\"");
  EXPECT_EQ(value("max_loaded_models"), "[5,2]");
  EXPECT_THAT(post("/internal/set", R"({"evict_idle_timeout":null})").text, HasSubstr(R"("evict_idle_timeout":"5m")"));
  EXPECT_EQ(post("/internal/set", R"({"evict_idle_timeout":-1})").status, 200u);
  EXPECT_EQ(live_->in_force()->evict_idle_timeout, config::kNever);
}

TEST_F(ConfigTest, DottedAndNestedKeysMeanTheFlatOnes) {
  for (const auto* body :
       {R"({"llamacpp_backend":"cpu","llamacpp_args":"-np 2"})",
        R"({"llamacpp.backend":"cpu","llamacpp.args":"-np 2"})", R"({"llamacpp":{"backend":"cpu","args":"-np 2"}})"}) {
    const auto answer = post("/internal/set", body);
    EXPECT_THAT(answer.text, HasSubstr(R"("updated":{"llamacpp_args":"-np 2","llamacpp_backend":"cpu"})")) << body;
    EXPECT_EQ(post("/internal/set", R"({"llamacpp":{"backend":null,"args":null}})").status, 200u);
  }
  const auto unknown = post("/internal/set", R"({"llamacpp":{"backent":"cpu"}})");
  EXPECT_EQ(unknown.status, 400u);
  EXPECT_EQ(unknown.error("param"), "llamacpp.backent");
  EXPECT_THAT(unknown.error("message"), HasSubstr("did you mean 'llamacpp_backend'?"));
  const auto twice = post("/internal/set", R"({"llamacpp.backend":"cpu","llamacpp_backend":"auto"})");
  EXPECT_EQ(twice.status, 400u);
  EXPECT_EQ(twice.error("param"), "llamacpp_backend");
  EXPECT_EQ(live_->in_force()->llamacpp_backend, "auto");
}

TEST_F(ConfigTest, RefusalsNameTheKeyAndTheStatusFits) {
  struct Row {
    std::string body;
    unsigned status;
    std::string code, param;
  };
  const Row rows[] = {
      {"nonsense", 400, "malformed_json", ""},
      {"[]", 400, "invalid_type", ""},
      {"{}", 400, "invalid_type", ""},
      {R"({"prot":1})", 400, "unknown_setting", "prot"},
      {R"({"llamacpp":{"ctx_size":0e4740}})", 400, "invalid_number", "llamacpp.ctx_size"},
      {R"({"llamacpp":{}})", 400, "unknown_setting", "llamacpp"},
      {R"({"max_loaded_models":0})", 400, "invalid_setting", "max_loaded_models"},
      {R"({"parallel":{"a":1}})", 400, "invalid_setting", "parallel"},
      {R"({"host":"0.0.0.0","api_key":"other"})", 409, "setting_fixed", "api_key"},
      {R"({"state_dir":"/elsewhere"})", 409, "setting_fixed", "state_dir"},
  };
  for (const auto& row : rows) {
    const auto answer = post("/internal/set", row.body);
    EXPECT_EQ(answer.status, row.status) << row.body << answer.text;
    if (!row.param.empty()) {
      EXPECT_EQ(answer.error("code"), row.code) << row.body;
      EXPECT_EQ(answer.error("param"), row.param) << row.body;
    }
  }
}

TEST_F(ConfigTest, HealthTellsThatTheFileIsBroken) {
  EXPECT_THAT(get("/v1/health").text, HasSubstr(R"("configuration_problem":null)"));
  std::filesystem::create_directories(live_->file().parent_path());
  std::ofstream(live_->file()) << "prot = 1\n";
  live_->reread(config::LiveSettings::Gone::keeps_the_values);
  EXPECT_THAT(get("/v1/health").text, HasSubstr("unknown setting 'prot'"));
}

}  // namespace
}  // namespace corral::api
