// Names of models that other nodes have.
#include "api/api_fixture.h"
#include "fleet/errors.h"
#include "models/errc.h"

namespace corral::api {
namespace {

// Knows a few names; counts questions.
class TestElsewhere final : public fleet::Elsewhere {
 public:
  Result<models::Catalog::Model> find(std::string_view name) const override {
    ++asked;
    if (name == "two") return fail(fleet::errc::ambiguous_model, "ask for one of two@11111111, two@22222222", "model");
    if (name == "away") return fail(fleet::errc::out_of_reach, "it is at x, which can't be reached now", "model");
    const auto found = models.find(std::string(name));
    if (found == models.end()) return fail(models::errc::model_not_found, "nobody has it", "model");
    return found->second;
  }
  void add(const std::string& name, ModelType type = ModelType::llm, std::string here_as = {}) {
    auto far = std::make_shared<fleet::FarModel>();
    far->name = ModelName(name);
    far->recipe = fleet::kFarRecipe;
    far->type = type;
    far->here_as = std::move(here_as);
    models[name] = std::move(far);
  }

  std::map<std::string, models::Catalog::Model> models;
  mutable int asked = 0;
};

// Lends what others have; what is this machine's own is the router's.
class TestLender final : public router::Lender {
 public:
  explicit TestLender(router::ModelRouter& router) : router_(router) {}
  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return fleet::far_model(model) != nullptr ? router::Lease() : router_.try_acquire(model.name, context);
  }
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::ContextWish wish) override {
    if (fleet::far_model(*model) == nullptr) co_return co_await router_.acquire(model, wish);
    conversations.push_back(wish.conversation);
    co_return fail(fleet::errc::nowhere, model->name.value() + " is lent nowhere");
  }
  void count(router::RequestEnd end) override { router_.count(std::move(end)); }

  std::vector<std::uint64_t> conversations;

 private:
  router::ModelRouter& router_;
};

class ElsewhereTest : public ApiTest {
 protected:
  ElsewhereTest() { context.elsewhere = &elsewhere; }
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
  const auto nobody = chat("nobody");
  EXPECT_EQ(nobody.status, 404u);
  EXPECT_EQ(nobody.error("code"), "model_not_found");
  expect_untouched();
}

TEST_F(ElsewhereTest, WhatIsHereUnderAnotherNameIsServedHere) {
  elsewhere.add("tiny-llama@12345678", ModelType::llm, "tiny-llama");
  backend.reply = backends::FakeBackend::echo;
  have("tiny-llama");
  EXPECT_EQ(chat("tiny-llama@12345678").status, 200u);
}

TEST_F(ElsewhereTest, AnotherTypeOfModelEndsHere) {
  elsewhere.add("far-embed", ModelType::embedding);
  const auto answer = chat("far-embed");
  EXPECT_EQ(answer.status, 400u);
  EXPECT_THAT(answer.error("message"), HasSubstr("far-embed"));
}

TEST_F(ElsewhereTest, ModelsOfOthersAreLentWithTheirConversation) {
  elsewhere.add("far");
  TestLender lender(router);
  router::Forwarder lending(lender, timers);
  Context with{.router = router, .forwarder = lending, .models = finder, .timers = timers, .version = "1.2.3"};
  with.elsewhere = &elsewhere;
  handler = make_api(with);
  const auto answer = chat("far");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.error("code"), "no_capacity");
  EXPECT_EQ(chat("far").status, 503u);
  ASSERT_EQ(lender.conversations.size(), 2u);
  EXPECT_NE(lender.conversations[0], 0u);
  EXPECT_EQ(lender.conversations[0], lender.conversations[1]);
  handler = make_api(context);
}

}  // namespace
}  // namespace corral::api
