#include "router/instances/plain_request.h"

#include <gtest/gtest.h>

namespace corral::router {
namespace {

using protocol::Ask;

bool plain(Ask ask, std::string body, std::uint64_t context = 8192) {
  return is_plain({.ask = ask, .body = std::move(body), .client = {}}, context);
}

TEST(PlainRequest, AnOrdinaryChatIsPlain) {
  EXPECT_TRUE(plain(Ask::chat, R"({"model":"a","stream":true,"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_TRUE(plain(Ask::chat, R"({"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"a"},
                                  {"role":"assistant","content":"b"},{"role":"user","content":"c"}],"seed":1})"));
}

TEST(PlainRequest, WhatATemplateMayRefuseIsNotPlain) {
  for (const auto* messages :
       {"[]", R"([{"role":"assistant","content":"a"}])", R"([{"role":"user","content":""}])",
        R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])",
        R"([{"role":"user","content":"a"},{"role":"system","content":"b"},{"role":"user","content":"c"}])",
        R"([{"role":"user","content":[{"type":"text","text":"a"}]}])", R"([{"role":"tool","content":"a"}])",
        R"([{"role":"user","content":"a","name":"b"}])", R"([{"role":"user","content":null}])"}) {
    EXPECT_FALSE(plain(Ask::chat, std::string(R"({"messages":)") + messages + "}")) << messages;
  }
}

TEST(PlainRequest, GrammarsSchemasToolsAndTokensAreNotPlain) {
  for (const auto* more : {R"("grammar":"root ::= x")", R"("response_format":{"type":"json_object"})", R"("tools":[])",
                           R"("logit_bias":{})", R"("lora":[])", R"("whatever":1)"}) {
    EXPECT_FALSE(plain(Ask::completion, std::string(R"({"prompt":"hi",)") + more + "}")) << more;
  }
  EXPECT_FALSE(plain(Ask::completion, R"({"prompt":[1,2,3]})"));
  EXPECT_FALSE(plain(Ask::completion, R"({"prompt":""})"));
  EXPECT_FALSE(plain(Ask::embedding, R"({"input":[[1,2]]})"));
  EXPECT_FALSE(plain(Ask::embedding, R"({"input":["a",""]})"));
  EXPECT_FALSE(plain(Ask::embedding, R"({"input":"a","dimensions":3})"));
  EXPECT_TRUE(plain(Ask::embedding, R"({"input":["a","b"]})"));
  EXPECT_TRUE(plain(Ask::rerank, R"({"query":"a","documents":["b"]})"));
}

TEST(PlainRequest, WhatMayHaveMoreTokensThanTheContextIsNotPlain) {
  const auto body = [](std::size_t bytes) { return R"({"prompt":")" + std::string(bytes, 'a') + "\"}"; };
  EXPECT_TRUE(plain(Ask::completion, body(1000), 2048));
  EXPECT_FALSE(plain(Ask::completion, body(2000), 2048));
  EXPECT_FALSE(plain(Ask::completion, body(10), 256));
}

TEST(PlainRequest, TheContextIsThatOfOneRequest) {
  auto model = std::make_shared<models::ModelInfo>();
  model->traits.context_length = 4096;
  LoadSpec spec;
  spec.model = model;
  spec.load_options.ctx_size = 2048;
  spec.load_options.parallel = 2;
  EXPECT_EQ(context_at_least(spec), 2048u);
  spec.load_options.kv_unified = false;
  EXPECT_EQ(context_at_least(spec), 1024u);
  spec.load_options.ctx_size = -1;
  EXPECT_EQ(context_at_least(spec), 4096u);
}

TEST(PlainRequest, OtherThingsThatAreAskedOfAModelAreNotPlain) {
  EXPECT_FALSE(plain(Ask::infill, R"({"prompt":"hi"})"));
  EXPECT_FALSE(plain(Ask::native_completion, R"({"prompt":"hi"})"));
  EXPECT_FALSE(plain(Ask::chat, "no json"));
}

}  // namespace
}  // namespace corral::router
