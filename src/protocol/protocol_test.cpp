#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/errors.h"
#include "http/sse.h"
#include "json/value.h"
#include "protocol/answers/answers.h"
#include "protocol/answers/chunks.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"
#include "protocol/requests.h"

namespace corral::protocol {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

TEST(Requests, ChatIsFilled) {
  const auto request = parse_chat_request(R"({"model":"m","stream":true,"stream_options":{"include_usage":true},
    "messages":[{"role":"user","content":"h\u00e9"}],"temperature":0,"top_k":5,"seed":-1,"max_completion_tokens":9,
    "stop":"x","logprobs":true,"top_logprobs":3,"chat_template_kwargs":{"enable_thinking":false,"a":"b"},
    "tools":[{"type":"web"},{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],
    "tool_choice":{"type":"function","function":{"name":"g"}},"parallel_tool_calls":false,"reasoning_effort":"low"})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model, "m");
  EXPECT_TRUE(request->stream);
  EXPECT_TRUE(request->include_usage);
  EXPECT_EQ(request->messages, R"([{"role":"user","content":"h\u00e9"}])");
  EXPECT_EQ(request->sampling.temperature, 0.0f);
  EXPECT_EQ(request->sampling.top_k, 5);
  EXPECT_FALSE(request->sampling.top_p);
  EXPECT_FALSE(request->sampling.seed);
  EXPECT_EQ(request->max_tokens, 9u);
  EXPECT_THAT(request->stop, ElementsAre("x"));
  EXPECT_EQ(request->n_probs, 3u);
  EXPECT_EQ(request->tools, R"([{"type":"function","function":{"name":"g"}}])");
  EXPECT_EQ(request->tool_choice, ToolChoice::required);
  EXPECT_EQ(request->parallel_tool_calls, false);
  EXPECT_EQ(request->template_kwargs.at(0), (std::pair<std::string, std::string>("enable_thinking", "false")));
  EXPECT_EQ(request->template_kwargs.at(1).second, "\"b\"");
  EXPECT_EQ(request->reasoning_effort, "low");
  EXPECT_FALSE(request->has_media);
}

TEST(Requests, SchemasComeFromEveryPlace) {
  const auto schema = [](std::string_view more) {
    const auto request =
        parse_chat_request(std::string(R"({"messages":[{"role":"user","content":"x"}],)").append(more).append("}"));
    return request ? request->json_schema.text : "refused: " + request.error().message;
  };
  EXPECT_EQ(schema(R"("json_schema":{"type":"string"})"), R"({"type":"string"})");
  EXPECT_EQ(schema(R"("response_format":{"type":"json_object"})"), R"({"type":"object"})");
  EXPECT_EQ(schema(R"("response_format":{"type":"json_object","schema":{"type":"array"}})"), R"({"type":"array"})");
  EXPECT_EQ(schema(R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"a":1}}})"),
            R"({"a":1})");
  EXPECT_EQ(schema(R"("response_format":{"type":"text"})"), "");
  EXPECT_THAT(schema(R"("json_schema":{},"grammar":"root ::= x")"), HasSubstr("'grammar'"));
}

TEST(Requests, SamplersByNameOrLetter) {
  const auto order = [](const std::string& samplers) {
    const auto request = parse_completion_request(R"({"prompt":"x","samplers":)" + samplers + "}");
    EXPECT_TRUE(request);
    return request->sampling.samplers;
  };
  using enum SamplerKind;
  EXPECT_EQ(order(R"(["top-k","temperature","typ_p"])"), (std::vector{top_k, temperature, typical_p}));
  EXPECT_EQ(order(R"("kty")"), (std::vector{top_k, temperature, typical_p}));
  EXPECT_EQ(order("[]"), std::vector<SamplerKind>());
  EXPECT_EQ(order("null"), std::nullopt);
}

TEST(Requests, GrammarsThatNestTooDeepAreRefused) {
  const auto parsed_with = [](const std::string& grammar) {
    return parse_completion_request(R"({"prompt":"a","grammar":")" + grammar + R"("})");
  };
  EXPECT_TRUE(parsed_with("root ::= " + std::string(200, '(') + "a" + std::string(200, ')')));
  const auto refused = parsed_with("root ::= " + std::string(5000, '(') + "a" + std::string(5000, ')'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "grammar");
}

TEST(Requests, PromptsInEveryShape) {
  const auto prompts = [](std::string_view prompt) {
    const auto request = parse_completion_request(std::string(R"({"prompt":)").append(prompt).append("}"));
    EXPECT_TRUE(request);
    return request->prompts;
  };
  using Tokens = std::vector<std::int32_t>;
  EXPECT_THAT(prompts(R"("a")"), ElementsAre(Input("a")));
  EXPECT_THAT(prompts(R"("")"), ElementsAre(Input("")));
  EXPECT_THAT(prompts(R"(["a","b"])"), ElementsAre(Input("a"), Input("b")));
  EXPECT_THAT(prompts("[1,2]"), ElementsAre(Input(Tokens{1, 2})));
  EXPECT_THAT(prompts("[[1],[2,3]]"), ElementsAre(Input(Tokens{1}), Input(Tokens{2, 3})));
  using Parts = std::vector<InputPart>;
  const Input mixed(Parts{"a", Tokens{1, 2}, "b", Tokens{3}});
  EXPECT_THAT(prompts(R"(["a",1,2,"b",3])"), ElementsAre(mixed));
  EXPECT_THAT(prompts(R"([1,"a"])"), ElementsAre(Input(Parts{Tokens{1}, "a"})));
  EXPECT_THAT(prompts(R"([["a",1,2,"b",3],"c",[4],{"prompt_string":"d"}])"),
              ElementsAre(mixed, Input("c"), Input(Tokens{4}), Input("d")));
  EXPECT_THAT(prompts(R"({"prompt_string":["a",1,2,"b",3]})"), ElementsAre(mixed));
  EXPECT_FALSE(parse_completion_request(R"({"prompt":[]})"));
  EXPECT_TRUE(parse_completion_request(R"({"prompt":["a","b"],"stream":true})"));
}

TEST(Requests, GapsToFill) {
  const auto request = parse_infill_request(
      R"({"input_prefix":"a","input_suffix":["b",1],"prompt":"c","input_extra":[{"text":"d","filename":"e"},{"text":"f"}],"n_predict":3})");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->native);
  EXPECT_EQ(request->max_tokens, 3u);
  ASSERT_TRUE(request->infill);
  EXPECT_EQ(request->infill->prefix, Input("a"));
  EXPECT_EQ(request->infill->suffix, Input(std::vector<InputPart>{"b", std::vector<std::int32_t>{1}}));
  EXPECT_EQ(request->infill->begun, "c");
  ASSERT_EQ(request->infill->extra.size(), 2u);
  EXPECT_EQ(request->infill->extra[0].filename, "e");
  EXPECT_FALSE(request->infill->whole);

  const auto suffix = parse_completion_request(R"({"prompt":"a","suffix":"b"})");
  ASSERT_TRUE(suffix && suffix->infill);
  EXPECT_EQ(suffix->infill->prefix, Input("a"));
  EXPECT_EQ(suffix->infill->suffix, Input("b"));
  EXPECT_TRUE(suffix->infill->whole);
  EXPECT_FALSE(parse_completion_request(R"({"prompt":"a","suffix":""})")->infill);
}

TEST(Requests, SeveralAnswersAndEchoes) {
  const auto with = [](const std::string& more) {
    return parse_completion_request(R"({"prompt":["a","b"])" + more + "}");
  };
  EXPECT_EQ(with("")->n, 1u);
  EXPECT_EQ(with(R"(,"n":3,"best_of":3)")->n, 3u);
  EXPECT_TRUE(with(R"(,"echo":true)")->echo);
  EXPECT_TRUE(with("")->cache_prompt);
  EXPECT_FALSE(with(R"(,"cache_prompt":false)")->cache_prompt);
  EXPECT_TRUE(with(R"(,"logprobs":0)")->legacy_logprobs);
  EXPECT_FALSE(with(R"(,"n_probs":2)")->legacy_logprobs);
  const auto refused = [&](const std::string& more, const std::string& param, const std::string& message) {
    const auto request = with(more);
    ASSERT_FALSE(request) << more;
    EXPECT_EQ(request.error().param, param);
    EXPECT_THAT(request.error().message, HasSubstr(message));
  };
  refused(R"(,"best_of":3)", "best_of", "must be 'n' (1) or omitted, not 3");
  refused(R"(,"n":2,"best_of":1)", "best_of", "must be 'n' (2)");
  refused(R"(,"echo":true,"logprobs":1)", "echo", "together with 'logprobs'");
  std::string many;
  for (int i = 0; i < 40; ++i) many += R"("a",)";
  EXPECT_THAT(parse_completion_request(R"({"n":32,"prompt":[)" + many + R"("b"]})").error().message,
              HasSubstr("at most 1024: send several requests"));
}

TEST(Requests, AllowedToolsAreTheOnlyOnes) {
  const auto with = [](const std::string& mode, const std::string& allowed) {
    return parse_chat_request(
        R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}},)"
        R"({"type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"h"}}],)"
        R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":")" +
        mode + R"(","tools":[)" + allowed + "]}}}");
  };
  const auto two =
      with("auto", R"({"type":"function","function":{"name":"h"}},{"type":"function","function":{"name":"f"}})");
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->tools, R"([{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"h"}}])");
  EXPECT_EQ(two->tool_choice, ToolChoice::automatic);
  EXPECT_EQ(with("required", R"({"type":"function","function":{"name":"f"}})")->tool_choice, ToolChoice::required);
  EXPECT_THAT(with("auto", R"({"type":"function","function":{"name":"z"}})").error().message, HasSubstr("\"z\""));
  // Tools of other types are not for us.
  EXPECT_EQ(with("auto", R"({"type":"mcp","server_label":"s"})")->tools, "");
  EXPECT_EQ(with("required", R"({"type":"mcp","server_label":"s"})").error().param, "tool_choice");
}

// Once a call was required of nothing, and the answer was text.
TEST(Requests, ACallOfNothingCantBeRequired) {
  for (const std::string tools : {"", R"(,"tools":[])", R"(,"tools":[{"type":"web_search"}])"}) {
    const auto request =
        parse_chat_request(R"({"messages":[{"role":"user","content":"a"}],"tool_choice":"required")" + tools + "}");
    ASSERT_FALSE(request) << tools;
    EXPECT_EQ(request.error().param, "tool_choice");
    EXPECT_TRUE(
        parse_chat_request(R"({"messages":[{"role":"user","content":"a"}],"tool_choice":"auto")" + tools + "}"));
    EXPECT_TRUE(
        parse_chat_request(R"({"messages":[{"role":"user","content":"a"}],"tool_choice":"none")" + tools + "}"));
  }
}

TEST(Requests, LimitsBiasesAndDocuments) {
  EXPECT_FALSE(parse_completion_request(R"({"prompt":"a","max_tokens":-1})")->max_tokens);
  EXPECT_EQ(parse_completion_request(R"({"prompt":"a","max_tokens":3,"n_predict":4})")->max_tokens, 4u);
  const auto biased = parse_completion_request(R"({"prompt":"a","logit_bias":{"15":1.5," the":false}})");
  EXPECT_EQ(std::get<std::int32_t>(biased->logit_bias.at(0).token), 15);
  EXPECT_EQ(biased->logit_bias.at(0).bias, 1.5f);
  EXPECT_EQ(std::get<std::string>(biased->logit_bias.at(1).token), " the");
  EXPECT_TRUE(std::isinf(biased->logit_bias.at(1).bias));
  const auto rerank = parse_rerank_request(R"({"query":"q","documents":["a",{"text":"b","id":1}],"top_n":9})");
  EXPECT_THAT(rerank->documents, ElementsAre("a", "b"));
  EXPECT_EQ(rerank->top_n, 9u);
  EXPECT_FALSE(parse_chat_request(R"({"messages":[{"role":"user","content":"x"}],"top_logprobs":2})"));
}

const AnswerHead kHead{.id = "chatcmpl-1", .model = "a \"model\"", .created = 5, .fingerprint = "fp"};

TEST(Answers, ChatCompletion) {
  const ChatAnswer answers[] = {{.message = {.content = "hi\n"},
                                 .finish_reason = "stop",
                                 .logprobs = {{{1, "h\xff", -0.5f}, {{2, "i", -1.0f}}}},
                                 .has_logprobs = true},
                                {.message = {.content = "ho"}, .finish_reason = "length"}};
  const auto text =
      chat_completion(kHead, answers, {.prompt_tokens = 3, .cached_tokens = 1, .completion_tokens = 2},
                      {.prompt_n = 2, .prompt_ms = 4, .predicted_n = 3, .predicted_ms = 1, .predicted_steps = 2});
  const auto answer = parsed(text);
  EXPECT_EQ(answer.at("model").as_string(), "a \"model\"");
  EXPECT_EQ(answer.at("object").as_string(), "chat.completion");
  EXPECT_EQ(answer.at("system_fingerprint").as_string(), "fp");
  EXPECT_EQ(answer.at("usage").at("total_tokens").as_int64(), 5);
  EXPECT_EQ(answer.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(), 1);
  EXPECT_EQ(answer.at("timings").at("prompt_per_token_ms").to_number<double>(), 2);
  // Three tokens, of which the first came with the prompt: two in a millisecond.
  EXPECT_EQ(answer.at("timings").at("predicted_per_second").to_number<double>(), 2000);
  EXPECT_EQ(answer.at("timings").at("predicted_per_token_ms").to_number<double>(), 0.5);
  const auto& second = answer.at("choices").at(1);
  EXPECT_EQ(second.at("index").as_int64(), 1);
  EXPECT_EQ(second.at("message").at("content").as_string(), "ho");
  EXPECT_TRUE(second.at("logprobs").is_null());
  const auto& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content").as_string(), "hi\n");
  EXPECT_EQ(choice.at("logprobs").at("content").at(0).at("bytes").as_array().size(), 2u);
  EXPECT_EQ(choice.at("logprobs").at("content").at(0).at("token").as_string(), "h\uFFFD");
  EXPECT_EQ(choice.at("logprobs").at("content").at(0).at("top_logprobs").at(0).at("id").as_int64(), 2);
}

TEST(Answers, GuessesAreTimedOnlyWhereThereWereSome) {
  const auto with = parsed(chat_completion(kHead, {}, {}, {.draft_n = 9, .draft_n_accepted = 7}));
  EXPECT_EQ(with.at("timings").at("draft_n").as_int64(), 9);
  EXPECT_EQ(with.at("timings").at("draft_n_accepted").as_int64(), 7);
  EXPECT_FALSE(parsed(chat_completion(kHead, {}, {}, {})).at("timings").as_object().contains("draft_n"));
}

TEST(Answers, LegacyLogprobsOfCompletions) {
  TextAnswer answer{.text = "h\u20AC!", .finish_reason = "stop"};
  answer.has_logprobs = true;
  answer.logprobs = {{{1, "h", -0.5f}, {{2, "i", -0.25f}}, 0},
                     {{3, "\xE2\x82", -1.0f}, {{3, "\xE2\x82", -1.0f}, {9, "\xE2\x82", -3.0f}}, 1},
                     {{4, "\xAC!", -2.0f}, {{5, "a \"b\"", -0.125f}}, 2}};
  const auto listed = parsed(text_completion(kHead, {&answer, 1}, {}, {})).at("choices").at(0).at("logprobs");
  EXPECT_EQ(json::serialize(listed.at("tokens")), R"(["h","bytes:\\xe2\\x82","bytes:\\xac\\x21"])");
  EXPECT_EQ(listed.at("token_logprobs").at(1).to_number<double>(), -1);
  EXPECT_EQ(json::serialize(listed.at("text_offset")), "[0,1,2]");
  const auto& top = listed.at("top_logprobs");
  EXPECT_EQ(top.at(0).at("i").to_number<double>(), -0.25);
  EXPECT_EQ(top.at(0).at("h").to_number<double>(), -0.5);
  EXPECT_EQ(top.at(1).as_object().size(), 1u);  // no name twice
  EXPECT_TRUE(top.at(2).as_object().contains("a \"b\""));
  EXPECT_FALSE(listed.as_object().contains("content"));

  for (auto& token : answer.logprobs) token.top.clear();
  EXPECT_TRUE(parsed(text_completion(kHead, {&answer, 1}, {}, {}))
                  .at("choices")
                  .at(0)
                  .at("logprobs")
                  .at("top_logprobs")
                  .is_null());
  answer.logprob_shape = LogprobShape::content;
  EXPECT_EQ(parsed(text_completion(kHead, {&answer, 1}, {}, {}))
                .at("choices")
                .at(0)
                .at("logprobs")
                .at("content")
                .as_array()
                .size(),
            3u);
}

TEST(Answers, ToolCallsHaveNullContent) {
  ChatAnswer answer{.finish_reason = "tool_calls"};
  answer.message.tool_calls.push_back({"call_1", "f", "{\"a\":1}"});
  const auto value = parsed(chat_completion(kHead, {&answer, 1}, {}, {}));
  const auto& message = value.at("choices").at(0).at("message");
  EXPECT_TRUE(message.at("content").is_null());
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("arguments").as_string(), "{\"a\":1}");
}

TEST(Answers, EveryChunkIsOneEventOfJson) {
  const ChunkWriter chunks(ChunkWriter::Shape::chat, kHead);
  std::string stream;
  const Timings timings{.prompt_n = 1};
  const std::vector<TokenLogprob> logprobs{{{7, "x", -1}, {}}};
  chunks.role(stream);
  chunks.delta(stream, {.content = "a\n\"b\""});
  chunks.delta(stream, {.content = "x", .reasoning_content = "y"}, logprobs, &timings);
  chunks.delta(stream, {.tool_index = 0, .tool = {"call_1", "f", ""}});
  chunks.delta(stream, {.tool_index = 0, .tool = {"", "", "{}"}});
  chunks.finish(stream, "stop", logprobs, &timings);
  chunks.usage(stream, {1, 0, 2}, &timings);
  ChunkWriter::done(stream);
  const ChunkWriter texts(ChunkWriter::Shape::text, kHead, 3, LogprobShape::legacy);
  texts.text(stream, "plain", logprobs);
  texts.finish(stream, "length");

  std::vector<std::string> events;
  http::SseParser parser([&](std::string_view, std::string_view data) { events.emplace_back(data); });
  parser.feed(stream);
  ASSERT_EQ(events.size(), 10u);
  EXPECT_EQ(events[7], "[DONE]");
  events.erase(events.begin() + 7);
  for (const auto& event : events) {
    const auto value = parsed(event);
    EXPECT_EQ(value.at("id").as_string(), "chatcmpl-1");
  }
  EXPECT_EQ(parsed(events[1]).at("choices").at(0).at("delta").at("content").as_string(), "a\n\"b\"");
  EXPECT_EQ(parsed(events[2]).at("choices").at(0).at("delta").at("reasoning_content").as_string(), "y");
  EXPECT_EQ(
      parsed(events[3]).at("choices").at(0).at("delta").at("tool_calls").at(0).at("function").at("name").as_string(),
      "f");
  EXPECT_TRUE(parsed(events[6]).at("choices").as_array().empty());
  const auto stop = parsed(events[5]).at("choices").at(0);
  EXPECT_EQ(stop.at("index").as_int64(), 0);
  EXPECT_EQ(stop.at("finish_reason").as_string(), "stop");
  EXPECT_EQ(stop.at("logprobs").at("content").as_array().size(), 1u);
  const auto plain = parsed(events[7]).at("choices").at(0);
  EXPECT_EQ(plain.at("index").as_int64(), 3);
  EXPECT_EQ(plain.at("logprobs").at("tokens").at(0).as_string(), "x");
  EXPECT_EQ(parsed(events[8]).at("choices").at(0).at("finish_reason").as_string(), "length");
}

TEST(Answers, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Answers, EmbeddingsAndRanks) {
  const std::vector<std::vector<float>> vectors = {{0.5f, -1}, {1, 0}};
  const auto floats = parsed(embeddings("m", vectors, false, 4));
  EXPECT_EQ(floats.at("data").at(1).at("index").as_int64(), 1);
  EXPECT_EQ(floats.at("data").at(0).at("embedding").at(0).to_number<double>(), 0.5);
  EXPECT_EQ(floats.at("usage").at("total_tokens").as_int64(), 4);
  const auto packed = parsed(embeddings("m", vectors, true, 4));
  EXPECT_EQ(packed.at("data").at(0).at("embedding").as_string(), "AAAAPwAAgL8=");
  const std::vector<RankedDocument> ranked = {{1, 0.9f}, {0, -3}};
  const std::vector<std::string> documents = {"a", "b"};
  const auto ranks = parsed(reranking("m", ranked, documents, 7));
  EXPECT_EQ(ranks.at("results").at(0).at("index").as_int64(), 1);
  EXPECT_EQ(ranks.at("results").at(0).at("document").at("text").as_string(), "b");
  EXPECT_FALSE(parsed(reranking("m", ranked, {}, 7)).at("results").at(0).as_object().contains("document"));
}

TEST(HttpError, EveryKindHasAStatus) {
  for (const auto& row : status_table()) {
    EXPECT_EQ(status_row(row.kind).status, row.status);
    EXPECT_GE(row.status, 400u);
  }
  EXPECT_EQ(status_table().size(), static_cast<std::size_t>(ErrorKind::cancelled) + 1);
}

TEST(HttpError, AClientThatSendsTooSlowlyIsToldSo) {
  EXPECT_EQ(http_status({make_error_code(http::errc::timed_out), "the body came too slowly"}), 408u);
  EXPECT_EQ(http_status({make_error_code(http::errc::bodies_full), "no room"}), 503u);
}

Error full_error() {
  Error error(make_error_code(errc::remote_unavailable), "no \"room\"", "model");
  error.retry_after = std::chrono::seconds(7);
  error.memory.push_back({"cuda0", 100, 50});
  return error;
}

TEST(HttpError, InThreeStyles) {
  const auto error = full_error();
  EXPECT_EQ(
      error_body(error),
      R"({"error":{"message":"no \"room\"","type":"unavailable_error","code":"unavailable","param":"model","details":{"retry_after":7,"memory":[{"device":"cuda0","need":100,"have":50}]}}})");
  EXPECT_EQ(error_body(error, Style::anthropic),
            R"({"type":"error","error":{"type":"overloaded_error","message":"no \"room\""}})");
  EXPECT_EQ(error_body(error, Style::ollama), R"({"error":"no \"room\""})");
  const auto answer = error_answer(error);
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.retry_after, std::chrono::seconds(7));
  EXPECT_EQ(answer.body, error_body(error));
  EXPECT_EQ(sse_error_event(error), "data: " + error_body(error) + "\n\n");
  EXPECT_THAT(sse_error_event(error, Style::anthropic), HasSubstr("event: error\ndata: "));
}

TEST(HttpError, ComesBackTheSame) {
  const auto back = parse_error_body(503, error_body(full_error()));
  EXPECT_EQ(back.code, errc::remote_unavailable);
  EXPECT_EQ(back.message, "no \"room\"");
  EXPECT_EQ(back.param, "model");
  EXPECT_EQ(back.retry_after, std::chrono::seconds(7));
  ASSERT_EQ(back.memory.size(), 1u);
  EXPECT_EQ(back.memory[0].need, 100u);

  // Numbers of another server that no integer holds are left out.
  const auto odd = parse_error_body(
      503, R"({"error":{"message":"m","details":{"memory":[{"device":"cpu","need":1e300,"have":-1}]}}})");
  ASSERT_EQ(odd.memory.size(), 1u);
  EXPECT_EQ(odd.memory[0].need + odd.memory[0].have, 0u);

  const Error full(make_error_code(errc::context_length_exceeded), "too long");
  EXPECT_EQ(parse_error_body(400, error_body(full)).code, errc::context_length_exceeded);
  EXPECT_EQ(parse_error_body(400, error_body(full)).fact<ContextNumbers>(), nullptr);
}

TEST(HttpError, AContextThatIsTooSmallTellsItsNumbers) {
  const auto body = error_body(context_exceeded({.n_prompt_tokens = 24'794, .n_ctx = 8'192}, "too long", "messages"));
  EXPECT_EQ(body,
            R"({"error":{"message":"too long","type":"exceed_context_size_error","code":"context_length_exceeded",)"
            R"("param":"messages","n_prompt_tokens":24794,"n_ctx":8192}})");
  const auto back = parse_error_body(400, body);
  ASSERT_NE(back.fact<ContextNumbers>(), nullptr);
  EXPECT_EQ(back.fact<ContextNumbers>()->n_prompt_tokens, 24'794u);
  EXPECT_EQ(back.fact<ContextNumbers>()->n_ctx, 8'192u);
  EXPECT_EQ(error_body(back), body) << "also where a stream is framed by the router";
  const auto streamed = read_answer(body);
  ASSERT_TRUE(streamed && streamed->failure);
  EXPECT_EQ(streamed->failure->code, errc::context_length_exceeded);
  const auto foreign = parse_error_body(
      400, R"({"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}})");
  EXPECT_EQ(foreign.code, errc::context_length_exceeded);
  ASSERT_NE(foreign.fact<ContextNumbers>(), nullptr);
  EXPECT_EQ(foreign.fact<ContextNumbers>()->n_ctx, 8u);
  // Numbers of another server that make no sense are left out.
  for (const char* wrong :
       {R"("n_prompt_tokens":-1,"n_ctx":5)", R"("n_prompt_tokens":1e300,"n_ctx":5)", R"("n_ctx":5)"})
    EXPECT_EQ(parse_error_body(
                  400, std::string(R"({"error":{"message":"m","code":"context_length_exceeded",)") + wrong + "}}")
                  .fact<ContextNumbers>(),
              nullptr)
        << wrong;
}

TEST(HttpError, ForeignBodiesBecomeMessages) {
  EXPECT_EQ(parse_error_body(404, R"({"error":"gone"})").message, "gone");
  EXPECT_EQ(parse_error_body(404, R"({"error":"gone"})").code, errc::remote_not_found);
  EXPECT_EQ(parse_error_body(502, "<html>").message, "<html>");
  EXPECT_EQ(parse_error_body(502, "<html>").code, errc::remote_upstream);
  EXPECT_EQ(parse_error_body(418, "").code, errc::remote_invalid_request);
  EXPECT_EQ(parse_error_body(599, "").code, errc::remote_internal);
  EXPECT_THAT(parse_error_body(599, "").message, HasSubstr("599"));
  EXPECT_EQ(parse_error_body(500, R"({"error":{}})").code, errc::remote_internal);
  EXPECT_EQ(parse_error_body(500, std::string(9000, 'x')).message.size(), 500u);
}

TEST(HttpError, Paths) {
  EXPECT_EQ(http_status(path_error("GET", "/v1/nothing", 404)), 404u);
  EXPECT_EQ(http_status(path_error("GET", "/v1/nothing", 405)), 405u);
  EXPECT_THAT(path_error("GET", "/v1/nothing", 404).message, HasSubstr("/v1/nothing"));
}

}  // namespace
}  // namespace corral::protocol
