// Dialects in front of canonical answers: which one a path belongs to, how errors are told, and a made-up dialect that
// isn't the canonical one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/canonical_body.h"
#include "dialects/dialect_fixture_for_tests.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"
#include "dialects/own_names.h"
#include "dialects/paths.h"
#include "http/errors.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

using protocol::Style;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Paths, EachBelongsToOneApi) {
  struct Case {
    std::string_view path;
    Style style;
  };
  for (const auto& [path, style] :
       {Case{"/v1/chat/completions", Style::openai}, Case{"/", Style::openai}, Case{"", Style::openai},
        Case{"/v1/messages", Style::anthropic}, Case{"/v1/messages/count_tokens", Style::anthropic},
        Case{"/v1/messagesque", Style::openai}, Case{"/api/v1/messages/batches", Style::anthropic},
        Case{"/api/tags", Style::ollama}, Case{"/api", Style::ollama}, Case{"/api/v1/models", Style::openai},
        Case{"/api/v0/models", Style::openai}, Case{"/api/v10", Style::ollama}, Case{"/apiary", Style::openai},
        Case{"/completion", Style::openai}, Case{"/v2/rerank", Style::cohere}, Case{"/v1/rerank", Style::openai}}) {
    EXPECT_EQ(style_of_path(path), style) << path;
  }
}

// Answers what it was given.
class Fixed final : public http::Handler {
 public:
  explicit Fixed(std::function<http::Response()> make) : make_(std::move(make)) {}
  async::Task<http::Response> handle(http::Request) override { co_return make_(); }

 private:
  const std::function<http::Response()> make_;
};

http::Response asked(std::string target, std::function<http::Response()> make) {
  async::Loop loop;
  Fixed inside(std::move(make));
  ErrorFilter translator(inside);
  http::Request request;
  request.head.target = std::move(target);
  return async::run_blocking(loop, translator.handle(std::move(request)));
}

TEST(ErrorFilter, TellsOneErrorInTheStyleOfThePath) {
  const auto refuse = [] {
    Error error(make_error_code(protocol::errc::remote_unavailable), "no room", "model");
    error.retry_after = std::chrono::seconds(7);
    return error_response(error);
  };
  const auto openai = asked("/v1/models", refuse);
  EXPECT_THAT(openai.body.text(), HasSubstr(R"("code":"unavailable","param":"model")"));
  const auto ollama = asked("/api/tags?x=1", refuse);
  EXPECT_EQ(ollama.body.text(), R"({"error":"no room"})");
  const auto anthropic = asked("/v1/messages", refuse);
  EXPECT_EQ(anthropic.body.text(), R"({"type":"error","error":{"type":"overloaded_error","message":"no room"}})");
  const auto cohere = asked("/v2/rerank", refuse);
  EXPECT_EQ(cohere.body.text(), R"({"message":"no room"})");
  for (const auto* answer : {&openai, &ollama, &anthropic, &cohere}) {
    EXPECT_EQ(answer->head.status, 503u);
    EXPECT_EQ(answer->head.headers.get("Retry-After"), "7");
    EXPECT_EQ(answer->head.headers.get("Content-Type"), "application/json");
  }
}

TEST(ErrorFilter, ReadsWhatABackendSaid) {
  const auto refusal = [] {
    return http::Response::json(
        400, R"({"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}})");
  };
  EXPECT_EQ(asked("/api/chat", refusal).body.text(), R"({"error":"too long"})");
  EXPECT_EQ(asked("/v1/messages", refusal).body.text(),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"too long"}})");
  EXPECT_THAT(asked("/v1/chat/completions", refusal).body.text(), HasSubstr("context_length_exceeded"));
}

TEST(ErrorFilter, TellsWhatTheServerRefusedByItself) {
  Fixed inside([] { return http::Response(); });
  ErrorFilter translator(inside);
  const auto translated = [&](std::string_view path) {
    const std::string refusal =
        R"({"error":{"message":"no Host","type":"invalid_request_error","code":"bad_request","param":null}})";
    const auto answer = translator.refused(path, http::Response::json(400, refusal));
    EXPECT_EQ(answer.head.status, 400u);
    return answer.body.text();
  };
  EXPECT_EQ(translated("/api/chat"), R"({"error":"no Host"})");
  EXPECT_EQ(translated("/v1/messages"),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"no Host"}})");
  EXPECT_THAT(translated("/"), HasSubstr(R"("code":"bad_request")"));

  const auto too_large = [&](std::string_view path) {
    auto answer = http::Response::json(413, R"({"error":{"message":"x","type":"invalid_request_error"}})");
    answer.head.headers.add("X-Request-Id", "req-7");
    answer.failure = std::make_shared<const Error>(make_error_code(http::errc::too_large), "5 bytes are too many");
    return translator.refused(path, std::move(answer)).body.text();
  };
  EXPECT_THAT(too_large("/v1/chat/completions"), HasSubstr(R"("type":"request_too_large","code":"body_too_large")"));
  EXPECT_EQ(too_large("/v1/messages"),
            R"({"type":"error","error":{"type":"request_too_large","message":"5 bytes are too many"},)"
            R"("request_id":"req-7"})");
}

TEST(ErrorFilter, WhoSpeaksAnthropicsApiIsToldSoOnSharedPaths) {
  async::Loop loop;
  Fixed inside([] { return error_response({make_error_code(protocol::errc::unknown_path), "no such thing"}); });
  ErrorFilter translator(inside);
  const auto ask = [&](std::string target, bool version) {
    http::Request request;
    request.head.target = std::move(target);
    request.id = RequestId("req-7");
    if (version) request.head.headers.add("Anthropic-Version", "2023-06-01");
    return async::run_blocking(loop, translator.handle(std::move(request)));
  };
  const auto translated = ask("/v1/models/x", true);
  EXPECT_EQ(translated.body.text(), R"({"type":"error","error":{"type":"not_found_error","message":"no such thing"},)"
                                    R"("request_id":"req-7"})");
  EXPECT_EQ(translated.head.headers.get("request-id"), "req-7");
  EXPECT_THAT(ask("/v1/models/x", false).body.text(), HasSubstr(R"("code":"unknown_path")"));
  EXPECT_EQ(ask("/api/tags", true).body.text(), R"({"error":"no such thing"})");
}

TEST(ErrorFilter, LeavesGoodAnswersAlone) {
  const auto fine = [] { return http::Response::json(200, R"({"error":"none"})"); };
  EXPECT_EQ(asked("/api/chat", fine).body.text(), R"({"error":"none"})");
}

TEST(Endpoints, AllAreReadAndNoPathIsTakenTwice) {
  std::vector<std::string_view> paths;
  for (const auto* dialect : all()) {
    for (const auto& endpoint : dialect->endpoints) {
      ASSERT_NE(endpoint.read == nullptr, endpoint.read_form == nullptr) << endpoint.path;
      EXPECT_FALSE(endpoint.read != nullptr ? endpoint.read("[]") : endpoint.read_form({})) << endpoint.path;
      const bool canonical =
          dialect == &openai() || dialect == &llama_server() || endpoint.path.ends_with("responses/input_tokens");
      EXPECT_EQ(endpoint.make_translator == nullptr, canonical) << "bytes of the canonical form pass untouched";
      paths.push_back(endpoint.path);
    }
  }
  std::ranges::sort(paths);
  EXPECT_EQ(std::ranges::adjacent_find(paths), paths.end());
}

TEST(Endpoints, BodiesStayAsTheyAre) {
  const std::string body = R"({ "model" : "m", "messages":[{"role":"user","content":"x"}],"stream":true })";
  const auto read = openai().endpoints.front().read(body);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->body, body);
  EXPECT_EQ(read->about.model, "m");
  EXPECT_TRUE(read->about.stream);
}

TEST(WrittenBodies, AreCheckedInTheClientsOwnNames) {
  const auto check = [](const std::string& body) {
    const OwnNames names{.field = [](std::string_view canonical, std::string_view code) {
      static constexpr Renamed kRows[] = {{"messages", "input", false}, {"stop", "stops"}};
      return own_name(canonical, kRows, code);
    }};
    return check_written(body, protocol::chat_fields(), names);
  };
  EXPECT_TRUE(check(R"({"messages":[{"role":"user","content":"x"}]})"));
  auto error = check(R"({"messages":[{"content":"x"}]})").error();
  EXPECT_EQ(error.param, "input") << "what it was made of is counted otherwise";
  EXPECT_THAT(error.message, testing::StartsWith("'input' "));
  error = check(R"({"messages":[{"role":"user","content":"x"}],"stop":[7]})").error();
  EXPECT_EQ(error.param, "stops[0]");
  EXPECT_EQ(own_name("stopper", {}), "stopper");
}

TEST(OwnNames, AnErrorOfTheEngineNamesTheClientsField) {
  static constexpr Renamed kRows[] = {
      {"messages", "images", false, "media_not_supported"}, {"messages", "prompt", false}, {"stop", "stops"}};
  const OwnNames names{
      .field = [](std::string_view canonical, std::string_view code) { return own_name(canonical, kRows, code); },
      .tools = {"tools[1]", "tools[2].tools[0]"},
      .schema = "input_schema"};
  EXPECT_EQ(names.of("tools[1].function.parameters", {}), "tools[2].tools[0].input_schema");
  EXPECT_EQ(names.of("tools[0].function.name", {}), "tools[1].name");
  EXPECT_EQ(names.of("tools[2].function.parameters", {}), "tools[2].function.parameters")
      << "the request has no such tool";
  EXPECT_EQ(names.of("tools", {}), "tools");
  EXPECT_EQ(names.of("messages[3].content", "x"), "prompt");
  const auto refusal = [](std::string_view code, std::string_view param, std::string_view message) {
    return http::Response::json(400, fmt::format(R"({{"error":{{"message":"{}","type":"t","code":"{}","param":"{}",)"
                                                 R"("n_ctx":7}}}})",
                                                 message, code, param));
  };
  const auto renamed = [&](std::string_view code, std::string_view param, std::string_view message) {
    return in_own_names(refusal(code, param, message), names).body.text();
  };
  EXPECT_EQ(renamed("media_not_supported", "messages", "'messages' isn't 'messages2'"),
            refusal("media_not_supported", "images", "'images' isn't 'messages2'").body.text());
  EXPECT_EQ(renamed("x", "messages", "'messages[0]' can't be 'messages'"),
            refusal("x", "prompt", "'prompt' can't be 'prompt'").body.text());
  EXPECT_EQ(renamed("x", "stop", "'stop[2]' isn't, 'stop"),
            refusal("x", "stops", "'stops[2]' isn't, 'stop").body.text());
  for (const std::string text : {"no JSON", R"({"error":"text"})", R"({"error":{"message":"'stop'","param":null}})"})
    EXPECT_EQ(in_own_names(http::Response::json(502, text), names).body.text(), text);
  auto own = error_response({make_error_code(protocol::errc::bad_value), "'stop' is wrong", "stop"});
  own = in_own_names(std::move(own), names);
  EXPECT_EQ(own.failure->param, "stops");
  EXPECT_EQ(own.failure->message, "'stops' is wrong");
}

TEST(OwnNames, AStreamThatHasBegunTellsThemToo) {
  const auto names = std::make_shared<const OwnNames>(
      OwnNames{.field = [](std::string_view, std::string_view) { return std::string("input"); }});
  async::Loop loop;
  auto response = translated(http::Response::event_stream(std::make_unique<Pieces>(std::vector<std::string>{
                                 http::sse_data(R"({"error":{"message":"'messages' is long","param":"messages"}})")})),
                             std::make_unique<Lines>(), {}, {}, names);
  EXPECT_EQ(async::run_blocking(loop, response.body.read_all(1 << 20)).value(), "!'input' is long\n");
}

// ---- a dialect of lines

std::vector<std::string> lines_of(std::vector<std::string> pieces, int* reads = nullptr) {
  async::Loop loop;
  auto response = translated_stream(std::move(pieces), std::make_unique<Lines>(), {}, reads);
  EXPECT_EQ(response.head.headers.get("Content-Type"), "text/x-lines");
  auto collect = [](http::BodySource& source) -> async::Task<std::vector<std::string>> {
    std::vector<std::string> all;
    while (true) {
      const auto piece = co_await source.read();
      if (!piece || piece->empty()) co_return all;
      all.emplace_back(*piece);
    }
  };
  return async::run_blocking(loop, collect(*response.body.source()));
}

std::string delta(const std::string& members) {
  return http::sse_data(R"({"choices":[{"index":0,"delta":{)" + members + R"(},"finish_reason":null}]})");
}

TEST(Translated, EventsBecomeTheDialectsOwnAsTheyCome) {
  int reads = 0;
  EXPECT_THAT(lines_of({": ping\n\n", delta(R"("role":"assistant","content":"")"), delta(R"("content":"a\nb")"),
                        delta(R"("tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}])"),
                        http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"),
                        http::sse_data(R"({"choices":[],"usage":{"completion_tokens":3}})"), "data: [DONE]\n\n"},
                       &reads),
              ElementsAre("~\n", "+a\nb\n", "@f{}\n", "#3\n", ".stop\n"));
  EXPECT_EQ(reads, 8) << "one pull for one pull, and one for the end of the transfer, which ends the request";
}

TEST(Translated, CutsEventsWhereverTheyAreCut) {
  const auto all = delta(R"("content":"one")") + delta(R"("content":"two")") + "data: [DONE]\n\n";
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    std::string text;
    for (const auto& line : lines_of({all.substr(0, cut), all.substr(cut)})) text += line;
    EXPECT_EQ(text, "+one\n+two\n.\n") << cut;
  }
}

TEST(Translated, AnErrorEndsTheStreamInTheDialect) {
  const Error error(make_error_code(protocol::errc::remote_upstream), "it died");
  EXPECT_THAT(lines_of({delta(R"("content":"a")"), protocol::sse_error_event(error), "data: [DONE]\n\n"}),
              ElementsAre("+a\n", "!it died\n"));
  EXPECT_THAT(lines_of({"data: {\n\n"}), ElementsAre(HasSubstr("!not valid JSON")));
}

TEST(Translated, WhatBreaksOffIsAFailure) {
  const auto finish = http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
  EXPECT_THAT(lines_of({delta(R"("content":"a")")}), ElementsAre("+a\n", "!the response was cut off\n"));
  EXPECT_THAT(lines_of({delta(R"("content":"a")"), finish}), ElementsAre("+a\n", ".stop\n")) << "nothing is missing";
  EXPECT_THAT(lines_of({R"({"choices":[{"message":{"content":"hello"}}]})"}), ElementsAre(HasSubstr("!the backend's")))
      << "a whole answer, where a stream was asked for";
  EXPECT_THAT(lines_of({}), ElementsAre(HasSubstr("!the backend's")));
}

TEST(Translated, WhereNothingIsToldForLongTheClientIsPinged) {
  std::vector<std::string> pieces(200, delta(R"("reasoning_content":"hm")"));
  pieces.insert(pieces.begin() + 70, delta(R"("content":"a")"));
  pieces.emplace_back("data: [DONE]\n\n");
  EXPECT_THAT(lines_of(std::move(pieces)), ElementsAre("~\n", "+a\n", "~\n", "~\n", ".\n"));
}

TEST(Translated, WholeAnswers) {
  auto answer = translated(http::Response::json(200, R"({"choices":[{"message":{"content":"hello"}}]})"),
                           std::make_unique<Lines>());
  EXPECT_EQ(answer.body.text(), "=hello");
  answer = translated(http::Response::json(200, "hello"), std::make_unique<Lines>());
  EXPECT_EQ(answer.head.status, 502u);
  answer = translated(http::Response::json(400, "{}"), std::make_unique<Lines>());
  EXPECT_EQ(answer.body.text(), "{}") << "errors are told by ErrorTeller";
  answer = translated(http::Response::json(200, R"({"error":{"message":"no","type":"server_error"}})"),
                      std::make_unique<Lines>());
  EXPECT_EQ(answer.head.status, 500u) << "says what is wrong, whatever its status";
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->message, "no");
  answer = translated(
      http::Response::json(200, R"({"choices":[{"message":{"content":"one two","reasoning_content":"x"}}]})"),
      std::make_unique<Lines>(), {}, {.content = "one"});
  EXPECT_EQ(answer.body.text(), "= two") << "of an answer that was begun, what comes behind it";
  answer = translated(http::Response::json(200, "as it is"), nullptr);
  EXPECT_EQ(answer.body.text(), "as it is");
}

}  // namespace
}  // namespace corral::dialects
