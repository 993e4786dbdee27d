// Gaps: POST infill, and completions with a suffix.
#include "engine_server/preparation/infill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/generation.h"
#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using engine::Token;
using test::Fixture;
using testing::HasSubstr;
using Tokens = std::vector<Token>;

struct Gaps : testing::Test {
  explicit Gaps(std::uint32_t n_ctx = 4096) : server("tiny-gap", n_ctx), tokens(*server.service) {}

  Tokens of(std::string_view text) const { return *server.service->tokenize(text, false, false); }
  Tokens made(const protocol::Infill& gap) const {
    auto all = infill_tokens(tokens, gap, {});
    EXPECT_TRUE(all) << all.error().message;
    return all.value_or(Tokens());
  }
  const engine::GapTokens& marks() const { return server.service->facts().gap; }
  static Tokens joined(std::initializer_list<Tokens> parts) {
    Tokens all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  Fixture server;
  PromptTokens tokens;
};

TEST_F(Gaps, HavePiecesOfTheProjectInFront) {
  EXPECT_EQ(made({.prefix = "a b", .suffix = "c", .extra = {{"x.h", "int x;"}, {"", "y"}}, .begun = "d"}),
            joined({{marks().repository},
                    of("myproject\n"),
                    {marks().file},
                    of("x.h\n"),
                    of("int x;"),
                    {marks().file},
                    of("tmp\n"),
                    of("y"),
                    {marks().file},
                    of("filename\n"),
                    {marks().prefix},
                    of("a b"),
                    of("d"),
                    {marks().suffix},
                    of("c"),
                    {marks().middle}}));
  EXPECT_EQ(made({.prefix = Tokens{5, 6}, .suffix = std::vector<protocol::InputPart>{"c", Tokens{7}}, .whole = true}),
            joined({{marks().prefix, 5, 6, marks().suffix}, of("c"), {7, marks().middle}}));
}

TEST_F(Gaps, KeepWhatIsNearThem) {
  Tokens before(3000), behind(3000);
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = behind[i] = static_cast<Token>(i % 1000);
  auto all = made({.prefix = before, .suffix = behind, .begun = "d"});
  const auto kept = 2048 / 4 * 3,
             head = static_cast<int>(joined({{0}, of("myproject\n"), {0}, of("filename\n")}).size());
  EXPECT_EQ(all[static_cast<std::size_t>(head)], marks().prefix);
  EXPECT_EQ(Tokens(all.begin() + head + 1, all.begin() + head + 1 + kept), Tokens(before.end() - kept, before.end()));
  const auto suffix = std::ranges::find(all, marks().suffix) - all.begin();
  EXPECT_EQ(all.end() - all.begin() - suffix - 2, static_cast<std::ptrdiff_t>(512 - 2 - of("d").size()));
  EXPECT_EQ(all[static_cast<std::size_t>(suffix) + 1], behind.front());
  // Extra pieces have what the window leaves of the context, and the last of them stays.
  std::string text;
  for (int i = 0; i < 9000; ++i) text += " x";
  all = made({.prefix = "a", .suffix = "b", .extra = {{"old", text}, {"new", "last"}}});
  const auto gap = of("a").size() + of("b").size() + 4;
  EXPECT_EQ(std::ranges::find(all, marks().prefix) - all.begin(), static_cast<std::ptrdiff_t>(4096 - gap - 256));
  EXPECT_EQ(std::ranges::find(all, marks().repository), all.end());
}

struct SmallGaps : Gaps {
  SmallGaps() : Gaps(512) {}
};

// Contexts up to 2,304 tokens had none of them.
TEST_F(SmallGaps, HavePiecesOfTheProjectInFrontToo) {
  const auto all = made({.prefix = "a", .suffix = "b", .extra = {{"x.h", "int x;"}}});
  EXPECT_EQ(all, joined({{marks().repository},
                         of("myproject\n"),
                         {marks().file},
                         of("x.h\n"),
                         of("int x;"),
                         {marks().file},
                         of("filename\n"),
                         {marks().prefix},
                         of("a"),
                         {marks().suffix},
                         of("b"),
                         {marks().middle}}));
}

// The pieces have what the gap leaves, and the answer a quarter.
TEST_F(SmallGaps, AndTheirAnswersHaveSpace) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += " x";
  const Tokens before(3000, 5), behind(3000, 6);
  for (const auto& gap : {protocol::Infill{.prefix = before, .suffix = behind, .extra = {{"new", text}}},
                          protocol::Infill{.prefix = "a", .suffix = behind, .extra = {{"new", text}}},
                          protocol::Infill{.prefix = "a", .suffix = "b", .extra = {{"new", text}}}})
    EXPECT_LE(made(gap).size(), 512u - 126u);
  EXPECT_GE(made({.prefix = "a", .suffix = "b", .extra = {{"new", text}}}).size(), 512u - 128u - 2u);
}

TEST_F(Gaps, AreAskedForInTwoShapes) {
  const auto native = server.post(
      "/infill", R"({"input_prefix":"def f(","input_suffix":"return 1","prompt":"x","temperature":0,"n_predict":4})");
  ASSERT_EQ(native.status, 200u) << native.body;
  EXPECT_EQ(native.json().at("tokens_predicted").as_int64(), 4);
  EXPECT_THAT(std::string(native.json().at("prompt").as_string()), HasSubstr("<|fim_prefix|>def f(x<|fim_suffix|>"));
  const auto openai =
      server.post("/v1/completions", R"({"prompt":"a","suffix":"b","temperature":0,"max_tokens":4,"echo":true})");
  ASSERT_EQ(openai.status, 200u) << openai.body;
  EXPECT_EQ(openai.json().at("usage").at("prompt_tokens").as_int64(), 5);
  EXPECT_EQ(openai.choice().at("text").as_string().front(), 'a') << "the echo is the prompt alone";
  const auto streamed =
      server.post("/infill", R"({"input_prefix":"a","input_suffix":"b","n_predict":2,"stream":true})");
  EXPECT_EQ(streamed.type, "text/event-stream");
}

TEST(OtherModels, RefuseGaps) {
  Fixture server("tiny-llama");
  for (const auto& [path, body, param] :
       {std::tuple{"/infill", R"({"input_prefix":"a","input_suffix":"b"})", "input_suffix"},
        std::tuple{"/v1/completions", R"({"prompt":"a","suffix":"b"})", "suffix"}}) {
    const auto answer = server.post(path, body);
    EXPECT_EQ(answer.status, 400u) << answer.body;
    EXPECT_EQ(answer.json().at("error").at("code").as_string(), "infill_not_supported");
    EXPECT_EQ(answer.json().at("error").at("param").as_string(), param);
  }
}

TEST_F(Gaps, AWholeOneThatDoesNotFitIsRefused) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += " x";
  const auto answer = server.post("/v1/completions", R"({"prompt":")" + text + R"(","suffix":"b"})");
  EXPECT_EQ(answer.status, 400u);
  EXPECT_EQ(answer.json().at("error").at("code").as_string(), "context_length_exceeded");
}

TEST(MixedPrompts, AreOnePrompt) {
  Fixture server("tiny-llama");
  const auto prompt = [&](const std::string& given) {
    const auto answer = server.post("/completion", R"({"temperature":0,"n_predict":3,"prompt":)" + given + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return answer;
  };
  const auto& service = *server.service;
  const auto tokens = *service.tokenize(" brown fox", false, true);
  std::string numbers;
  for (const auto token : tokens) numbers += "," + std::to_string(token);
  const auto mixed = prompt(R"(["The quick")" + numbers + R"(," jumps"])").json();
  const auto plain = prompt(R"("The quick brown fox jumps")").json();
  EXPECT_EQ(mixed.at("prompt"), plain.at("prompt"));
  EXPECT_EQ(mixed.at("content"), plain.at("content"));
  const auto several = prompt(R"([["The quick")" + numbers + R"(," jumps"],"a",{"prompt_string":"b"},[1,2]])").json();
  ASSERT_EQ(several.as_array().size(), 4u);
  EXPECT_EQ(several.at(0).at("prompt"), plain.at("prompt"));
  const auto refused = server.post("/completion", R"({"prompt":["a",1000000]})");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_THAT(refused.body, HasSubstr("vocabulary ends at"));
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "\"x\",1,";
  const auto too_long = server.post("/completion", R"({"prompt":[)" + many + "1]}");
  EXPECT_EQ(too_long.json().at("error").at("code").as_string(), "context_length_exceeded") << too_long.body;
}

TEST(EachToken, HasAnEventOfItsOwn) {
  Fixture server("tiny-llama");
  const auto events = [&](const std::string& more) {
    return server
        .post("/completion", R"({"prompt":"Once","temperature":0,"n_predict":8,"ignore_eos":true,"stream":true,)"
                             R"("return_tokens":true)" +
                                 more + "}")
        .events();
  };
  for (const auto* more :
       {R"(,"stream_options":{"each_token":true})", R"(,"timings_per_token":true)", R"(,"n_probs":2)"}) {
    const auto all = events(more);
    ASSERT_GE(all.size(), 2u);
    for (const auto& event : std::span(all).first(all.size() - 1))
      EXPECT_EQ(json::parse(event)->at("tokens").as_array().size(), 1u) << event;
  }
}

// Tokens with log probabilities shared an event if the reader was late.
TEST(EachToken, IsApartInStreamsThatDescribeTokens) {
  const auto service = test::load("tiny-llama");
  const PromptTokens tokens(*service);
  const auto apart = [&](const auto& change) {
    protocol::CompletionRequest request;
    request.prompts = {std::string("Once")};
    change(request);
    const auto prepared = prepare_completion(tokens, request, CancelToken());
    EXPECT_TRUE(prepared);
    return prepared && prepared->front().options.each_token;
  };
  EXPECT_TRUE(apart([](auto& request) { request.stream = request.logprobs = true; }));
  EXPECT_TRUE(apart([](auto& request) { request.stream = request.timings_per_token = true; }));
  EXPECT_FALSE(apart([](auto& request) { request.stream = true; }));
  EXPECT_FALSE(apart([](auto& request) { request.logprobs = true; })) << "not streamed";
}

}  // namespace
}  // namespace corral::engine_server
