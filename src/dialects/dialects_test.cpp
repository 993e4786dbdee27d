// Dialects in front of canonical answers: which one a path belongs to, how errors are told, and a made-up dialect that
// isn't the canonical one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "dialects/error_teller.h"
#include "dialects/paths.h"
#include "dialects/told.h"
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
        Case{"/v1/messagesque", Style::openai}, Case{"/api/tags", Style::ollama}, Case{"/api", Style::ollama},
        Case{"/api/v1/models", Style::openai}, Case{"/api/v0/models", Style::openai}, Case{"/api/v10", Style::ollama},
        Case{"/apiary", Style::openai}, Case{"/completion", Style::openai}}) {
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
  ErrorTeller teller(inside);
  http::Request request;
  request.head.target = std::move(target);
  return async::run_blocking(loop, teller.handle(std::move(request)));
}

TEST(ErrorTeller, TellsOneErrorInTheStyleOfThePath) {
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
  for (const auto* answer : {&openai, &ollama, &anthropic}) {
    EXPECT_EQ(answer->head.status, 503u);
    EXPECT_EQ(answer->head.headers.get("Retry-After"), "7");
    EXPECT_EQ(answer->head.headers.get("Content-Type"), "application/json");
  }
}

TEST(ErrorTeller, ReadsWhatABackendSaid) {
  const auto said = [] {
    return http::Response::json(
        400, R"({"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}})");
  };
  EXPECT_EQ(asked("/api/chat", said).body.text(), R"({"error":"too long"})");
  EXPECT_EQ(asked("/v1/messages", said).body.text(),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"too long"}})");
  EXPECT_THAT(asked("/v1/chat/completions", said).body.text(), HasSubstr("context_length_exceeded"));
}

TEST(ErrorTeller, TellsWhatTheServerRefusedByItself) {
  Fixed inside([] { return http::Response(); });
  ErrorTeller teller(inside);
  const auto told = [&](std::string_view path) {
    const std::string said =
        R"({"error":{"message":"no Host","type":"invalid_request_error","code":"bad_request","param":null}})";
    const auto answer = teller.refused(path, http::Response::json(400, said));
    EXPECT_EQ(answer.head.status, 400u);
    return answer.body.text();
  };
  EXPECT_EQ(told("/api/chat"), R"({"error":"no Host"})");
  EXPECT_EQ(told("/v1/messages"), R"({"type":"error","error":{"type":"invalid_request_error","message":"no Host"}})");
  EXPECT_THAT(told("/"), HasSubstr(R"("code":"bad_request")"));
}

TEST(ErrorTeller, LeavesGoodAnswersAlone) {
  const auto fine = [] { return http::Response::json(200, R"({"error":"none"})"); };
  EXPECT_EQ(asked("/api/chat", fine).body.text(), R"({"error":"none"})");
}

TEST(Endpoints, AllAreReadAndNoPathIsTakenTwice) {
  std::vector<std::string_view> paths;
  for (const auto* dialect : all()) {
    for (const auto& endpoint : dialect->endpoints) {
      ASSERT_NE(endpoint.read, nullptr) << endpoint.path;
      EXPECT_FALSE(endpoint.read("[]")) << endpoint.path;
      EXPECT_EQ(endpoint.tell, nullptr) << "these are the canonical form: bytes pass untouched";
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

// ---- a dialect of lines

class Lines final : public AnswerTeller {
 public:
  std::string_view stream_type() const override { return "text/x-lines"; }
  void ping(std::string& out) override { out += "~\n"; }
  void piece(std::string& out, const protocol::AnswerPiece& piece) override {
    for (const auto& choice : piece.choices) {
      if (!choice.content.empty()) out += "+" + choice.content + "\n";
      for (const auto& tool : choice.tools) out += "@" + tool.call.name + tool.call.arguments + "\n";
      if (!choice.finish_reason.empty()) reason_ = choice.finish_reason;
    }
    if (piece.usage) out += "#" + std::to_string(piece.usage->completion_tokens) + "\n";
  }
  void failure(std::string& out, const Error& error) override { out += "!" + error.message + "\n"; }
  void end(std::string& out) override { out += "." + reason_ + "\n"; }
  std::string whole(const protocol::AnswerPiece& answer) override { return "=" + answer.choices.at(0).content; }

 private:
  std::string reason_;
};

// Gives what it was given, one at a time, and counts how often it was asked.
class Pieces final : public http::BodySource {
 public:
  Pieces(std::vector<std::string> pieces, int& reads) : pieces_(std::move(pieces)), reads_(reads) {}
  async::Task<Result<std::string_view>> read() override {
    ++reads_;
    co_return next_ < pieces_.size() ? pieces_[next_++] : std::string_view();
  }

 private:
  const std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  int& reads_;
};

std::vector<std::string> lines_of(std::vector<std::string> pieces, int* reads = nullptr) {
  async::Loop loop;
  int count = 0;
  auto response =
      told(http::Response::event_stream(std::make_unique<Pieces>(std::move(pieces), count)), std::make_unique<Lines>());
  EXPECT_EQ(response.head.headers.get("Content-Type"), "text/x-lines");
  auto collect = [](http::BodySource& source) -> async::Task<std::vector<std::string>> {
    std::vector<std::string> all;
    while (true) {
      const auto piece = co_await source.read();
      if (!piece || piece->empty()) co_return all;
      all.emplace_back(*piece);
    }
  };
  auto all = async::run_blocking(loop, collect(*response.body.source()));
  if (reads != nullptr) *reads = count;
  return all;
}

std::string delta(const std::string& members) {
  return http::sse_data(R"({"choices":[{"index":0,"delta":{)" + members + R"(},"finish_reason":null}]})");
}

TEST(Told, EventsBecomeTheDialectsOwnAsTheyCome) {
  int reads = 0;
  EXPECT_THAT(lines_of({": ping\n\n", delta(R"("role":"assistant","content":"")"), delta(R"("content":"a\nb")"),
                        delta(R"("tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}])"),
                        http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"),
                        http::sse_data(R"({"choices":[],"usage":{"completion_tokens":3}})"), "data: [DONE]\n\n"},
                       &reads),
              ElementsAre("~\n", "+a\nb\n", "@f{}\n", "#3\n", ".stop\n"));
  EXPECT_EQ(reads, 8) << "one pull for one pull, and one for the end of the transfer, which ends the request";
}

TEST(Told, CutsEventsWhereverTheyAreCut) {
  const auto all = delta(R"("content":"one")") + delta(R"("content":"two")");
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    std::string text;
    for (const auto& line : lines_of({all.substr(0, cut), all.substr(cut)})) text += line;
    EXPECT_EQ(text, "+one\n+two\n.\n") << cut;
  }
}

TEST(Told, AnErrorEndsTheStreamInTheDialect) {
  const Error error(make_error_code(protocol::errc::remote_upstream), "it died");
  EXPECT_THAT(lines_of({delta(R"("content":"a")"), protocol::sse_error_event(error), "data: [DONE]\n\n"}),
              ElementsAre("+a\n", "!it died\n"));
  EXPECT_THAT(lines_of({"data: {\n\n"}), ElementsAre(HasSubstr("!not valid JSON")));
}

TEST(Told, WholeAnswers) {
  auto answer =
      told(http::Response::json(200, R"({"choices":[{"message":{"content":"hello"}}]})"), std::make_unique<Lines>());
  EXPECT_EQ(answer.body.text(), "=hello");
  answer = told(http::Response::json(200, "hello"), std::make_unique<Lines>());
  EXPECT_EQ(answer.head.status, 502u);
  answer = told(http::Response::json(400, "{}"), std::make_unique<Lines>());
  EXPECT_EQ(answer.body.text(), "{}") << "errors are told by ErrorTeller";
  answer = told(http::Response::json(200, "as it is"), nullptr);
  EXPECT_EQ(answer.body.text(), "as it is");
}

}  // namespace
}  // namespace corral::dialects
