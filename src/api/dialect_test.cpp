// A dialect that isn't the canonical one, through the whole API: a body in words of its own, an answer in lines, errors
// in the style of its path. Neither the router nor the backend knows of it.
#include "api/api_fixture_for_tests.h"
#include "dialects/dialect_fixture_for_tests.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

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

// A form in small pieces; tells how much was taken.
class Sender final : public http::BodySource {
 public:
  Sender(std::string form, std::size_t& taken) : form_(std::move(form)), taken_(taken) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(form_).substr(taken_, 10);
    taken_ += piece.size();
    co_return piece;
  }

 private:
  const std::string form_;
  std::size_t& taken_;
};

Result<dialects::Canonical> read_upload(dialects::Form form) {
  const auto* model = form.find("model");
  if (model == nullptr) return fail(protocol::errc::missing_field, "who is to hear it?", "model");
  dialects::Canonical asked;
  asked.about.model = *model;
  asked.about.stream = form.find("stream") != nullptr;
  form.files.front().filename = "sound";
  form.files.front().type = "audio/x";
  form.fields = {{"model", *model}};
  asked.form = std::make_shared<dialects::Form>(std::move(form));
  return asked;
}

http::Response translate_upload(const dialects::Canonical&, http::Response answer) {
  if (answer.head.status != 200) return answer;
  return http::Response::json(200, R"({"text":")" + answer.body.text() + R"("})");
}

class DialectTest : public ApiTest {
 protected:
  DialectTest() {
    context.inference.dialects = kSpoken;
    handler = make_api(context);
  }

  static std::string form(std::string_view more) {
    return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"secret\"\r\n\r\nsound of horses\r\n" +
           std::string(more) + "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ntiny-llama\r\n--x--";
  }
  std::unique_ptr<Pending> upload(std::size_t& taken, std::string_view more) {
    http::Request request;
    request.head = {"POST", "/api/hear", {}};
    request.head.headers.add("Content-Type", "multipart/form-data; boundary=x");
    request.body = http::Body(std::make_unique<Sender>(form(more), taken));
    request.id = RequestId("req-8");
    return start(std::move(request));
  }

  static constexpr dialects::Endpoint kEndpoints[] = {
      {"/api/say", protocol::Ask::chat, read_words, true,
       [](const dialects::Canonical&) -> std::unique_ptr<dialects::ResponseTranslator> {
         return std::make_unique<dialects::Lines>();
       }},
      {.path = "/api/hear", .ask = protocol::Ask::chat, .read_form = read_upload, .translate_whole = translate_upload},
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

TEST_F(DialectTest, AFormIsReadWholeAndAskedInItsCanonicalForm) {
  have("tiny-llama");
  std::size_t taken = 0;
  auto uploading = upload(taken, "");
  EXPECT_EQ(taken, form("").size()) << "the model's name may stand behind the file";
  auto& request = backend.server("tiny-llama").request();
  EXPECT_THAT(request.head().headers.get("Content-Type"), testing::StartsWith("multipart/form-data; boundary=corral-"));
  std::string uploaded;
  while (!request.upload_ended()) {
    request.read_more();
    settle();
  }
  for (const auto& piece : request.uploaded()) uploaded += piece;
  EXPECT_THAT(uploaded, HasSubstr("name=\"model\"\r\n\r\ntiny-llama\r\n"));
  EXPECT_THAT(uploaded, HasSubstr("filename=\"sound\"\r\nContent-Type: audio/x\r\n\r\nsound of horses\r\n"));
  EXPECT_THAT(uploaded, testing::Not(HasSubstr("secret")));
  request.answer(200, "neigh");
  settle();
  const auto answer = got(*uploading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, R"({"text":"neigh"})");
}

TEST_F(DialectTest, AFormWhoseBackendDiesIsSentOnceMore) {
  have("tiny-llama");
  std::size_t taken = 0;
  auto uploading = upload(taken, "");
  backend.server("tiny-llama").request().read_more();
  settle();
  backend.server("tiny-llama").die();
  settle();
  backend.server("tiny-llama").finish_load();
  settle();
  auto& request = backend.server("tiny-llama").request();
  while (!request.upload_ended()) {
    request.read_more();
    settle();
  }
  std::string uploaded;
  for (const auto& piece : request.uploaded()) uploaded += piece;
  EXPECT_THAT(uploaded, HasSubstr("sound of horses"));
  backend.server("tiny-llama").die();
  settle();
  const auto answer = got(*uploading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 502u) << "and not a third time";
}

TEST_F(DialectTest, AStreamOfAFormIsPingedUntilItsTextIsThere) {
  have("tiny-llama");
  std::size_t taken = 0;
  auto uploading = upload(taken, "--x\r\nContent-Disposition: form-data; name=stream\r\n\r\ntrue\r\n");
  pass(2'500ms);
  auto& request = backend.server("tiny-llama").request();
  while (!request.upload_ended()) {
    request.read_more();
    settle();
  }
  request.answer(200, "neigh");
  settle();
  const auto answer = got(*uploading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "text/event-stream");
  EXPECT_THAT(answer->text, testing::StartsWith(": ping\n\n: ping\n\nevent: transcript.text.delta\n"));
  EXPECT_THAT(answer->text, testing::EndsWith("data: [DONE]\n\n"));
}

TEST_F(DialectTest, WhoLeavesDuringAFormTakesTheRequestAlong) {
  have("tiny-llama");
  std::size_t taken = 0;
  auto uploading = upload(taken, "");
  backend.server("tiny-llama").request().read_more();
  settle();
  uploading.reset();
  settle();
  EXPECT_TRUE(backend.server("tiny-llama").request().dropped());
}

TEST_F(DialectTest, ErrorsAreInTheStyleOfThePath) {
  dialects::ErrorFilter filter(*handler);
  const auto ask_through = [&](std::string path, std::string body) {
    http::Request request;
    request.head.method = "POST";
    request.head.target = std::move(path);
    request.body = http::Body(std::move(body));
    async::SpawnedTask<http::Response> asking(loop.executor(), "ask", filter.handle(std::move(request)));
    settle();
    return asking.take();
  };
  const auto bad = ask_through("/api/say", "tiny-llama");
  EXPECT_EQ(bad.head.status, 400u);
  EXPECT_EQ(bad.body.text(), R"({"error":"the text is missing: write it behind the model"})");
  const auto nothing = ask_through("/api/nothing", "");
  EXPECT_EQ(nothing.head.status, 404u);
  EXPECT_EQ(nothing.body.text(), R"({"error":"unknown path /api/nothing"})");
  EXPECT_THAT(ask_through("/v1/messages", "{}").body.text(), testing::StartsWith(R"({"type":"error","error":{)"));
  EXPECT_THAT(ask_through("/v1/chat/completions", "{}").body.text(),
              HasSubstr(R"("code":"missing_required_parameter","param":"messages")"));
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
