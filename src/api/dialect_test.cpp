// A dialect that isn't the canonical one, through the whole API: a body in words of its own, an answer in lines, errors
// in the style of its path. Neither the router nor the backend knows of it.
#include "api/api_fixture.h"
#include "dialects/error_teller.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

class Lines final : public dialects::AnswerTeller {
 public:
  std::string_view stream_type() const override { return "text/x-lines"; }
  void ping(std::string& out) override { out += "~\n"; }
  void piece(std::string& out, const protocol::AnswerPiece& piece) override {
    for (const auto& choice : piece.choices) out += "+" + choice.content + "\n";
  }
  void failure(std::string& out, const Error& error) override { out += "!" + error.message + "\n"; }
  void end(std::string& out) override { out += ".\n"; }
  std::string whole(const protocol::AnswerPiece& answer) override { return "=" + answer.choices.at(0).content; }
};

// "MODEL TEXT", with a "!" in front for a stream.
Result<dialects::Canonical> read_words(std::string body) {
  const bool stream = body.starts_with('!');
  if (stream) body.erase(0, 1);
  const auto gap = body.find(' ');
  if (gap == std::string::npos)
    return fail(protocol::errc::missing_field, "the text is missing: write it behind the model", "text");
  dialects::Canonical asked;
  asked.about.model = body.substr(0, gap);
  asked.about.stream = stream;
  json::Writer out(asked.body);
  out.begin_object().field("model", asked.about.model).field("stream", stream).key("messages").begin_array();
  out.begin_object().field("role", "user").field("content", body.substr(gap + 1)).end_object();
  out.end_array().end_object();
  return asked;
}

// A form in three pieces; tells how many were taken.
class Sender final : public http::BodySource {
 public:
  explicit Sender(int& taken) : taken_(taken) {}
  async::Task<Result<std::string_view>> read() override {
    co_return taken_ < 3 ? kPieces[taken_++] : std::string_view();
  }

 private:
  static constexpr std::string_view kPieces[] = {
      "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ntiny-llama\r\n--x\r\n",
      "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nsound", "\r\n--x--"};
  int& taken_;
};

class DialectTest : public ApiTest {
 protected:
  DialectTest() {
    context.dialects = kSpoken;
    handler = make_api(context);
  }

  static constexpr dialects::Endpoint kEndpoints[] = {
      {"/api/say", protocol::Ask::chat, read_words, true,
       [](const dialects::Canonical&) -> std::unique_ptr<dialects::AnswerTeller> { return std::make_unique<Lines>(); }},
      {.path = "/api/hear", .ask = protocol::Ask::chat, .form = true},
  };
  static constexpr dialects::Dialect kWords{"words", kEndpoints};
  static inline const dialects::Dialect* const kSpoken[] = {&kWords, &dialects::openai()};
};

TEST_F(DialectTest, TheBackendIsAskedInTheCanonicalForm) {
  have("tiny-llama");
  auto asking = send("POST", "/api/say", "tiny-llama hello \"you\"");
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.head().target, "/v1/chat/completions");
  EXPECT_EQ(request.head().headers.get("Content-Type"), "application/json");
  EXPECT_EQ(request.body(),
            R"({"model":"tiny-llama","stream":false,"messages":[{"role":"user","content":"hello \"you\""}]})");
  request.answer(200, R"({"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]})");
  settle();
  EXPECT_EQ(got(*asking)->text, "=hi");
}

TEST_F(DialectTest, AStreamIsToldFromItsFirstPingToItsEnd) {
  auto asking = send("POST", "/api/say", "!tiny-llama hello");
  pass(2000ms);
  backend.server("tiny-llama").finish_load();
  settle();
  auto& request = backend.server("tiny-llama").request();
  request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"h"}}]})"));
  request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"i"}}]})"));
  request.send(std::string(http::kSseDone));
  request.end();
  settle();
  const auto answer = got(*asking);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "text/x-lines");
  EXPECT_EQ(answer->text, "~\n~\n+h\n+i\n.\n");
}

TEST_F(DialectTest, AnErrorInTheMiddleIsToldInTheDialect) {
  have("tiny-llama");
  auto asking = send("POST", "/api/say", "!tiny-llama hello");
  backend.server("tiny-llama").request().send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"h"}}]})"));
  settle();
  backend.server("tiny-llama").die();
  settle();
  const auto answer = got(*asking);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, testing::StartsWith("+h\n!the backend of 'tiny-llama' ended"));
}

TEST_F(DialectTest, AFormPassesAsTheBackendReadsItAndBytesComeBack) {
  have("tiny-llama");
  int taken = 0;
  http::Request request;
  request.head = {"POST", "/api/hear", {}};
  request.head.headers.add("Content-Type", "multipart/form-data; boundary=x");
  request.body = http::Body(std::make_unique<Sender>(taken));
  request.id = RequestId("req-8");
  auto hearing = start(std::move(request));
  EXPECT_EQ(taken, 1) << "as far as the model's name";
  auto& backend_request = backend.server("tiny-llama").request();
  EXPECT_EQ(backend_request.head().headers.get("Content-Type"), "multipart/form-data; boundary=x");
  for (int i = 0; i < 4; ++i) {
    backend_request.read_more();
    settle();
  }
  EXPECT_TRUE(backend_request.upload_ended());
  EXPECT_EQ(taken, 3);
  EXPECT_THAT(backend_request.uploaded(), testing::SizeIs(3));
  backend_request.begin_stream(200, "audio/wav");
  backend_request.send(std::string("\0\xff", 2));
  backend_request.end();
  settle();
  const auto answer = got(*hearing);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "audio/wav");
  EXPECT_EQ(answer->text, std::string("\0\xff", 2));
}

TEST_F(DialectTest, ErrorsAreInTheStyleOfThePath) {
  dialects::ErrorTeller teller(*handler);
  const auto ask_through = [&](std::string path, std::string body) {
    http::Request request;
    request.head.method = "POST";
    request.head.target = std::move(path);
    request.body = http::Body(std::move(body));
    async::Beside<http::Response> asking(loop.executor(), "ask", teller.handle(std::move(request)));
    settle();
    return asking.take();
  };
  const auto bad = ask_through("/api/say", "tiny-llama");
  EXPECT_EQ(bad.head.status, 400u);
  EXPECT_EQ(bad.body.text(), R"({"error":"the text is missing: write it behind the model"})");
  const auto nothing = ask_through("/api/tags", "");
  EXPECT_EQ(nothing.head.status, 404u);
  EXPECT_EQ(nothing.body.text(), R"({"error":"there is nothing at /api/tags"})");
  EXPECT_THAT(ask_through("/v1/messages", "{}").body.text(), testing::StartsWith(R"({"type":"error","error":{)"));
  EXPECT_THAT(ask_through("/v1/chat/completions", "{}").body.text(),
              HasSubstr(R"("code":"missing_required_parameter","param":"messages")"));
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
