// Options of one model over HTTP.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using OptionsApiTest = ApiTest;

std::string part(const Answer& answer, std::string_view name) {
  const auto body = answer.json();
  const auto* found = json::find(body, name);
  return found ? json::serialize(*found) : "none: " + answer.text;
}

TEST_F(OptionsApiTest, SavedEffectiveAndDefaults) {
  const auto set = post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"llamacpp_args":"-np 2  -c 99"})");
  ASSERT_EQ(set.status, 200u) << set.text;
  for (const auto prefix : kPrefixes) {
    const auto answer = get(std::string(prefix) + "models/tiny-llama/options");
    EXPECT_EQ(part(answer, "model_name"), "\"tiny-llama\"");
    EXPECT_EQ(part(answer, "saved"), R"({"ctx_size":512,"llamacpp_args":"-np 2  -c 99"})") << "as it was given";
    EXPECT_EQ(part(answer, "effective"),
              R"({"ctx_size":512,"parallel":2,"threads":0,"gpu_layers":-1,"llamacpp_backend":"",)"
              R"("llamacpp_args":"-np 2  -c 99","model_name":"tiny-llama"})");
    EXPECT_EQ(part(answer, "sources"),
              R"({"ctx_size":"saved","parallel":"saved","threads":"default","gpu_layers":"default",)"
              R"("llamacpp_backend":"default","llamacpp_args":"saved"})");
    EXPECT_EQ(part(answer, "problem"), "null");
    EXPECT_EQ(part(answer, "resolved_ctx_size"), "512");
  }
  EXPECT_EQ(part(get("/v1/models/tiny-llama"), "recipe_options"), R"({"ctx_size":512,"llamacpp_args":"-np 2  -c 99"})");
  EXPECT_EQ(part(get("/v1/models/tiny-qwen3"), "recipe_options"), "{}");
  EXPECT_EQ(part(post("/v1/models/tiny-llama/options", R"({"ctx_size":null})"), "saved"),
            R"({"llamacpp_args":"-np 2  -c 99"})");
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "resolved_ctx_size"), "99");
  EXPECT_EQ(part(ask("DELETE", "/v1/models/tiny-llama/options"), "saved"), "{}");
  expect_untouched();
}

TEST_F(OptionsApiTest, TheContextIsThatOfTheLoadOrWhatOneWouldGive) {
  const auto trained = get("/v1/models/tiny-llama").json();
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "resolved_ctx_size"),
            json::serialize(*json::find(trained, "context_length")));
  have("tiny-llama");
  const auto loaded = json::find(get("/v1/health").json(), "all_models_loaded")->at(0);
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "resolved_ctx_size"),
            json::serialize(loaded.at("max_context_window")));
  EXPECT_EQ(part(post("/v1/models/tiny-llama/options", R"({"ctx_size":77,"dry_run":true})"), "resolved_ctx_size"),
            "77");
  const auto has = json::serialize(loaded.at("max_context_window"));
  EXPECT_EQ(part(get("/v1/models/tiny-llama"), "max_context_window"), has);
  // What is saved counts from the next load on.
  EXPECT_EQ(part(post("/v1/models/tiny-llama/options", R"({"ctx_size":77})"), "resolved_ctx_size"), has);
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "resolved_ctx_size"), has);
}

TEST_F(OptionsApiTest, ADryRunSavesNothing) {
  have("tiny-llama");
  EXPECT_EQ(post("/v1/models/tiny-llama/options", R"({"parallel":3})").status, 200u);
  const auto dry = post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"dry_run":true})");
  EXPECT_THAT(part(dry, "effective"), HasSubstr(R"("ctx_size":512)"));
  EXPECT_THAT(part(dry, "sources"), HasSubstr(R"("ctx_size":"request","parallel":"saved")"));
  EXPECT_EQ(part(dry, "needs_reload"), "true");
  EXPECT_EQ(part(dry, "saved"), R"({"parallel":3})") << "what is saved, not what would be";
  EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "saved"), R"({"parallel":3})");
}

// Absent: what is saved; null: not what is saved; a text, also an empty one: that.
TEST_F(OptionsApiTest, WhatALoadSaysOfFlags) {
  EXPECT_EQ(post("/v1/models/tiny-llama/options", R"({"llamacpp_args":"-np 2 -t 3"})").status, 200u);
  struct Row {
    std::string more;
    std::optional<std::int64_t> parallel, threads;
  };
  const Row rows[] = {
      {"", 2, 3},
      {R"(,"llamacpp_args":null)", 16, 0},
      {R"(,"llamacpp_args":"")", 16, 0},
      {R"(,"llamacpp_args":"-np 5")", 5, 0},
      {R"(,"llamacpp_args":"-np 5","parallel":6)", 6, 0},
      {R"(,"threads":7)", 2, 7},
  };
  for (const auto& row : rows) {
    auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama")" + row.more + "}");
    const auto& options = backend.server("tiny-llama").options();
    EXPECT_EQ(options.parallel, row.parallel) << row.more;
    EXPECT_EQ(options.threads, row.threads) << row.more;
    backend.server("tiny-llama").finish_load();
    settle();
    EXPECT_EQ(got(*loading)->status, 200u);
    EXPECT_EQ(part(get("/v1/models/tiny-llama/options"), "saved"), R"({"llamacpp_args":"-np 2 -t 3"})");
    EXPECT_EQ(post("/v1/unload", "{}").status, 200u);
  }
}

TEST_F(OptionsApiTest, FlagsOfALoadTakeThePlaceOfSavedOnesAndOfWhatTheyName) {
  EXPECT_EQ(post("/v1/models/tiny-llama/options", R"({"ctx_size":512,"threads":2,"llamacpp_args":"-np 2"})").status,
            200u);
  const auto now = post("/v1/models/tiny-llama/options", R"({"llamacpp_args":"-c 99"})");
  EXPECT_EQ(part(now, "saved"), R"({"threads":2,"llamacpp_args":"-c 99"})");
  EXPECT_THAT(part(now, "effective"), HasSubstr(R"("ctx_size":99)"));
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
      {R"({"evict_weight_factor":-1})", "invalid_value", "evict_weight_factor"},
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

TEST_F(OptionsApiTest, AnyWeightAboveZeroWill) {
  for (const auto* weight : {"1e-300", "0.001", "1000", "12345", "1e300"}) {
    const auto set = post("/v1/models/tiny-llama/options", std::string(R"({"evict_weight_factor":)") + weight + "}");
    EXPECT_EQ(set.status, 200u) << weight << set.text;
  }
  EXPECT_THAT(post("/v1/models/tiny-llama/options", R"({"evict_weight_factor":0})").error("message"),
              HasSubstr("a number above 0"));
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
            R"({"auto_evict":true,"evict_idle_timeout":1.5,"llamacpp_args":"-c 512"})");
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

TEST_F(OptionsApiTest, AnUnknownOptionOfALoadIsRefusedAndTheNearestIsNamed) {
  const std::pair<std::string, std::string> rows[] = {
      {"ctxsize", "ctx_size"},
      {"ctx-size", "ctx_size"},
      {"ctxSize", "ctx_size"},
      {"ctx_sise", "ctx_size"},
      {"save_option", "save_options"},
      {"context_size", "ctx_size"},
      {"whispercpp_backend", ""},
      {"steps", "threads"},
      {"park_dir", ""},
  };
  for (const auto* path : {"/v1/load", "/v1/estimate"}) {
    for (const auto& [name, meant] : rows) {
      const auto refused = post(path, R"({"model_name":"tiny-llama",")" + name + R"(":1})");
      EXPECT_EQ(refused.status, 400u) << name;
      EXPECT_EQ(refused.error("code"), "unsupported_value") << name;
      EXPECT_EQ(refused.error("param"), name);
      EXPECT_THAT(refused.error("message"), HasSubstr("unknown option '" + name + "'"));
      if (name != "steps" && name != "park_dir" && !meant.empty())
        EXPECT_THAT(refused.error("message"), HasSubstr("did you mean '" + meant + "'?"));
    }
    const auto endless = post(path, R"({"model_name":"tiny-llama",")" + std::string(60'000, 'x') + R"(":1})");
    EXPECT_EQ(endless.status, 400u);
    EXPECT_LT(endless.text.size(), 1000u);
  }
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
