// Requests and loads under way: what a stream hears while it waits, listing with their kind, and ending by id.
#include "api/api_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::api {
namespace {

constexpr auto kLoad = R"({"model_name":"tiny-llama"})";
constexpr auto kLoadOther = R"({"model_name":"tiny-qwen3"})";
constexpr auto kLoadStreamed = R"({"model_name":"tiny-llama","stream":true})";
constexpr auto kChat = R"({"model":"tiny-llama","messages":[{"role":"user","content":"hi"}]})";

class RequestsTest : public ApiTest {
 protected:
  // "id kind status" of each, oldest first.
  std::vector<std::string> listed() {
    const auto list = get("/v1/requests").json();
    std::vector<std::string> lines;
    for (const auto& entry : json::find(list, "requests")->get_array()) {
      std::string line;
      for (const auto* field : {"id", "kind", "status"}) line += std::string(json::text_or(entry, field, "?")) + " ";
      lines.push_back(line.substr(0, line.size() - 1));
    }
    return lines;
  }
  void cancel(const std::string& id) {
    const auto answer = post("/v1/requests/" + id + "/cancel", "");
    EXPECT_EQ(answer.status, 200u) << answer.text;
    settle();
  }
};

TEST_F(RequestsTest, LoadsAreListedWithTheirKindAndWhetherTheirsIsTheOneThatRuns) {
  auto running = send("POST", "/v1/load", kLoadStreamed, "one");
  auto waiting = send("POST", "/v1/load", kLoadOther, "two");
  auto chat = send("POST", "/v1/chat/completions", kChat, "three");
  EXPECT_THAT(listed(), ElementsAre("one load running", "two load queued", "three inference queued"));
  const auto list = get("/v1/requests").json();
  const auto& first = json::find(list, "requests")->get_array().at(0);
  EXPECT_EQ(json::text_or(first, "model", ""), "tiny-llama");
  EXPECT_EQ(json::text_or(first, "path", ""), "/v1/load");
  EXPECT_TRUE(json::bool_or(first, "stream", false));
  // They are no inference requests, which have numbers of their own.
  EXPECT_THAT(get("/metrics").text, HasSubstr("corral_requests{status=\"queued\"} 1\n"));
  EXPECT_THAT(get("/metrics").text, HasSubstr("corral_requests{status=\"running\"} 0\n"));
  chat.reset();
  running.reset();
  settle();
  EXPECT_THAT(listed(), ElementsAre("two load running"));
  backend.server("tiny-qwen3").finish_load();
  settle();
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_EQ(got(*waiting)->status, 200u);
}

TEST_F(RequestsTest, AStreamThatWaitsPingsAsOftenAsItsRequestSays) {
  const auto pings = [&](const std::string& more) {
    auto chat = send("POST", "/v1/chat/completions",
                     R"({"model":"tiny-llama","stream":true,"messages":[{"role":"user","content":"x"}])" + more + "}");
    pass(4500ms);
    backend.server("tiny-llama").finish_load();
    settle();
    backend.server("tiny-llama").request().send("data: [DONE]\n\n");
    backend.server("tiny-llama").request().end();
    settle();
    const auto text = got(*chat)->text;
    EXPECT_TRUE(text.ends_with("data: [DONE]\n\n")) << text;
    EXPECT_EQ(post("/v1/unload", "{}").status, 200u);
    return (text.size() - std::string_view("data: [DONE]\n\n").size()) / http::kSsePing.size();
  };
  EXPECT_EQ(pings(""), 4u);
  EXPECT_EQ(pings(R"(,"sse_ping_interval":2)"), 2u);
  EXPECT_EQ(pings(R"(,"sse_ping_interval":-1)"), 0u);
}

TEST_F(RequestsTest, CancelEndsALoadThatRuns) {
  auto loading = send("POST", "/v1/load", kLoad);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
  cancel("req-7");
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 499u);
  EXPECT_EQ(answer->error("code"), "cancelled");
  EXPECT_EQ(answer->error("message"), "request 'req-7' was cancelled");
  EXPECT_THAT(backend.alive(), IsEmpty());
  EXPECT_THAT(get("/metrics").text, Not(HasSubstr("outcome=\"cancelled\"} 1\n")));  // of inference requests
  EXPECT_EQ(post("/v1/requests/req-7/cancel", "").status, 404u);
}

TEST_F(RequestsTest, CancelEndsALoadThatWaitsAndLeavesTheOneThatRunsAlone) {
  auto running = send("POST", "/v1/load", kLoad, "one");
  auto waiting = send("POST", "/v1/load", kLoadOther, "two");
  cancel("two");
  const auto answer = got(*waiting);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 499u);
  EXPECT_FALSE(got(*running));
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(got(*running)->status, 200u);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
}

TEST_F(RequestsTest, CancelEndsAProgressStreamWithOneErrorEvent) {
  auto loading = send("POST", "/v1/load", kLoadStreamed);
  backend.server("tiny-llama").progress(0.5);
  pass(250ms);
  cancel("req-7");
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200u);
  EXPECT_THAT(answer->text, testing::StartsWith("event: progress\n"));
  const auto error = answer->text.find("event: error\ndata: {\"error\":");
  ASSERT_NE(error, std::string::npos) << answer->text;
  EXPECT_THAT(answer->text.substr(error), HasSubstr("\"code\":\"cancelled\""));
  EXPECT_EQ(answer->text.find("event:", error + 1), std::string::npos);
  EXPECT_THAT(answer->text, testing::EndsWith("\n\n"));
  EXPECT_THAT(backend.alive(), IsEmpty());
}

// Before the stream has begun there is still a status to tell it with.
TEST_F(RequestsTest, CancelOfAProgressStreamThatHasNotBegunIsAStatus) {
  auto loading = send("POST", "/v1/load", kLoadStreamed);
  cancel("req-7");
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 499u);
  EXPECT_EQ(answer->error("code"), "cancelled");
}

TEST_F(RequestsTest, OthersWhoWaitForTheSameLoadKeepIt) {
  auto first = send("POST", "/v1/load", kLoad, "one");
  auto second = send("POST", "/v1/load", kLoadStreamed, "two");
  auto chat = send("POST", "/v1/chat/completions", kChat, "three");
  ASSERT_EQ(backend.servers().size(), 1u);
  cancel("one");
  EXPECT_EQ(got(*first)->status, 499u);
  EXPECT_FALSE(got(*second));
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(got(*second)->status, 200u);
  EXPECT_EQ(backend.servers().size(), 1u);
  EXPECT_EQ(backend.server("tiny-llama").requests().size(), 1u);
  chat.reset();
  settle();
}

// The server used to hang with the disk.
TEST_F(RequestsTest, ADiskThatGivesNoAnswerHoldsUpNeitherHealthNorOtherModels) {
  backend.silent_files = {"tiny-llama"};
  auto hanging = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  auto asking = send("POST", "/v1/models/tiny-llama/options", R"({"ctx_size":512,"dry_run":true})");
  EXPECT_EQ(get("/v1/health").status, 200u);
  EXPECT_EQ(get("/v1/models").status, 200u);
  have("tiny-qwen3");
  EXPECT_FALSE(got(*hanging));
  EXPECT_FALSE(got(*asking));
  EXPECT_EQ(backend.loads("tiny-llama"), 0u);
  EXPECT_EQ(post("/v1/requests/req-7/cancel", "").status, 200u);
  settle();
  EXPECT_EQ(got(*hanging)->status, 499u);
  asking.reset();
  settle();
}

// As unload and pin do. It used to be refused.
TEST_F(RequestsTest, LoadAndEstimateTakeModelForTheNameToo) {
  backend.load_at_once = true;
  const auto loaded = post("/v1/load", R"({"model":"tiny-llama"})");
  EXPECT_EQ(loaded.status, 200u) << loaded.text;
  EXPECT_EQ(json::text_or(loaded.json(), "model_name", ""), "tiny-llama");
  backend.estimates["tiny-qwen3"] = {};
  EXPECT_EQ(post("/v1/estimate", R"({"model":"tiny-qwen3"})").status, 200u);
  EXPECT_EQ(post("/v1/load", R"({"model":""})").error("param"), "model");
}

}  // namespace
}  // namespace corral::api
