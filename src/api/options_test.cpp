// Options of one model over HTTP.
#include "api/api_fixture.h"

namespace corral::api {
namespace {

using OptionsApiTest = ApiTest;

std::string part(const Answer& answer, std::string_view name) {
  const auto body = answer.json();
  const auto* found = json::find(body, name);
  return found ? json::serialize(*found) : "none: " + answer.text;
}

TEST_F(OptionsApiTest, SavedEffectiveAndDefaults) {
  const auto set = post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"llamacpp_args":"-np 2 -c 99"})");
  ASSERT_EQ(set.status, 200u) << set.text;
  for (const auto prefix : kPrefixes) {
    const auto answer = get(std::string(prefix) + "models/tiny-llama/options");
    EXPECT_EQ(part(answer, "model_name"), "\"tiny-llama\"");
    EXPECT_EQ(part(answer, "saved"), R"({"ctx_size":512,"parallel":2})");
    EXPECT_EQ(part(answer, "effective"),
              R"({"ctx_size":512,"parallel":2,"threads":0,"gpu_layers":-1,"llamacpp_backend":""})");
    EXPECT_EQ(part(answer, "sources"),
              R"({"ctx_size":"saved","parallel":"saved","threads":"default","gpu_layers":"default",)"
              R"("llamacpp_backend":"default"})");
    EXPECT_EQ(part(answer, "problem"), "null");
  }
  EXPECT_EQ(part(post("/v1/models/tiny-llama/options", R"({"ctx_size":null})"), "saved"), R"({"parallel":2})");
  EXPECT_EQ(part(ask("DELETE", "/v1/models/tiny-llama/options"), "saved"), "{}");
  expect_untouched();
}

TEST_F(OptionsApiTest, ADryRunSavesNothing) {
  have("tiny-llama");
  const auto dry = post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"dry_run":true})");
  EXPECT_THAT(part(dry, "effective"), HasSubstr(R"("ctx_size":512)"));
  EXPECT_EQ(part(dry, "needs_reload"), "true");
  const auto after = get("/v1/models/tiny-llama/options");
  EXPECT_EQ(part(after, "saved"), "{}");
  EXPECT_EQ(part(after, "needs_reload"), "false");
}

TEST_F(OptionsApiTest, NamesWithSlashesAndColons) {
  EXPECT_EQ(get("/v1/models/org/repo:Q8_0/options").error("code"), "model_not_found");
  EXPECT_THAT(get("/v1/models/org/repo:Q8_0/options").error("message"), HasSubstr("org/repo:Q8_0"));
  EXPECT_EQ(get("/v1/models/user.tiny-llama:latest/options").status, 200u);
}

TEST_F(OptionsApiTest, RefusalsNameTheField) {
  struct Row {
    std::string body, code, param;
  };
  const Row rows[] = {
      {R"({"ctx_sise":1})", "unsupported_value", "ctx_sise"},
      {R"({"park_dir":"/x"})", "unsupported_value", "park_dir"},
      {R"({"stream":true})", "unsupported_value", "stream"},
      {R"({"pinned":true})", "unsupported_value", "pinned"},
      {R"({"ctx_size":"big"})", "invalid_type", "ctx_size"},
      {R"({"parallel":0})", "invalid_value", "parallel"},
      {R"({"evict_weight_factor":0})", "invalid_value", "evict_weight_factor"},
      {R"({"lora":[1]})", "invalid_type", "lora[0]"},
      {R"({"llamacpp_args":"--port 1"})", "invalid_setting", "llamacpp_args"},
      {R"({"dry_run":1})", "invalid_type", "dry_run"},
  };
  for (const auto& row : rows) {
    const auto answer = post("/v1/models/tiny-llama/options", row.body);
    EXPECT_EQ(answer.status, 400u) << row.body;
    EXPECT_EQ(answer.error("code"), row.code) << row.body;
    EXPECT_EQ(answer.error("param"), row.param) << row.body;
  }
  EXPECT_THAT(post("/v1/models/tiny-llama/options", R"({"ctx_sise":1})").error("message"),
              HasSubstr("did you mean 'ctx_size'?"));
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "saved"), "{}");
}

TEST_F(OptionsApiTest, LoadTakesSavesAndMapsOptions) {
  auto loading = send("POST", "/v1/load",
                      R"({"model_name":"tiny-llama","llamacpp_args":"-c 512","auto_evict":true,)"
                      R"("evict_idle_timeout":1.5,"save_options":true})");
  EXPECT_EQ(backend.server("tiny-llama").options().ctx_size, 512);
  EXPECT_EQ(backend.server("tiny-llama").options().evict_idle_timeout, Millis(1500));
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(got(*loading)->status, 200u);
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "saved"),
            R"({"ctx_size":512,"auto_evict":true,"evict_idle_timeout":1.5})");
  EXPECT_EQ(post("/v1/load", R"({"model_name":"tiny-qwen3","llamacpp_args":"--hf-repo x"})").status, 400u);
}

TEST_F(OptionsApiTest, NullInALoadLeavesOutWhatIsSaved) {
  EXPECT_EQ(post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"parallel":3})").status, 200u);
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama","ctx_size":null})");
  EXPECT_EQ(backend.server("tiny-llama").options().ctx_size, -1);
  EXPECT_EQ(backend.server("tiny-llama").options().parallel, 3);
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(got(*loading)->status, 200u);
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "saved"), R"({"ctx_size":512,"parallel":3})");
}

TEST_F(OptionsApiTest, AMisspeltOptionOfALoadIsNotPassedOver) {
  for (const auto* path : {"/v1/load", "/v1/estimate"}) {
    for (const std::string name : {"ctxsize", "ctx-size", "ctxSize", "ctx_sise", "save_option"}) {
      const auto refused = post(path, R"({"model_name":"tiny-llama",")" + name + R"(":1})");
      EXPECT_EQ(refused.status, 400u) << name;
      EXPECT_THAT(refused.text, HasSubstr("'" + name + "'"));
      EXPECT_THAT(refused.text, HasSubstr("did you mean"));
    }
  }
  expect_untouched();
}

TEST_F(OptionsApiTest, OtherRecipesOptionsPass) {
  auto loading =
      send("POST", "/v1/load",
           R"({"model_name":"tiny-llama","whispercpp_backend":"cpu","steps":4,"cfg_scale":1,"merge_args":true,)"
           R"("flm_args":"","recipe":"llamacpp","checkpoint":"x:y"})");
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(got(*loading)->status, 200u);
}

}  // namespace
}  // namespace corral::api
