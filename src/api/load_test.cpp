// Loads, unloads and pins that a client asks for, and what it is answered.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using testing::StartsWith;

// ---- load

TEST_F(ApiTest, LoadAnswersWhenTheModelIsThere) {
  auto loading = send("POST", "/api/v1/load",
                      R"({"model_name":"tiny-llama","ctx_size":512,"llamacpp_backend":"cpu",)"
                      R"("speculative":4,"draft_model":"/a/b.gguf"})");
  EXPECT_FALSE(got(*loading));
  EXPECT_EQ(backend.server("tiny-llama").options().ctx_size, 512);
  EXPECT_EQ(backend.server("tiny-llama").options().llamacpp_backend, "cpu");
  EXPECT_EQ(backend.server("tiny-llama").options().speculative, 4);
  EXPECT_EQ(backend.server("tiny-llama").options().draft_model, "/a/b.gguf");
  backend.server("tiny-llama").finish_load();
  settle();
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  const auto body = answer->json();
  EXPECT_EQ(json::text_or(body, "status", ""), "success");
  EXPECT_EQ(json::text_or(body, "model_name", ""), "tiny-llama");
  EXPECT_EQ(json::text_or(body, "recipe", ""), "llamacpp");
  EXPECT_THAT(std::string(json::text_or(body, "checkpoint", "")), HasSubstr("tiny-llama.gguf"));
}

TEST_F(ApiTest, LoadThatFailsSaysWhy) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  for (int i = 0; i < 2; ++i) {
    backend.server("tiny-llama").fail_load({make_error_code(backends::errc::load_failed), "unknown architecture"});
    settle();
  }
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500u);
  EXPECT_EQ(answer->error("code"), "model_load_error");
  EXPECT_THAT(answer->error("message"), HasSubstr("unknown architecture"));
}

TEST_F(ApiTest, StreamedLoadTellsProgressThenComplete) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama","stream":true})");
  backend.server("tiny-llama").progress(0.5);
  pass(250ms);
  backend.server("tiny-llama").finish_load();
  settle();
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "text/event-stream");
  EXPECT_THAT(
      answer->text,
      StartsWith("event: progress\ndata: {\"model\":\"tiny-llama\",\"stage\":\"loading\",\"progress\":0.5}\n\n"));
  EXPECT_THAT(answer->text, HasSubstr("event: complete\ndata: {\"status\":\"success\""));
  EXPECT_THAT(answer->text, testing::EndsWith("\n\n"));
}

TEST_F(ApiTest, StreamedLoadThatFailsLaterEndsInAnErrorEvent) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama","stream":true})");
  pass(250ms);
  backend.server("tiny-llama").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
  settle();
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200u);
  EXPECT_THAT(answer->text, HasSubstr("event: error\ndata: {\"error\":{\"message\":\"the file is gone\""));
  EXPECT_THAT(answer->text, testing::Not(HasSubstr("complete")));
}

TEST_F(ApiTest, StreamedLoadThatIsRefusedAtOnceHasAStatus) {
  have("tiny-llama");
  EXPECT_EQ(post("/internal/pin", R"({"model":"tiny-llama","pinned":true})").status, 200u);
  for (const auto* body : {R"({"model_name":"tiny-qwen3","stream":true})", R"({"model_name":"tiny-qwen3"})"}) {
    const auto answer = post("/v1/load", body);
    EXPECT_EQ(answer.status, 409u);
    EXPECT_EQ(answer.error("code"), "slots_pinned_error");
  }
}

TEST_F(ApiTest, StreamedLoadOfAResidentModelIsComplete) {
  have("tiny-llama");
  const auto answer = post("/v1/load", R"({"model_name":"tiny-llama","stream":true})");
  EXPECT_EQ(answer.headers.get("Content-Type"), "text/event-stream");
  EXPECT_THAT(answer.text, StartsWith("event: complete\n"));
}

TEST_F(ApiTest, ClientThatLeavesAStreamedLoadAbortsIt) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama","stream":true})");
  pass(250ms);
  loading.reset();
  settle();
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ApiTest, LoadOfAModelInMemoryIsMarked) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  backend.server("tiny-llama").finish_load();
  settle();
  const auto first = got(*loading);
  ASSERT_TRUE(first);
  EXPECT_FALSE(json::bool_or(first->json(), "already_loaded", true));
  EXPECT_TRUE(json::bool_or(post("/v1/load", R"({"model_name":"tiny-llama"})").json(), "already_loaded", false));
  EXPECT_THAT(post("/v1/load", R"({"model_name":"tiny-llama","stream":true})").text,
              HasSubstr(R"("already_loaded":true)"));
}

// ---- unload

TEST_F(ApiTest, UnloadByNameAndByOtherNames) {
  for (const auto* body :
       {R"({"model_name":"tiny-llama"})", R"({"model":"tiny-llama"})", R"({"model_name":"Tiny-LLAMA"})"}) {
    have("tiny-llama");
    const auto answer = post("/v1/unload", body);
    EXPECT_EQ(answer.status, 200u) << body;
    EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "tiny-llama");
    EXPECT_THAT(backend.alive(), IsEmpty());
  }
}

// It used to unload everything.
TEST_F(ApiTest, UnloadWithAMisspeltNameUnloadsNobody) {
  have("tiny-llama");
  const auto answer = post("/v1/unload", R"({"modelname":"tiny-llama"})");
  EXPECT_EQ(answer.status, 400u);
  EXPECT_EQ(answer.error("param"), "modelname");
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
  EXPECT_EQ(post("/v1/unload", R"({"model_name":"tiny-llama","reason":"done"})").status, 200u) << "it names one";
}

TEST_F(ApiTest, UnloadWithoutANameUnloadsAllAndSaysWhatStillDrains) {
  for (const auto* body : {"", "{}", R"({"model_name":null})"}) {
    have("tiny-embed");
    have("tiny-llama");
    auto chat =
        send("POST", "/v1/chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})");
    const auto answer = post("/v1/unload", body).json();
    EXPECT_THAT(strings(json::find(answer, "unloaded")), ElementsAre("tiny-embed"));
    EXPECT_THAT(strings(json::find(answer, "draining")), ElementsAre("tiny-llama"));
    backend.server("tiny-llama").request().answer(200, "{}");
    settle();
    EXPECT_EQ(got(*chat)->status, 200u);
    EXPECT_THAT(backend.alive(), IsEmpty());
  }
}

TEST_F(ApiTest, MalformedUnloadUnloadsNobody) {
  have("tiny-llama");
  for (const auto* body : {"{", "[]", "7", "{\"model_name\":7}", "{\"model_name\":\"\"}", "model_name=tiny-llama"}) {
    EXPECT_EQ(post("/v1/unload", body).status, 400u) << body;
  }
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
}

// ---- pin

TEST_F(ApiTest, PinAndUnpin) {
  have("tiny-llama");
  for (const bool pinned : {true, true, false}) {
    const auto answer =
        post("/internal/pin", std::string(R"({"model_name":"Tiny-Llama","pinned":)") + (pinned ? "true}" : "false}"));
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(json::text_or(answer.json(), "model_name", ""), "tiny-llama");
    EXPECT_EQ(json::bool_or(answer.json(), "pinned", !pinned), pinned);
    const auto health = get("/health").json();
    EXPECT_EQ(json::number_or(*json::find(health, "pinned_models"), "llm", 7), pinned ? 1 : 0);
  }
}

TEST_F(ApiTest, PinThatMakesNoSenseIs400) {
  have("tiny-llama");
  for (const auto* body : {"", "{", "{}", R"({"pinned":true})", R"({"model":"tiny-llama"})",
                           R"({"model":"tiny-llama","pinned":"yes"})", R"({"model":"tiny-qwen3","pinned":true})"}) {
    EXPECT_EQ(post("/internal/pin", body).status, 400u) << body;
  }
}

TEST_F(ApiTest, APinThatIsWrongIsToldInLemonadesWords) {
  const auto refusal = [this](const char* body) { return post("/internal/pin", body).error("message"); };
  EXPECT_THAT(refusal("{invalid json"), StartsWith("Invalid JSON body: not valid JSON"));
  EXPECT_EQ(refusal(R"({"pinned":true})"),
            "Parameter 'model' or 'model_name' is required: the name of a model, see /v1/models");
  EXPECT_EQ(refusal(R"({"model":"tiny-llama"})"),
            "Parameter 'pinned' is required and must be a boolean: 'pinned' is required: true or false");
  EXPECT_EQ(refusal(R"({"model":"tiny-llama","pinned":"true"})"),
            "Parameter 'pinned' is required and must be a boolean: 'pinned' must be true or false, not \"true\"");
}

TEST_F(ApiTest, APinOfWhatIsNotThereSaysSo) {
  for (const auto* pinned : {"true", "false"}) {
    const auto answer = post("/internal/pin", std::string(R"({"model":"tiny-lama","pinned":)") + pinned + "}");
    EXPECT_EQ(answer.status, 400u);
    EXPECT_EQ(answer.error("code"), "model_not_found");
    EXPECT_EQ(answer.error("param"), "model");
    EXPECT_THAT(answer.error("message"), HasSubstr("did you mean 'tiny-llama'?"));
  }
  EXPECT_EQ(post("/internal/pin", R"({"model":"tiny-llama","pinned":true})").error("code"), "model_not_loaded");
}

}  // namespace
}  // namespace corral::api
