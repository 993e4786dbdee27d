// Names of models that other nodes have.
#include "api/api_fixture_for_tests.h"
#include "fleet/base/errors.h"
#include "models/errors.h"

namespace corral::api {
namespace {

// Knows a few names; counts questions.
class TestElsewhere final : public fleet::RemoteModels {
 public:
  Result<models::Catalog::Model> find(std::string_view name) const override {
    ++asked;
    if (name == "two") return fail(fleet::errc::ambiguous_model, "ask for one of two@11111111, two@22222222", "model");
    if (name == "away") return fail(fleet::errc::out_of_reach, "it is at x, which can't be reached now", "model");
    if (name == "just-away" && reconnects_after > 0) {
      --reconnects_after;
      Error error(fleet::errc::out_of_reach, "it is at x, which has been unreachable for 0 s", "model");
      error.retry_after = 1s;
      return std::unexpected(std::move(error));
    }
    const auto found = models.find(std::string(name));
    if (found == models.end()) return fail(models::errc::model_not_found, "nobody has it", "model");
    return found->second;
  }
  void add(const std::string& name, ModelType type = ModelType::llm, std::string here_as = {}) {
    auto far = std::make_shared<fleet::RemoteModel>();
    far->name = ModelName(name);
    far->type = type;
    far->here_as = std::move(here_as);
    far->at = {"box", "attic"};
    far->traits.context_length = 4096;
    models[name] = std::move(far);
  }

  std::map<std::string, models::Catalog::Model> models;
  mutable int asked = 0;
  mutable int reconnects_after = 0;  // questions for just-away
};

// Lends what others have; what is this machine's own is the router's.
class TestLender final : public router::LeaseProvider {
 public:
  explicit TestLender(router::ModelRouter& router) : router_(router) {}
  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return fleet::is_remote(model) ? router::Lease() : router_.try_acquire(model.name, context);
  }
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override {
    if (!fleet::is_remote(*model)) co_return co_await router_.acquire(model, request);
    conversations.push_back(request.nodes.conversation);
    co_return fail(fleet::errc::nowhere, model->name.value() + " is lent nowhere");
  }
  void count(router::RequestEnd end) override { router_.count(std::move(end)); }

  std::vector<std::uint64_t> conversations;

 private:
  router::ModelRouter& router_;
};

class ElsewhereTest : public ApiTest {
 protected:
  ElsewhereTest() { context.files.elsewhere = &elsewhere; }
  Answer chat(const std::string& name) {
    return post("/v1/chat/completions", R"({"model":")" + name + R"(","messages":[{"role":"user","content":"Hi"}]})");
  }
  TestElsewhere elsewhere;
};

TEST_F(ElsewhereTest, OwnModelsAskNobody) {
  elsewhere.add("tiny-llama");
  backend.reply = backends::FakeBackend::echo;
  have("tiny-llama");
  EXPECT_EQ(chat("tiny-llama").status, 200u);
  EXPECT_EQ(elsewhere.asked, 0);
}

TEST_F(ElsewhereTest, ANameThatMeansTwoThingsIsAConflict) {
  const auto answer = chat("two");
  EXPECT_EQ(answer.status, 409u);
  EXPECT_EQ(answer.error("code"), "ambiguous_model");
  EXPECT_THAT(answer.error("message"), HasSubstr("two@22222222"));
  EXPECT_EQ(chat("away").status, 503u);
  const auto unknown = chat("nobody");
  EXPECT_EQ(unknown.status, 404u);
  EXPECT_EQ(unknown.error("code"), "model_not_found");
  expect_untouched();
}

// A pause of a busy node ends its link for a moment: no request sees it.
TEST_F(ElsewhereTest, ARequestWaitsForANodeThatHasJustBecomeUnreachable) {
  elsewhere.add("just-away");
  const auto load = [this] {
    auto asked = send("POST", "/v1/load", R"({"model_name":"just-away"})");
    loop.context().restart();
    while (timers.sleepers() == 0) loop.context().run_one();  // after the scan of the disk
    return asked;
  };
  elsewhere.reconnects_after = 5;
  auto asked = load();
  pass(300ms);
  EXPECT_FALSE(got(*asked));
  pass(200ms);
  auto answer = got(*asked);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200u) << answer->text;

  elsewhere.reconnects_after = 1000;
  asked = load();
  pass(2900ms);
  EXPECT_FALSE(got(*asked));
  pass(200ms);
  answer = got(*asked);
  ASSERT_TRUE(answer) << "it doesn't wait for ever";
  EXPECT_EQ(answer->status, 503u);
  EXPECT_EQ(answer->error("message"), "it is at x, which has been unreachable for 0 s");
  // A client that is gone waits for nothing.
  asked = load();
  EXPECT_EQ(timers.sleepers(), 1u);
  asked.reset();
  settle();
  EXPECT_EQ(timers.sleepers(), 0u);
}

TEST_F(ElsewhereTest, WhatIsHereUnderAnotherNameIsServedHere) {
  elsewhere.add("tiny-llama@12345678", ModelType::llm, "tiny-llama");
  backend.reply = backends::FakeBackend::echo;
  have("tiny-llama");
  EXPECT_EQ(chat("tiny-llama@12345678").status, 200u);
  context.core.one_model = true;
  EXPECT_EQ(chat("tiny-llama@12345678").status, 200u) << "no peer is asked for the one model either";
  context.core.one_model = false;
  // Only this node had it, and its file is gone.
  elsewhere.models["gone@12345678"] = [] {
    auto far = std::make_shared<fleet::RemoteModel>();
    far->name = ModelName("gone@12345678");
    far->type = ModelType::llm;
    far->here_as = "gone";
    return far;
  }();
  EXPECT_EQ(chat("gone@12345678").error("code"), "model_not_found");
}

// Clients load before they ask; what is at another machine needs no load here.
TEST_F(ElsewhereTest, LoadingWhatOthersHaveSaysWhereItIs) {
  elsewhere.add("far");
  const auto loaded = post("/v1/load", R"({"model_name":"far"})");
  ASSERT_EQ(loaded.status, 200u) << loaded.text;
  EXPECT_THAT(loaded.text, HasSubstr(R"("status":"success","model_name":"far")"));
  EXPECT_THAT(loaded.text, HasSubstr(R"("context_length":null,"max_context_length":4096)"));
  EXPECT_THAT(loaded.text, HasSubstr("'far' is at box, attic, which loads it at the first request"));
  EXPECT_THAT(loaded.text, testing::Not(HasSubstr("no effect")));
  for (const auto* wanted : {R"("ctx_size":512)", R"("pinned":true)", R"("save_options":true)"}) {
    const auto reported = post("/v1/load", std::string(R"({"model_name":"far",)") + wanted + "}");
    EXPECT_EQ(reported.status, 200u);
    EXPECT_THAT(reported.text, HasSubstr("no effect")) << wanted;
  }
  const auto streamed = post("/v1/load", R"({"model_name":"far","stream":true})");
  EXPECT_EQ(streamed.status, 200u);
  EXPECT_THAT(streamed.text, HasSubstr("event: complete"));
  EXPECT_EQ(post("/v1/load", R"({"model_name":"far","ctx_size":"x"})").status, 400u);
  EXPECT_EQ(post("/v1/load", R"({"model_name":"away"})").status, 503u);
  EXPECT_EQ(post("/v1/load", R"({"model_name":"two"})").status, 409u);
  EXPECT_EQ(post("/v1/load", R"({"model_name":"nobody"})").status, 404u);
  expect_untouched();
}

TEST_F(ElsewhereTest, WhatOnlyItsMachineCanDoSaysWhereTheModelIs) {
  elsewhere.add("far");
  const auto reported = [](const Answer& answer, unsigned status) {
    EXPECT_EQ(answer.status, status) << answer.text;
    EXPECT_THAT(answer.error("message"), HasSubstr("'far' is not on this machine but at box, attic"));
  };
  reported(post("/v1/estimate", R"({"model_name":"far"})"), 404);
  reported(get("/v1/models/far/options"), 404);
  reported(post("/v1/models/far/options", R"({"ctx_size":512})"), 404);
  reported(post("/internal/pin", R"({"model_name":"far","pinned":true})"), 400);
  const auto copied = post("/api/copy", R"({"source":"far","destination":"x"})");
  EXPECT_EQ(copied.status, 404u);
  EXPECT_THAT(copied.text, HasSubstr("'far' is not on this machine but at box, attic"));
  EXPECT_EQ(post("/v1/estimate", R"({"model_name":"away"})").status, 503u);
  EXPECT_EQ(get("/v1/models/away/options").status, 503u);
  EXPECT_EQ(post("/internal/pin", R"({"model_name":"away","pinned":true})").status, 503u);
  EXPECT_EQ(post("/internal/pin", R"({"model_name":"nobody","pinned":true})").status, 400u);
  expect_untouched();
}

TEST_F(ElsewhereTest, AnotherTypeOfModelEndsHere) {
  elsewhere.add("far-embed", ModelType::embedding);
  const auto answer = chat("far-embed");
  EXPECT_EQ(answer.status, 400u);
  EXPECT_THAT(answer.error("message"), HasSubstr("far-embed"));
}

TEST_F(ElsewhereTest, ModelsOfOthersAreLentWithTheirConversation) {
  elsewhere.add("far");
  TestLender provider(router);
  router::Forwarder lending(provider, timers);
  ApiContext with{.core = {.router = router, .forwarder = lending, .timers = timers, .about = {.version = "1.2.3"}},
                  .bodies = {},
                  .access = {.clock = timers},
                  .files = {.models = finder, .timers = timers}};
  with.files.elsewhere = &elsewhere;
  handler = make_api(with);
  const auto answer = chat("far");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.error("code"), "no_capacity");
  EXPECT_EQ(chat("far").status, 503u);
  ASSERT_EQ(provider.conversations.size(), 2u);
  EXPECT_NE(provider.conversations[0], 0u);
  EXPECT_EQ(provider.conversations[0], provider.conversations[1]);
  // What the client says of it goes before what its messages say, however long that is.
  const auto in = [&](std::string session, const std::string& text, const std::string& peer = "1.2.3.4") {
    http::Request request;
    request.head = {"POST", "/v1/chat/completions", {}};
    request.head.headers.add("session_id", session);
    request.body = http::Body(R"({"model":"far","messages":[{"role":"user","content":")" + text + R"("}]})");
    request.peer = peer;
    EXPECT_EQ(finish(*start(std::move(request))).status, 503u);
    return provider.conversations.back();
  };
  const auto first = in("s", "Hi");
  EXPECT_EQ(in("s", "Something else"), first);
  EXPECT_NE(in("t", "Hi"), first);
  EXPECT_NE(in("s", "Hi", "5.6.7.8"), first) << "nobody else's";
  const std::string long_name(8192, 'x');
  EXPECT_EQ(in(long_name, "a"), in(long_name, "b"));
  handler = make_api(context);
}

}  // namespace
}  // namespace corral::api
