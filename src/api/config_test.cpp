// The settings of the running server over HTTP. What they do to models in memory is in router/ and tests/integration.
#include "api/api_fixture.h"

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
    context.settings = live_.get();
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
            R"({"value":"1","source":"default","where":"default","default":"1","applies":"now"})");
  EXPECT_EQ(json::text_or(*json::find(rows, "api_key"), "where", ""), "--api-key");
  EXPECT_THAT(answer.text, Not(HasSubstr("secret")));
  EXPECT_EQ(json::text_or(get("/internal/config/defaults").json(), "port", ""), "8000");
}

TEST_F(ConfigTest, SetsAndSaysWhenItCounts) {
  const auto answer = post("/internal/set", R"({"max_loaded_models":2,"ctx_size":1024,"port":9000})");
  EXPECT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(answer.text, R"({"status":"success","updated":{"ctx_size":1024,"max_loaded_models":"2","port":9000},)"
                         R"("applies":{"ctx_size":"next_load","max_loaded_models":"now","port":"restart"}})");
  const auto body = get("/internal/config").json();
  const auto* port = json::find(*json::find(body, "settings"), "port");
  EXPECT_EQ(json::serialize(*json::find(*port, "value")), "8000");
  EXPECT_EQ(json::serialize(*json::find(*port, "after_restart")), "9000");
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
  EXPECT_THAT(get("/v1/health").text, HasSubstr("there is no setting 'prot'"));
}

}  // namespace
}  // namespace corral::api
