#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;
using testing::HasSubstr;

TEST(Embeddings, AreUnitVectorsInOrder) {
  Fixture server("tiny-embed");
  const auto both = server.post("/v1/embeddings", R"({"model":"e","input":["first text","second"]})");
  ASSERT_EQ(both.status, 200u) << both.body;
  const auto value = both.json();
  EXPECT_EQ(value.at("model").as_string(), "e");
  ASSERT_EQ(value.at("data").as_array().size(), 2u);
  const auto single = server.post("/v1/embeddings", R"({"input":"second"})").json();
  const auto& a = value.at("data").at(1).at("embedding").as_array();
  const auto& b = single.at("data").at(0).at("embedding").as_array();
  ASSERT_EQ(a.size(), server.service->facts().n_embd);
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].to_number<double>(), b[i].to_number<double>(), 1e-3);
    norm += a[i].to_number<double>() * a[i].to_number<double>();
  }
  EXPECT_NEAR(norm, 1, 1e-4);
  EXPECT_GT(value.at("usage").at("prompt_tokens").as_int64(), 3);
  EXPECT_EQ(server.records.size(), 2u);
}

TEST(Embeddings, Base64HoldsTheSameFloats) {
  Fixture server("tiny-embed");
  const auto text = server.post("/v1/embeddings", R"({"input":"x","encoding_format":"base64"})").json();
  const auto floats = server.post("/v1/embeddings", R"({"input":"x"})").json();
  const auto& listed = floats.at("data").at(0).at("embedding").as_array();
  std::string bytes(listed.size() * sizeof(float), '\0');
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const auto number = listed[i].to_number<float>();
    std::memcpy(bytes.data() + i * sizeof number, &number, sizeof number);
  }
  EXPECT_EQ(text.at("data").at(0).at("embedding").as_string(), protocol::base64(bytes));
}

TEST(Embeddings, AreNormalizedAsItIsAskedFor) {
  Fixture server("tiny-embed");
  const auto values = [&](const std::string& more) {
    std::vector<double> all;
    const auto answer = server.post("/v1/embeddings", R"({"input":"some text")" + more + "}").json();
    for (const auto& one : answer.at("data").at(0).at("embedding").as_array()) all.push_back(one.to_number<double>());
    return all;
  };
  const auto raw = values(R"(,"embd_normalize":-1)");
  const auto expect_divided_by = [&](const std::vector<double>& scaled, double norm) {
    ASSERT_EQ(scaled.size(), raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) EXPECT_NEAR(scaled[i], raw[i] / norm, 1e-4 * std::abs(raw[i] / norm));
  };
  double largest = 0, sum = 0, squares = 0, cubes = 0;
  for (const double value : raw) {
    largest = std::max(largest, std::abs(value));
    sum += std::abs(value);
    squares += value * value;
    cubes += std::pow(std::abs(value), 3);
  }
  EXPECT_GT(std::abs(squares - 1), 1e-3) << "this model's vectors are of length 1 anyway: the test is of no use";
  expect_divided_by(values(""), std::sqrt(squares));
  expect_divided_by(values(R"(,"embd_normalize":2)"), std::sqrt(squares));
  expect_divided_by(values(R"(,"embd_normalize":0)"), largest / 32760);
  expect_divided_by(values(R"(,"embd_normalize":1)"), sum);
  expect_divided_by(values(R"(,"embd_normalize":3)"), std::cbrt(cubes));
}

TEST(Embeddings, WhatAClientHasUnderWayIsNotAnothers) {
  Fixture server("tiny-embed");
  const auto much = [&](std::size_t tokens) {
    auto asked =
        server.service->embed(std::vector(tokens / 100, std::vector<engine::Token>(100, 5)), {.client = "greedy"});
    EXPECT_TRUE(asked);
    return asked;
  };
  const auto first = much(2'000'000), second = much(1'500'000);
  const auto more = server.ask("POST", "/v1/embeddings", R"({"input":"x"})", "greedy");
  EXPECT_EQ(more.status, 503u) << more.body;
  EXPECT_THAT(more.body, HasSubstr("this client has 3500000 running or waiting tokens"));
  const auto other = server.ask("POST", "/v1/embeddings", R"({"input":"x"})", "modest");
  EXPECT_EQ(other.status, 200u) << other.body;
}

TEST(Embeddings, WithoutPoolingEachTokenHasOne) {
  engine::EngineLoadOptions load;
  load.path = test::model_path("tiny-embed");
  load.purpose = engine::ModelTask::embed;
  load.pooling = engine::Pooling::none;
  load.n_threads = 1;
  auto service = engine::InferenceEngine::load(load);
  ASSERT_TRUE(service);
  Fixture server(std::move(*service));
  const auto tokens = server.service->tokenize("first text", true, true)->size();
  const auto answer = server.post("/embedding", R"({"input":["first text","second"]})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  ASSERT_EQ(answer.json().as_array().size(), 2u);
  const auto first = answer.json().at(0).at("embedding");
  ASSERT_EQ(first.as_array().size(), tokens);
  for (const auto& vector : first.as_array()) {
    ASSERT_EQ(vector.as_array().size(), server.service->facts().n_embd);
    double squares = 0;
    for (const auto& value : vector.as_array()) squares += value.to_number<double>() * value.to_number<double>();
    EXPECT_GT(std::abs(squares - 1), 1e-3) << "never normalised";
  }
  const auto refused = [&](const std::string& path, const std::string& body) {
    const auto answer = server.post(path, body);
    EXPECT_EQ(answer.status, 400u) << answer.body;
    return std::string(answer.json().at("error").at("message").as_string());
  };
  EXPECT_EQ(refused("/v1/embeddings", R"({"input":"first text"})"),
            "this model makes an embedding of each token (pooling none), but this endpoint returns one of each text: "
            "use /embeddings, or load the model with another pooling");
  EXPECT_EQ(refused("/embedding", R"({"input":"first text","dimensions":8})"),
            "'dimensions' needs an embedding of the whole text, but this model makes one of each token (pooling none): "
            "leave it out");
}

// As models are trained for it whose first numbers say most (Matryoshka embeddings).
TEST(Embeddings, FewerDimensionsAreTheFirstOnesAtLengthOne) {
  Fixture server("tiny-embed");
  const auto numbers = [&](const std::string& more) {
    const auto answer = server.post("/v1/embeddings", R"({"input":"a")" + more + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    std::vector<double> found;
    for (const auto& value : answer.json().at("data").at(0).at("embedding").as_array())
      found.push_back(value.to_number<double>());
    return found;
  };
  const auto all = numbers(""), few = numbers(R"(,"dimensions":8)");
  ASSERT_EQ(few.size(), 8u);
  double length = 0;
  for (std::size_t i = 0; i < few.size(); ++i) length += all[i] * all[i];
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_NEAR(few[i], all[i] / std::sqrt(length), 1e-4) << i;
}

TEST(Embeddings, RefuseWhatMakesNoSense) {
  Fixture server("tiny-embed");
  const auto refused = [&](const std::string& body, const std::string& message) {
    const auto answer = server.post("/v1/embeddings", body);
    EXPECT_EQ(answer.status, 400u) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(message));
  };
  refused(R"({"input":["a",""]})", "'input[1]' is empty");
  refused(R"({"input":"a","dimensions":65})", "'dimensions' is 65, but the embeddings of this model have 64");
  refused(R"({"input":[[999999]]})", "vocabulary");
  refused(R"({"input":"a","embd_normalize":-2})", "'embd_normalize' must be an integer between -1 and 64");
  std::string longer;
  for (int i = 0; i < 5000; ++i) longer += "word ";
  refused(R"({"input":")" + longer + R"("})", "context_length_exceeded");
  EXPECT_EQ(server.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}]})").status, 400u);
}

TEST(Embeddings, ATextThatIsTooLongIsCutIfTheRequestSaysSo) {
  Fixture server("tiny-embed");
  const auto& facts = server.service->facts();
  const auto max = std::min(facts.n_batch, facts.n_ctx);
  std::string longer;
  for (int i = 0; i < 5000; ++i) longer += "word ";
  const auto embed = [&](const std::string& text) {
    return server.post("/v1/embeddings", R"({"truncate":true,"input":["a",")" + text + R"("]})");
  };
  const auto cut = embed(longer);
  ASSERT_EQ(cut.status, 200u) << cut.body;
  const auto one = server.post("/v1/embeddings", R"({"input":"a"})").json();
  EXPECT_EQ(cut.json().at("usage").at("prompt_tokens").as_int64(),
            one.at("usage").at("prompt_tokens").as_int64() + max);
  EXPECT_EQ(embed(longer + longer).json().at("data"), cut.json().at("data")) << "its end makes no difference";
  std::string huge;
  for (int i = 0; i < 200'000; ++i) huge += "é\\n";
  EXPECT_EQ(embed(huge).status, 200u);
}

TEST(Rerank, SortsByScore) {
  Fixture server("tiny-rerank");
  const auto answer = server.post(
      "/v1/rerank", R"({"query":"a cat","documents":["dogs",{"text":"a cat sat"},"rain"],"return_documents":true})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto results = answer.json().at("results").as_array();
  ASSERT_EQ(results.size(), 3u);
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_GE(results[i - 1].at("relevance_score").to_number<double>(),
              results[i].at("relevance_score").to_number<double>());
  }
  for (const auto& result : results) {
    if (result.at("index").as_int64() == 1) EXPECT_EQ(result.at("document").at("text").as_string(), "a cat sat");
  }
  const auto top =
      server.post("/v1/reranking", R"({"query":"a cat","documents":["dogs","a cat sat","rain"],"top_n":1})");
  ASSERT_EQ(top.json().at("results").as_array().size(), 1u);
  EXPECT_EQ(top.json().at("results").at(0).at("index"), results[0].at("index"));
  EXPECT_FALSE(top.json().at("results").at(0).as_object().contains("document"));
}

TEST(Rerank, TextsAreAnsweredWithAList) {
  Fixture server("tiny-rerank");
  const std::string texts = R"(["dogs","a cat sat","rain"])";
  const auto results =
      server.post("/v1/rerank", R"({"query":"a cat","documents":)" + texts + "}").json().at("results").as_array();
  const auto list = server.post("/rerank", R"({"query":"a cat","texts":)" + texts + "}").json().as_array();
  const auto with_text =
      server
          .post("/rerank", R"({"query":"a cat","return_text":true,"raw_scores":false,"top_n":2,"texts":)" + texts + "}")
          .json()
          .as_array();
  ASSERT_EQ(list.size(), 3u);
  ASSERT_EQ(with_text.size(), 2u);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].at("index"), results[i].at("index"));
    const auto score = list[i].at("score").to_number<double>();
    EXPECT_NEAR(score, results[i].at("relevance_score").to_number<double>(), 1e-3);
    EXPECT_FALSE(json::find(list[i], "text"));
    if (i == 2) break;
    EXPECT_EQ(with_text[i].at("index"), list[i].at("index"));
    EXPECT_NEAR(with_text[i].at("score").to_number<double>(), 1 / (1 + std::exp(-score)), 1e-3);
    if (list[i].at("index").as_int64() == 1) EXPECT_EQ(with_text[i].at("text").as_string(), "a cat sat");
  }
}

// `truncate` is taken because clients send it with everything; nothing is cut for it.
TEST(Rerank, TextsThatAreTooLongAreRefusedNotCut) {
  Fixture server("tiny-rerank");
  std::string longer;
  for (int i = 0; i < 5000; ++i) longer += "word ";
  for (const std::string more : {"", R"(,"truncate":false)", R"(,"truncate":true)"}) {
    EXPECT_EQ(server.post("/rerank", R"({"query":"a cat","texts":["dogs"])" + more + "}").status, 200u);
    const auto refused =
        server.post("/rerank", R"({"query":"a cat","texts":["dogs",")" + longer + R"("])" + more + "}");
    EXPECT_EQ(refused.status, 400u) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("context_length_exceeded"));
  }
}

// The query was tokenised with each document, however often.
TEST(Rerank, ALongQueryAndManyDocumentsAreRefused) {
  Fixture server("tiny-rerank");
  std::string query, documents = R"("x")";
  for (int i = 0; i < 200; ++i) query += "word ";
  for (int i = 0; i < 20'000; ++i) documents += R"(,"x")";
  const auto refused = server.post("/rerank", R"({"query":")" + query + R"(","texts":[)" + documents + "]}");
  EXPECT_EQ(refused.status, 400u) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("because each document is read with the query"));
}

TEST(Text, TokensThereAndBack) {
  Fixture server("tiny-llama");
  const auto tokens = server.post("/tokenize", R"({"content":"Größe 日本"})").json();
  const auto text = server.post("/detokenize", json::serialize(tokens)).json();
  EXPECT_EQ(text.at("content").as_string(), "Größe 日本");
  // Half a character is its bytes, as from llama-server: together they are the text again.
  std::string bytes;
  const auto halves = server.post("/v1/tokenize", R"({"content":"a🐎","with_pieces":true})").json();
  bool cut = false;
  for (const auto& token : halves.at("tokens").as_array()) {
    const auto& piece = token.at("piece");
    if (piece.is_string()) {
      bytes += piece.as_string();
      continue;
    }
    cut = true;
    for (const auto& byte : piece.as_array()) bytes.push_back(static_cast<char>(byte.to_number<int>()));
  }
  EXPECT_TRUE(cut) << "this vocabulary has a token for the character: the test is of no use";
  EXPECT_TRUE(bytes.ends_with("a🐎")) << bytes;
  const auto pieces = server.post("/v1/tokenize", R"({"content":"ab","with_pieces":true})").json();
  EXPECT_TRUE(pieces.at("tokens").at(0).at("id").is_int64());
  EXPECT_EQ(server.post("/detokenize", R"({"tokens":[-1]})").status, 400u);
}

TEST(Text, TheTemplateIsAppliedWithoutAnAnswer) {
  Fixture server("tiny-llama");
  const std::string messages = R"("messages":[{"role":"user","content":"hi there"}])";
  const auto applied = server.post("/apply-template", "{" + messages + "}");
  ASSERT_EQ(applied.status, 200u) << applied.body;
  const std::string prompt(applied.json().at("prompt").as_string());
  EXPECT_THAT(prompt, HasSubstr("hi there"));
  // It is the prompt that a chat is answered to.
  const std::string more = R"(,"temperature":0,"max_tokens":6,"ignore_eos":true,"cache_prompt":false})";
  const auto chat = server.post("/v1/chat/completions", "{" + messages + more);
  const auto completion =
      server.post("/completion", R"({"prompt":)" + json::serialize(json::Value(prompt)) + more).json();
  EXPECT_EQ(completion.at("tokens_evaluated"), chat.json().at("usage").at("prompt_tokens"));
  EXPECT_EQ(completion.at("content"), chat.choice().at("message").at("content"));
  const auto refused = server.post("/v1/apply-template", R"({"messages":"hi"})");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_THAT(refused.body, HasSubstr("messages"));
  EXPECT_EQ(Fixture("tiny-embed").post("/apply-template", "{" + messages + "}").status, 400u);
}

TEST(Text, TellsAboutItself) {
  Fixture server("tiny-llama");
  EXPECT_EQ(server.ask("GET", "/health").body, R"({"status":"ok"})");
  EXPECT_EQ(server.ask("GET", "/v1/models").json().at("data").at(0).at("id").as_string(), "tiny-llama");
  const auto props = server.ask("GET", "/props").json();
  EXPECT_EQ(props.at("default_generation_settings").at("n_ctx").as_int64(), 2048);
  EXPECT_EQ(props.at("default_generation_settings").at("params").at("top_k").as_int64(), 40);
  EXPECT_THAT(std::string(props.at("chat_template").as_string()), HasSubstr("messages"));
  EXPECT_EQ(server.ask("GET", "/stats").json().at("generating").as_int64(), 0);
}

}  // namespace
}  // namespace corral::engine_server
