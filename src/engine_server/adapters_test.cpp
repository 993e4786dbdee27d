// GET and POST lora-adapters, and `lora` of requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;
using testing::HasSubstr;

struct Adapters : testing::Test {
  static std::unique_ptr<engine::InferenceEngine> adapted() {
    engine::EngineLoadOptions options;
    options.path = test::model_path("tiny-llama");
    options.n_ctx = 2048;
    options.n_threads = 1;
    options.loras = {{test::model_path("tiny-llama-lora"), 1}};
    auto service = engine::InferenceEngine::load(std::move(options));
    if (!service) throw std::runtime_error(service.error().message);
    return std::move(*service);
  }
  std::string text(const std::string& more) {
    const auto answer =
        server.post("/completion", R"({"prompt":"Once upon a time","temperature":0,"n_predict":12)" + more + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return std::string(answer.json().at("content").as_string());
  }

  Fixture server{adapted()};
};

TEST_F(Adapters, AreListedAndSet) {
  const auto list = server.ask("GET", "/lora-adapters").json();
  ASSERT_EQ(list.as_array().size(), 1u);
  EXPECT_EQ(list.at(0).at("id").as_int64(), 0);
  EXPECT_EQ(list.at(0).at("scale").to_number<double>(), 1);
  EXPECT_THAT(std::string(list.at(0).at("path").as_string()), HasSubstr("tiny-llama-lora"));
  const auto with = text("");
  EXPECT_EQ(server.post("/lora-adapters", R"([{"id":0,"scale":0}])").status, 200u);
  const auto without = text("");
  EXPECT_NE(with, without);
  EXPECT_EQ(text(R"(,"lora":[{"id":0,"scale":1}])"), with);
  EXPECT_EQ(server.post("/lora-adapters", "[]").status, 200u) << "none applies";
  EXPECT_EQ(text(""), without);
  EXPECT_EQ(text(R"(,"lora":[])"), without) << "says nothing";
  EXPECT_EQ(server.post("/lora-adapters", R"([{"id":0,"scale":1}])").status, 200u);
  EXPECT_EQ(text(""), with);
  EXPECT_EQ(text(R"(,"lora":[{"id":0}])"), without);
}

TEST_F(Adapters, ThatAreNotThereAreRefused) {
  for (const auto& [path, body] :
       {std::pair{"/lora-adapters", R"([{"id":1,"scale":1}])"}, std::pair{"/lora-adapters", R"({"id":0})"},
        std::pair{"/lora-adapters", R"([{"scale":1}])"},
        std::pair{"/completion", R"({"prompt":"a","lora":[{"id":7}]})"},
        std::pair{"/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}],"lora":[{"id":1}]})"}}) {
    const auto answer = server.post(path, body);
    EXPECT_EQ(answer.status, 400u) << body << answer.body;
  }
}

}  // namespace
}  // namespace corral::engine_server
