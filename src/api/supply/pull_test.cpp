// Fetching models over the API: from a hub on the loopback, by the real downloads on their thread.
#include <atomic>
#include <map>
#include <string>

#include "api/access/rights.h"
#include "api/supply/supply_fixture_for_tests.h"

namespace corral::api {
namespace {

using downloads::Trouble;

constexpr const char* kModel = R"({"model_name":"org/repo:Q4_K_M"})";
constexpr const char* kStreamed = R"({"model_name":"org/repo:Q4_K_M","stream":true})";

class PullTest : public SupplyTest {};

TEST_F(PullTest, AModelThatWasFetchedIsThereAtOnce) {
  EXPECT_EQ(get("/v1/models/org/repo:Q4_K_M").status, 404u);
  const auto answer = post("/v1/pull", kModel);
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "org/repo:Q4_K_M");
  EXPECT_EQ(answer.json().at("download").at("percent").as_int64(), 100);
  EXPECT_EQ(get("/v1/models/org/repo:Q4_K_M").status, 200u);
  EXPECT_EQ(json::text_or(download("org/repo:Q4_K_M"), "status", ""), "completed");
  expect_untouched();
}

// It was fetched, and then "its folder is not scanned".
TEST_F(PullTest, TwoFilesWithTheSameContentAreBothFound) {
  hub.add("x-Q6_K.gguf", gguf("llama", 'y'));
  for (const std::string name : {"org/repo:Q8_0", "org/repo:Q6_K"}) {
    const auto answer = post("/v1/pull", R"({"model_name":")" + name + "\"}");
    ASSERT_EQ(answer.status, 200u) << answer.text;
    const auto given = std::string(json::text_or(answer.json(), "model_name", ""));
    EXPECT_EQ(get("/v1/models/" + given).status, 200u) << given;
    EXPECT_EQ(get("/v1/models/" + name).status, 200u) << name;
  }
  EXPECT_EQ(hub.sent, gguf("llama", 'y').size());
}

TEST_F(PullTest, AStreamSaysWhatItTakesHowFarItIsAndThatItIsDone) {
  const auto answer = post("/v1/pull", kStreamed);
  ASSERT_EQ(answer.status, 200u) << answer.text;
  const auto plan = event(answer, "plan");
  EXPECT_EQ(json::text_or(plan, "checkpoint", ""), "org/repo:Q4_K_M");
  EXPECT_EQ(plan.at("bytes_to_fetch"), plan.at("bytes_total"));
  EXPECT_TRUE(plan.at("memory").at("fits").as_bool());
  EXPECT_TRUE(plan.at("disk").at("fits").as_bool());
  const auto complete = event(answer, "complete");
  EXPECT_EQ(json::text_or(complete, "status", ""), "completed") << answer.text;
  EXPECT_EQ(complete.at("overall_bytes_downloaded"), complete.at("total_download_size"));
  // The second time there is nothing to fetch.
  EXPECT_EQ(event(post("/v1/pull", kStreamed), "plan").at("bytes_to_fetch").as_int64(), 0);
}

TEST_F(PullTest, ADryRunFetchesNothing) {
  memory = 1;
  const auto answer = post("/v1/pull", R"({"model_name":"org/repo:Q8_0","dry_run":true})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "variant", ""), "Q8_0");
  EXPECT_FALSE(answer.json().at("memory").at("fits").as_bool());
  EXPECT_EQ(get("/v1/downloads").text, "[]");
  EXPECT_EQ(hub.sent, 0u);
}

TEST_F(PullTest, WhatCantBeFetchedIsRefusedWithAStatus) {
  for (const auto& [body, status, code] : {
           std::tuple("{}", 400u, "missing_required_parameter"),
           std::tuple(R"({"model_name":"no name"})", 400u, "bad_model_source"),
           std::tuple(R"({"model_name":"org/other"})", 404u, "model_not_found"),
           std::tuple(R"({"model_name":"org/repo:Q2_K"})", 404u, "model_file_not_found"),
           std::tuple(R"({"model_name":"org/repo","dry_rum":true})", 400u, "unsupported_value"),
           std::tuple(R"({"model_name":"org/repo","recipe":"flm"})", 400u, "invalid_value"),
       }) {
    const auto answer = post("/v1/pull", body);
    EXPECT_EQ(answer.status, status) << body << answer.text;
    EXPECT_EQ(answer.error("code"), code) << body;
  }
  hub.gated_code = "GatedRepo";
  EXPECT_EQ(post("/v1/pull", kModel).error("code"), "model_gated");
  EXPECT_EQ(get("/v1/downloads").text, "[]");
}

TEST_F(PullTest, AClientThatLeavesPausesIt) {
  hub.trouble = [] { return Trouble::stall; };
  auto asking = send("POST", "/v1/pull", kModel);
  while (hub.stalled == 0) loop.context().run_one();
  asking.reset();
  until_status("org/repo:Q4_K_M", "paused");
  hub.trouble = [] { return Trouble::none; };
  EXPECT_EQ(post("/v1/pull", kModel).status, 200u);
}

TEST_F(PullTest, ADetachedOneGoesOnByItself) {
  const auto answer = post("/v1/pull", R"({"model_name":"org/repo","subscribe":false,"stream":true})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "id", ""), "model:org/repo");
  until_status("org/repo", "completed");
}

TEST_F(PullTest, ADownloadIsPausedGoesOnAndIsTakenAway) {
  hub.trouble = [] { return Trouble::stall; };
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo","subscribe":false})").status, 200u);
  while (hub.stalled == 0) loop.context().run_one();
  const auto order = [&](const char* action) {
    return post("/v1/downloads/control", fmt::format(R"({{"id":"model:org/repo","action":"{}"}})", action));
  };
  EXPECT_EQ(json::text_or(order("pause").json(), "status", ""), "paused");
  EXPECT_EQ(order("resume").status, 200u);
  EXPECT_EQ(json::text_or(order("cancel").json(), "status", ""), "cancelled");
  EXPECT_EQ(order("pause").error("code"), "download_in_use");
  EXPECT_EQ(json::text_or(order("remove").json(), "status", ""), "removed");
  EXPECT_EQ(order("cancel").error("code"), "download_not_found");
  EXPECT_EQ(post("/v1/downloads/control", R"({"id":"model:x","action":"stop"})").status, 400u);
  EXPECT_EQ(get("/v1/downloads").text, "[]");
}

TEST_F(PullTest, APauseEndsWhoWaits) {
  hub.trouble = [] { return Trouble::stall; };
  auto asking = send("POST", "/v1/pull", kModel);
  while (hub.stalled == 0) loop.context().run_one();
  post("/v1/downloads/control", R"({"model_name":"org/repo:Q4_K_M","action":"pause"})");
  EXPECT_EQ(finish(*asking).error("code"), "download_paused");
}

TEST_F(PullTest, WhatThereIsToChooseFrom) {
  const auto answer = get("/v1/pull/variants?checkpoint=org/repo");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  const auto body = answer.json();
  EXPECT_EQ(body.at("variants").as_array().size(), 2u);
  EXPECT_EQ(json::text_or(body, "usual", ""), "Q4_K_M");
  EXPECT_NE(json::text_or(body, "suggested", ""), "");
  EXPECT_EQ(get("/v1/pull/variants?checkpoint=https://x.test/y.gguf").status, 400u);
  EXPECT_EQ(get("/v1/registry/search?query=").error("param"), "query");
  EXPECT_EQ(get("/v1/registry/search?query=x&limit=1000").error("param"), "limit");
}

TEST_F(PullTest, OfflineNothingGoesOut) {
  download_manager.set_offline(true);
  const auto answer = post("/v1/pull", kModel);
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.error("code"), "offline");
  EXPECT_EQ(get("/v1/pull/variants?checkpoint=org/repo").error("code"), "offline");
  EXPECT_EQ(get("/v1/registry/search?query=x").error("code"), "offline");
  EXPECT_EQ(post("/v1/pull", R"({"model_name":"tiny-llama"})").status, 200u);
  EXPECT_TRUE(hub.requests.empty());
}

TEST_F(PullTest, AFetchedModelMayHaveAnotherName) {
  const auto answer = post("/v1/pull", R"({"model_name":"user.mine","checkpoint":"org/repo:Q8_0","vision":true})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "mine");
  EXPECT_THAT(get("/v1/models/mine").text, HasSubstr("\"vision\""));
  const auto taken = post("/v1/pull", R"({"model_name":"tiny-llama","checkpoint":"org/repo:Q8_0"})");
  EXPECT_EQ(taken.error("code"), "name_taken");
}

TEST_F(PullTest, AKnownNameIsFetchedAndFoundByThatName) {
  const auto variants = get("/v1/pull/variants?checkpoint=little-4b");
  EXPECT_EQ(variants.status, 200u) << variants.text;
  const auto answer = post("/v1/pull", R"({"model_name":"Little-4B"})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "org/repo:Q4_K_M");
  EXPECT_THAT(get("/v1/models/little-4b").text, HasSubstr(R"("id":"org/repo:Q4_K_M")"));
  // Without a hub as well.
  download_manager.set_offline(true);
  EXPECT_EQ(post("/v1/pull", R"({"model_name":"little-4b"})").status, 200u);
}

// Programs pull the models of a list without a look at what is here.
TEST_F(PullTest, AModelOfThisDiskWithoutASourceNeedsNoPull) {
  const auto answer = post("/v1/pull", R"({"model_name":"tiny-llama"})");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.text, R"({"status":"success","model_name":"tiny-llama"})");
  const auto streamed = post("/v1/pull", R"({"model_name":"Tiny-Llama","stream":true})");
  EXPECT_EQ(json::text_or(event(streamed, "complete"), "model_name", ""), "tiny-llama") << streamed.text;
  EXPECT_EQ(post("/v1/pull", R"({"model_name":"tiny-lama"})").error("code"), "bad_model_source");
  EXPECT_TRUE(hub.requests.empty());
}

TEST_F(PullTest, CheckpointsAreTakenAndAnotherProjectorIsRefused) {
  const auto answer = post("/v1/pull", R"({"model_name":"user.mine","checkpoints":{"main":"org/repo:Q8_0"}})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "mine");
  const auto refused = post("/v1/pull", R"({"model_name":"org/repo:Q8_0","mmproj":"mmproj-F16.gguf"})");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(refused.error("message"),
            "'mmproj' cannot be 'mmproj-F16.gguf': this pull downloads 'x-Q8_0.gguf'. Omit 'mmproj'");
  EXPECT_EQ(post("/v1/pull", R"({"model_name":"m","checkpoints":{"vae":"x/y"}})").error("param"), "checkpoints");
}

TEST_F(PullTest, TheProjectorMayBeLeftOut) {
  hub.add("mmproj-F16.gguf", "not read here");
  const auto plan = [this](const std::string& more) {
    return post("/v1/pull", R"({"model_name":"org/repo:Q8_0","dry_run":true)" + more + "}").text;
  };
  EXPECT_THAT(plan(""), HasSubstr("mmproj-F16.gguf"));
  EXPECT_THAT(plan(R"(,"no_mmproj":false)"), HasSubstr("mmproj-F16.gguf"));
  EXPECT_THAT(plan(R"(,"no_mmproj":true)"), testing::Not(HasSubstr("mmproj-F16.gguf")));
  EXPECT_EQ(
      post("/v1/pull", R"({"model_name":"org/repo","mmproj":"mmproj-F16.gguf","no_mmproj":true})").error("message"),
      "'no_mmproj' cannot be combined with 'mmproj': omit one of them");
}

TEST_F(PullTest, AWrongNameGetsAWayOn) {
  const auto close = post("/v1/pull", R"({"model_name":"little-4"})");
  EXPECT_EQ(close.status, 400u);
  EXPECT_EQ(close.error("message"),
            "'little-4' is not a model to download, and not a known name. Did you mean 'little-4b'? Search "
            "with: corral search little-4. Or name a repository: org/repo:QUANT.");
  EXPECT_THAT(post("/v1/pull", R"({"model_name":"llama3.2:1b"})").error("message"),
              HasSubstr("For a model of Ollama's library: ollama.com/library/llama3.2:1b. Search with: corral "
                        "search llama3.2."));
}

TEST_F(PullTest, EventsTellOfDownloads) {
  auto listening = send("GET", "/v1/events");
  ASSERT_EQ(post("/v1/pull", kModel).status, 200u);
  const auto attached = router.attach(event_source);
  hub.trouble = [] { return Trouble::stall; };
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0","subscribe":false})").status, 200u);
  until_status("org/repo:Q8_0", "downloading");
  std::string state;
  json::Writer out(state);
  out.begin_object();
  event_source.state()->write(out);
  out.end_object();
  EXPECT_THAT(state, HasSubstr("model:org/repo:Q8_0"));
  EXPECT_THAT(get("/metrics").text, HasSubstr(R"(corral_downloads{status="downloading"} 1)"));
  EXPECT_THAT(get("/v1/models?show_all=true").text, HasSubstr(R"("status":{"value":"downloading"})"));
}

// `corral list --all --json` had fewer models than its table.
TEST_F(PullTest, AllModelsAreThoseHereThoseThatComeAndKnownOnes) {
  const auto all = [&] {
    std::map<std::string, std::string> states;
    const auto list = get("/v1/models?show_all=true").json();
    for (const auto& model : list.at("data").as_array())
      states[std::string(json::text_or(model, "id", ""))] = json::text_or(model.at("status"), "value", "");
    return states;
  };
  const auto own = get("/v1/models").json().at("data").as_array().size();
  EXPECT_EQ(all()["little-4b"], "not_downloaded");
  EXPECT_EQ(all().size(), own + 1);
  hub.trouble = [] { return Trouble::stall; };
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"little-4b","subscribe":false})").status, 200u);
  EXPECT_EQ(all()["little-4b"], "downloading");
  EXPECT_EQ(all().size(), own + 1);
  ASSERT_EQ(post("/v1/downloads/control", R"({"id":"model:org/repo:Q4_K_M","action":"cancel"})").status, 200u);
  EXPECT_EQ(all()["little-4b"], "not_downloaded");
  hub.trouble = [] { return Trouble::none; };
  ASSERT_EQ(post("/v1/pull", kModel).status, 200u);
  EXPECT_EQ(all().count("little-4b"), 0u);
  EXPECT_EQ(all()["org/repo:Q4_K_M"], "unloaded");
  hub.trouble = [] { return Trouble::stall; };
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0","subscribe":false})").status, 200u);
  EXPECT_EQ(all()["org/repo:Q8_0"], "downloading");
  EXPECT_EQ(all().size(), own + 2);
}

TEST_F(PullTest, ARequestHasItsModelFetchedWhereThatIsAllowed) {
  const char* chat = R"({"model":"org/repo:Q4_K_M","messages":[{"role":"user","content":"hi"}]})";
  const auto refused = post("/v1/chat/completions", chat);
  EXPECT_EQ(refused.status, 404u);
  EXPECT_THAT(refused.error("message"),
              testing::EndsWith(". Download it from the hub with: corral pull org/repo:Q4_K_M"));
  supply.auto_pull = true;
  auto asking = send("POST", "/v1/chat/completions", chat);
  while (backend.servers().empty()) loop.context().run_one();
  backend.server("org/repo:Q4_K_M").finish_load();
  settle();
  backend.server("org/repo:Q4_K_M").request().answer(200, R"({"choices":[]})");
  EXPECT_EQ(finish(*asking).status, 200u);
  // Who may not fetch may not have it fetched.
  http::Request request;
  request.head = {"POST", "/v1/chat/completions", {}};
  request.body = http::Body(std::string(R"({"model":"org/repo:Q8_0","messages":[{"role":"user","content":"hi"}]})"));
  request.id = RequestId("req-9");
  request.caller = {.rights = kInference, .key = "a key"};
  EXPECT_EQ(finish(*start(std::move(request))).status, 404u);
}

TEST_F(PullTest, ALoadHasItsModelFetchedAsAChatDoes) {
  EXPECT_EQ(post("/v1/load", R"({"model_name":"org/repo:Q4_K_M"})").status, 404u);
  supply.auto_pull = true;
  for (const char* body : {R"({"model_name":"little-4b"})", R"({"model_name":"org/repo:Q8_0","stream":true})"}) {
    const auto before = backend.servers().size();
    auto asking = send("POST", "/v1/load", body);
    while (backend.servers().size() == before) loop.context().run_one();
    const auto name = before == 0 ? "org/repo:Q4_K_M" : "org/repo:Q8_0";
    backend.server(name).finish_load();
    const auto answer = finish(*asking);
    EXPECT_EQ(answer.status, 200u) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(R"("model_name":")") + name));
  }
  EXPECT_EQ(post("/v1/load", R"({"model_name":"org/nothing:Q8_0"})").error("code"), "model_not_found");
}

TEST_F(PullTest, AnEmbeddingFetchesNoModelThatIsKnownToChat) {
  supply.auto_pull = true;
  for (const char* name : {"little-4b", "org/repo:Q4_K_M"}) {
    const auto refused = post("/v1/embeddings", std::string(R"({"input":"x","model":")") + name + R"("})");
    EXPECT_EQ(refused.status, 400u) << refused.text;
    EXPECT_EQ(refused.error("code"), "wrong_model_type");
  }
  EXPECT_TRUE(hub.requests.empty());
}

TEST_F(PullTest, OllamasClientsPullCopyAndDelete) {
  const auto pulled = post("/api/pull", R"({"model":"org/repo:Q4_K_M"})");
  ASSERT_EQ(pulled.status, 200u) << pulled.text;
  EXPECT_EQ(pulled.headers.get("Content-Type"), "application/x-ndjson");
  EXPECT_THAT(pulled.text, testing::StartsWith("{\"status\":\"pulling manifest\"}\n"));
  EXPECT_THAT(pulled.text, HasSubstr(R"("digest":"sha256:)"));
  EXPECT_THAT(pulled.text, testing::EndsWith("{\"status\":\"success\"}\n"));
  EXPECT_EQ(post("/api/copy", R"({"source":"org/repo:Q4_K_M","destination":"mine"})").status, 200u);
  EXPECT_EQ(get("/v1/models/mine").status, 200u);
  EXPECT_EQ(ask("DELETE", "/api/delete", R"({"model":"mine"})").status, 200u);
  EXPECT_EQ(get("/v1/models/mine").status, 404u);
  EXPECT_EQ(get("/v1/models/org/repo:Q4_K_M").status, 200u);
  EXPECT_EQ(ask("DELETE", "/api/delete", R"({"model":"org/repo:Q4_K_M"})").status, 200u);
  EXPECT_EQ(get("/v1/models/org/repo:Q4_K_M").status, 404u);
}

}  // namespace
}  // namespace corral::api
