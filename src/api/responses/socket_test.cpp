// The WebSocket of the Responses API: its messages are requests, and events come back; what it remembers; errors.
#include <fmt/format.h>

#include "api/api_fixture_for_tests.h"
#include "api/responses/socket_message.h"
#include "async/event.h"
#include "http/errors.h"
#include "http/web_socket.h"
#include "store/store.h"

namespace corral::api {
namespace {

class FakeSocket final : public http::WebSocket {
 public:
  explicit FakeSocket(async::Executor executor) : messages_(executor) {}
  async::Task<Result<std::string>> read() override {
    auto receiving = messages_.receive();
    auto message = co_await std::move(receiving);
    if (!message) co_return fail(http::errc::peer_closed, "gone");
    co_return std::move(*message);
  }
  async::Task<Result<>> write(std::string_view text) override {
    auto event = json::parse(std::string(text));
    EXPECT_TRUE(event) << text;
    if (event) events.push_back(std::move(*event));
    co_return Result<>();
  }
  void push(std::string message) { messages_.send(std::move(message)); }
  void leave() { messages_.close(); }

  std::vector<json::Value> events;

 private:
  async::Channel<std::string> messages_;
};

constexpr std::int64_t kForAges = 500ll * 365 * 24 * 3'600 * 1'000;

class ResponseSocketTest : public ApiTest {
 protected:
  ResponseSocketTest() {
    context.core.store = &store;
    handler = make_api(context);
    have("tiny-llama");
    open();
  }
  ~ResponseSocketTest() override {
    close();
    EXPECT_TRUE(store.finish_within(Millis(60'000)));
  }

  void open() {
    socket = std::make_unique<FakeSocket>(loop.executor());
    serving = std::make_unique<async::SpawnedTask<bool>>(loop.executor(), "socket", serve());
    settle();
  }
  void close() {
    socket->leave();
    settle();
    serving.reset();
    settle();
  }
  async::Task<bool> serve() {
    http::Request request;
    request.head = {"GET", "/v1/responses", {}};
    request.head.headers.add("Upgrade", "websocket");
    request.head.headers.add("Sec-WebSocket-Key", "x");
    request.id = RequestId("req-socket");
    auto opening = handler->handle(std::move(request));
    const auto accepted = co_await std::move(opening);
    EXPECT_EQ(accepted.head.status, 101u);
    if (!accepted.upgrade) co_return false;
    auto running = accepted.upgrade(*socket, *handler);
    co_await std::move(running);
    co_return true;
  }
  template <typename Done>
  void run_until(Done done) {
    loop.context().restart();
    while (!done()) ASSERT_GT(loop.context().run_one(), 0u) << "nothing is left to do";
    settle();
  }
  // The events of a message that the engine never gets, or gets answered with this text.
  std::vector<json::Value> events_of(const std::string& more, const std::string& text = {}) {
    socket->events.clear();
    const auto before = engine().requests().size();
    socket->push(R"({"type":"response.create","model":"tiny-llama",)" + more + "}");
    const auto over = [&] {
      if (socket->events.empty()) return false;
      const auto type = json::text_or(socket->events.back(), "type", "");
      return type == "response.completed" || type == "response.failed" || type == "error";
    };
    run_until([&] { return over() || engine().requests().size() > before; });
    if (!over()) {
      auto& request = engine().request();
      request.begin_stream();
      request.send(fmt::format("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", text));
      request.send("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
      request.end();
      run_until(over);
    }
    return socket->events;
  }
  json::Value response_of(const std::string& more, const std::string& text) {
    const auto last = events_of(more, text).back();
    const auto* response = json::find(last, "response");
    EXPECT_NE(response, nullptr) << json::serialize(last);
    return response != nullptr ? *response : json::Value();
  }
  static std::string id_of(const json::Value& response) { return std::string(json::text_or(response, "id", "")); }
  static std::string code_of(const std::vector<json::Value>& events) {
    const auto* error = json::find(events.back(), "error");
    return error != nullptr ? std::string(json::text_or(*error, "code", "")) : json::serialize(events.back());
  }
  std::string messages() {
    const auto sent = json::parse(engine().request().body());
    return sent ? json::serialize(*json::find(*sent, "messages")) : engine().request().body();
  }
  backends::FakeServer& engine() { return backend.server("tiny-llama"); }

  store::Store store{clock, {.file = dir.path() / "kept.sqlite", .limits = {.response_age = kForAges}}};
  std::unique_ptr<FakeSocket> socket;
  std::unique_ptr<async::SpawnedTask<bool>> serving;
};

TEST_F(ResponseSocketTest, AMessageGetsTheEventsOfAStream) {
  for (const std::string text : {"one", "two"}) {
    const auto events = events_of(R"("input":"Hi","store":false)", text);
    EXPECT_EQ(json::text_or(events.front(), "type", ""), "response.created");
    EXPECT_EQ(json::number_or(events.back(), "sequence_number", 0), static_cast<double>(events.size() - 1));
    EXPECT_THAT(json::serialize(events.back()), HasSubstr("\"text\":\"" + text + "\""));
  }
}

TEST_F(ResponseSocketTest, OneThatIsNotStoredIsContinuedInTheSameConnection) {
  const auto first = response_of(R"("input":"I am Ann.","store":false)", "Hello");
  const auto second = response_of(R"("input":"And?","previous_response_id":")" + id_of(first) + "\"", "Ann");
  EXPECT_EQ(messages(), R"([{"role":"user","content":"I am Ann."},{"role":"assistant","content":"Hello"},)"
                        R"({"role":"user","content":"And?"}])");
  EXPECT_FALSE(json::bool_or(second, "store", true)) << "its beginning isn't stored";
  response_of(R"("input":"Who?","store":false,"previous_response_id":")" + id_of(second) + "\"", "Ann");
  EXPECT_THAT(messages(), HasSubstr(R"({"role":"assistant","content":"Ann"},{"role":"user","content":"Who?"}])"));
  EXPECT_EQ(code_of(events_of(R"("input":"x","store":false,"previous_response_id":")" + id_of(first) + "\"")),
            "previous_response_not_found")
      << "only the latest is remembered";
}

TEST_F(ResponseSocketTest, AnotherConnectionKnowsOnlyWhatIsStored) {
  const auto lost = response_of(R"("input":"a","store":false)", "b");
  const auto stored = response_of(R"("input":"c")", "d");
  close();
  open();
  EXPECT_EQ(code_of(events_of(R"("input":"x","previous_response_id":")" + id_of(lost) + "\"")),
            "previous_response_not_found");
  response_of(R"("input":"x","previous_response_id":")" + id_of(stored) + "\"", "e");
  EXPECT_THAT(messages(), HasSubstr(R"([{"role":"user","content":"c"},{"role":"assistant","content":"d"},)"));
}

TEST_F(ResponseSocketTest, AFailedContinuationForgetsWhatItContinued) {
  const auto previous =
      R"("store":false,"previous_response_id":")" + id_of(response_of(R"("input":"a","store":false)", "b")) + "\"";
  EXPECT_EQ(code_of(events_of(R"("type":"response.create","input":7)")), "invalid_type");
  response_of(previous + R"(,"input":"still there")", "c");
  const auto again =
      R"("store":false,"previous_response_id":")" + id_of(response_of(R"("input":"a","store":false)", "b")) + "\"";
  const auto refused =
      events_of(again + R"(,"input":[{"type":"function_call_output","call_id":"c","output":"ok"}])").back();
  EXPECT_EQ(json::number_or(refused, "status", 0), 400);
  EXPECT_EQ(json::text_or(refused.at("error"), "param", ""), "input[0].call_id");
  EXPECT_EQ(code_of(events_of(again + R"(,"input":"x")")), "previous_response_not_found");
}

TEST_F(ResponseSocketTest, WhatContinuesAnUnstoredOneCannotBeStored) {
  const auto first = id_of(response_of(R"("input":"a","store":false)", "b"));
  const auto refused =
      events_of(R"("input":"x","store":true,"previous_response_id":")" + first + "\"").back().at("error");
  EXPECT_EQ(json::text_or(refused, "message", ""),
            "'store' is true, but '" + first +
                "' is not stored: omit 'store', or send the whole conversation in "
                "'input'");
  EXPECT_EQ(json::text_or(refused, "param", ""), "store");
}

TEST_F(ResponseSocketTest, WhoLeavesEndsTheResponse) {
  socket->push(R"({"type":"response.create","model":"tiny-llama","input":"x"})");
  run_until([&] { return !engine().requests().empty(); });
  engine().request().begin_stream();
  settle();
  serving.reset();
  settle();
  EXPECT_TRUE(engine().request().dropped());
  open();
}

TEST_F(ResponseSocketTest, OtherRequestsLearnHowToOpenIt) {
  for (const auto prefix : kPrefixes) {
    const auto answer = get(std::string(prefix) + "responses");
    EXPECT_EQ(answer.status, 426u);
    EXPECT_EQ(answer.error("message"), "this path takes POST, or GET to open a WebSocket: send 'Upgrade: websocket'");
    EXPECT_EQ(ask("HEAD", std::string(prefix) + "responses").status, 426u);
  }
}

TEST(SocketMessage, IsTheBodyOfAStream) {
  const auto body_of = [](const std::string& message) { return body_of_message(message).value_or("an error"); };
  EXPECT_EQ(body_of(R"({"type":"response.create","model":"m","stream":false,"stream_options":{},)"
                    R"("background":false,"input":[1, 2]})"),
            R"({"model":"m","input":[1,2],"stream":true})");
  EXPECT_EQ(body_of(R"({"type":"response.create","input":"a\ud83d"})"), R"({"input":"a\ufffd","stream":true})");
  struct Case {
    std::string message, error, param;
  };
  const std::string wanted = "a message has the fields of POST responses, and \"type\": \"response.create\"";
  for (const auto& [message, error, param] :
       {Case{"[]", "the message is not an object: " + wanted, ""}, Case{"{}", "'type' is required: " + wanted, "type"},
        Case{R"({"type":"session.update"})", "'type' is \"session.update\": " + wanted, "type"},
        Case{R"({"type":"response.create","background":true})",
             "'background' is not available in a WebSocket: send the request with POST", "background"}}) {
    const auto body = body_of_message(message);
    ASSERT_FALSE(body) << message;
    EXPECT_EQ(body.error().message, error);
    EXPECT_EQ(body.error().param, param);
  }
  EXPECT_FALSE(body_of_message("no"));
}

TEST(SocketMessage, AnErrorHasItsStatus) {
  EXPECT_EQ(error_message(400, R"({"error":{"message":"m","type":"t","code":"c","param":null,"details":{}}})"),
            R"({"type":"error","status":400,"error":{"message":"m","type":"t","code":"c","param":null,"details":{}}})");
  EXPECT_THAT(error_message(502, "gone"),
              testing::StartsWith(R"({"type":"error","status":502,"error":{"message":"gone")"));
}

}  // namespace
}  // namespace corral::api
