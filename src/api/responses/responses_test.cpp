// Responses that are kept: got, gone on from, listed, deleted; whose they are; in the background; conversations.
// Long because all of them need the same stored responses.
#include <future>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/api_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::api {
namespace {

// The clock of requests begins in 1970.
constexpr std::int64_t kAges = 500ll * 365 * 24 * 3'600 * 1'000;

std::string answer_with(const std::string& text) {
  return fmt::format(
      R"({{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{}"}},"finish_reason":"stop"}}],)"
      R"("usage":{{"completion_tokens":4,"prompt_tokens":9}}}})",
      text);
}

class ResponsesTest : public ApiTest {
 protected:
  ResponsesTest() {
    use(store);
    inputs_.environment = [this](std::string_view name) {
      return name == "HOME" ? std::optional(dir.path().string()) : std::nullopt;
    };
    live_ = std::move(*config::LiveSettings::open(inputs_));
    context.core.settings = live_.get();
    have("tiny-llama");
  }
  ~ResponsesTest() override {
    async::SpawnedTask<bool> ending(loop.executor(), "end", wound_down());
    settle();
    timers.advance(2000ms);
    settle();
    EXPECT_TRUE(ending.take());
    EXPECT_TRUE(store.finish_within(Millis(60'000)));
  }
  async::Task<bool> wound_down() {
    co_await background.wind_down(Millis(1000));
    co_return true;
  }
  void use(store::Store& other) {
    context.core.store = &other;
    context.responses.background = &background;
    handler = make_api(context);
  }
  void set(const std::string& name, json::Value value) {
    config::SetValues values;
    values[name] = std::move(value);
    EXPECT_TRUE(live_->set(values));
  }

  template <typename Done>
  void run_until(Done done) {
    loop.context().restart();
    while (!done()) loop.context().run_one();
    settle();
  }
  std::unique_ptr<Pending> ask_as(const std::string& key, std::string method, std::string path, std::string body = {}) {
    http::Request request;
    request.head = {std::move(method), std::move(path), {}};
    request.id = RequestId(fmt::format("req-{}", ++asked_));
    request.body = http::Body(std::move(body));
    request.caller = {.rights = kInference, .key = key};
    return start(std::move(request));
  }
  Answer as(const std::string& key, std::string method, std::string path, std::string body = {}) {
    return finish(*ask_as(key, std::move(method), std::move(path), std::move(body)));
  }
  static std::string body(const std::string& more) { return R"({"model":"tiny-llama",)" + more + "}"; }
  // The request as the engine got it, which may take a look at the disk.
  backends::FakeRequest& reached(std::size_t before) {
    run_until([&] { return engine().requests().size() > before; });
    return engine().request();
  }
  // A response of that key, answered with this text.
  json::Value responded(const std::string& key, const std::string& more, const std::string& text = "Hi there") {
    const auto before = engine().requests().size();
    auto asking = ask_as(key, "POST", "/v1/responses", body(more));
    reached(before).answer(200, answer_with(text));
    return finish(*asking).json();
  }
  // The request in the background began, and how its response stands.
  json::Value begun(const std::string& key, const std::string& more = R"("input":"x")") {
    const auto answer = as(key, "POST", "/v1/responses", body(more + R"(,"background":true)"));
    EXPECT_EQ(answer.status, 200u) << answer.text;
    return answer.json();
  }
  // Asks until it has ended: what happens meanwhile happens on other threads.
  Answer ended(const std::string& key, const std::string& path) {
    while (true) {
      auto answer = as(key, "GET", path);
      const std::string status(json::text_or(answer.json(), "status", ""));
      if (status != "queued" && status != "in_progress") return answer;
    }
  }
  static void stream_answer(backends::FakeRequest& request, const std::string& text) {
    request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":")" + text + R"("}}]})"));
    request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"));
    request.send(std::string(http::kSseDone));
    request.end();
  }
  // A file for less than 300 kB of texts.
  store::StoreOptions small(const std::string& name) const {
    return {.file = dir.path() / name, .limits = {.response_age = kAges}, .max_pages = 60};
  }
  static std::string id_of(const json::Value& value) { return std::string(json::text_or(value, "id", "")); }
  std::string messages() {
    const auto sent = json::parse(engine().request().body());
    return sent ? json::serialize(*json::find(*sent, "messages")) : engine().request().body();
  }
  static std::vector<std::string> ids(const Answer& answer) {
    std::vector<std::string> all;
    const auto list = answer.json();
    for (const auto& item : json::find(list, "data")->as_array()) all.push_back(id_of(item));
    return all;
  }
  backends::FakeServer& engine() { return backend.server("tiny-llama"); }

  store::Store store{clock, {.file = dir.path() / "kept.sqlite", .limits = {.response_age = kAges}}};
  BackgroundResponses background{loop, timers, {.of_owner = 2, .all = 3, .event_bytes = 16384}};
  config::Inputs inputs_;
  std::unique_ptr<config::LiveSettings> live_;
  int asked_ = 0;
};

TEST_F(ResponsesTest, AnAnswerIsGotAndDeletedByTheKeyThatMadeIt) {
  const auto made = responded("ann", R"("input":"Hello","metadata":{"a":"b"})");
  EXPECT_EQ(id_of(made), "resp_1");
  EXPECT_TRUE(json::bool_or(made, "store", false));
  const auto got = as("ann", "GET", "/v1/responses/resp_1");
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.json(), made);
  for (const auto& [method, path] :
       {std::pair{"GET", "/v1/responses/resp_1"}, std::pair{"DELETE", "/v1/responses/resp_1"},
        std::pair{"POST", "/v1/responses/resp_1/cancel"}, std::pair{"GET", "/v1/responses/resp_1/input_items"}}) {
    const auto other = as("bob", method, path);
    EXPECT_EQ(other.status, 404u) << method << path;
    EXPECT_EQ(other.error("code"), "not_found") << method << path;
  }
  const auto gone = as("ann", "DELETE", "/v1/responses/resp_1");
  EXPECT_EQ(gone.text, R"({"id":"resp_1","object":"response","deleted":true})");
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
}

TEST_F(ResponsesTest, WhatIsNotToBeKeptIsNot) {
  const auto made = responded("ann", R"("input":"Hello","store":false)");
  EXPECT_FALSE(json::bool_or(made, "store", true));
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
}

TEST_F(ResponsesTest, AStoredConversationIsCompacted) {
  EXPECT_EQ(id_of(responded("ann", R"("input":"I am Ann.")", "Hello")), "resp_1");
  const auto before = engine().requests().size();
  auto asking = ask_as("ann", "POST", "/v1/responses/compact", body(R"("previous_response_id":"resp_1")"));
  reached(before).answer(200, answer_with("She is Ann."));
  const auto made = finish(*asking).json();
  EXPECT_EQ(json::text_or(made, "object", ""), "response.compaction");
  EXPECT_EQ(made.at("output").at(0).at("content").at(0).at("text").as_string(), "I am Ann.");
  EXPECT_EQ(made.at("output").at(1).at("encrypted_content").as_string(), "corral:summary:She is Ann.");
  EXPECT_EQ(as("ann", "GET", "/v1/responses/" + id_of(made)).status, 404u) << "a compaction is not stored";
  const auto without_model = as("ann", "POST", "/v1/responses/compact", R"({"input":"x"})");
  EXPECT_EQ(without_model.status, 400u);
  EXPECT_EQ(without_model.error("param"), "model");
}

TEST_F(ResponsesTest, AnOutputWithoutItsCallIsNoContinuation) {
  EXPECT_EQ(id_of(responded("ann", R"("input":"Hello")")), "resp_1");
  const auto answer = as("ann", "POST", "/v1/responses",
                         body(R"("previous_response_id":"resp_1","input":[)"
                              R"({"type":"function_call_output","call_id":"c","output":"ok"}])"));
  EXPECT_EQ(answer.status, 400u);
  EXPECT_EQ(answer.error("param"), "input[0].call_id");
}

TEST_F(ResponsesTest, AStreamIsKeptWithItsLastEvent) {
  auto asking = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x","stream":true)"));
  auto& request = engine().request();
  request.begin_stream();
  request.send(
      "data: "
      R"({"choices":[{"index":0,"delta":{"content":"event: response.failed\n"}}]})"
      "\n\n");
  settle();
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
  request.send(
      "data: "
      R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
      "\n\ndata: [DONE]\n\n");
  request.end();
  const auto streamed = finish(*asking);
  const auto kept = as("ann", "GET", "/v1/responses/resp_1");
  EXPECT_EQ(kept.status, 200u) << kept.text;
  EXPECT_THAT(streamed.text, HasSubstr(R"("response":)" + kept.text + "}"));
}

TEST_F(ResponsesTest, WhoLeavesKeepsNothing) {
  auto asking = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x","stream":true)"));
  engine().request().begin_stream();
  engine().request().send(
      "data: "
      R"({"choices":[{"index":0,"delta":{"content":"a"}}]})"
      "\n\n");
  settle();
  asking.reset();
  settle();
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
}

TEST_F(ResponsesTest, AConversationIsGoneOnWithFromAnAnswer) {
  responded("ann", R"("input":"My name is Ann.","instructions":"Be kind.")", "Hello Ann");
  const auto second =
      responded("ann", R"("input":[{"role":"user","content":"Who am I?"}],"previous_response_id":"resp_1")", "Ann");
  EXPECT_EQ(json::text_or(second, "previous_response_id", ""), "resp_1");
  EXPECT_EQ(messages(), R"([{"role":"user","content":"My name is Ann."},{"role":"assistant","content":"Hello Ann"},)"
                        R"({"role":"user","content":"Who am I?"}])")
      << "without the instructions of the one before";
  responded("ann", R"("input":"And then?","previous_response_id":"resp_2")");
  EXPECT_THAT(messages(), HasSubstr(R"({"role":"assistant","content":"Ann"},{"role":"user","content":"And then?"}])"));
  // By its id a single item can be meant, too.
  responded("ann", R"("input":[{"type":"item_reference","id":"msg_1_0"},{"role":"user","content":"Really?"}])");
  EXPECT_EQ(messages(), R"([{"role":"assistant","content":"Hello Ann"},{"role":"user","content":"Really?"}])");
}

TEST_F(ResponsesTest, WhatIsNotThereIsNamed) {
  responded("ann", R"("input":"Hello")");
  struct Case {
    std::string key, more;
    unsigned status;
    std::string code, param;
  };
  for (const auto& [key, more, status, code, param] :
       {Case{"bob", R"("input":"x","previous_response_id":"resp_1")", 400, "previous_response_not_found",
             "previous_response_id"},
        Case{"ann", R"("input":"x","previous_response_id":"' OR 1=1 --")", 400, "previous_response_not_found",
             "previous_response_id"},
        Case{"ann", R"("input":"x","conversation":"conv_9")", 404, "not_found", "conversation"},
        Case{"bob", R"("input":[{"type":"item_reference","id":"msg_1_0"}])", 400, "invalid_value", "input[0].id"},
        Case{"ann", R"("input":[{"type":"item_reference","id":"msg_1_7"}])", 400, "invalid_value", "input[0].id"},
        Case{"ann", R"("input":"x","background":true,"store":false)", 400, "invalid_value", "background"},
        Case{"ann", R"("input":"x","conversation":"c","previous_response_id":"r")", 400, "invalid_value",
             "conversation"}}) {
    const auto before = engine().requests().size();
    const auto answer = as(key, "POST", "/v1/responses", body(more));
    EXPECT_EQ(answer.status, status) << more << answer.text;
    EXPECT_EQ(answer.error("code"), code) << more;
    EXPECT_EQ(answer.error("param"), param) << more;
    EXPECT_EQ(engine().requests().size(), before) << "nothing was asked of the model: " << more;
  }
}

TEST_F(ResponsesTest, AChainThatIsTooLongIsRefused) {
  for (int n = 1; n <= 1001; ++n) {
    store::ResponseRow row{.id = fmt::format("resp_c{}", n), .owner = "ann", .created = 1, .status = "completed"};
    row.previous = n == 1 ? "" : fmt::format("resp_c{}", n - 1);
    row.doc = R"({"output":[]})";
    row.input = "[]";
    store.put(std::move(*store.reserve()), std::move(row));
    if (n % 500 == 0) as("ann", "GET", "/v1/responses/resp_c1");  // they are bounded in number
  }
  const auto long_one = as("ann", "POST", "/v1/responses", body(R"("input":"x","previous_response_id":"resp_c1001")"));
  EXPECT_EQ(long_one.status, 400u) << long_one.text;
  EXPECT_EQ(long_one.error("code"), "conversation_too_long");
  EXPECT_EQ(long_one.error("param"), "previous_response_id");
}

TEST_F(ResponsesTest, ItsInputIsListedPageByPage) {
  responded("ann", R"("input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
                   R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}","id":"mine"},)"
                   R"({"type":"function_call_output","call_id":"c","output":"d"},{"role":"user","content":"e"}])");
  const std::string path = "/v1/responses/resp_1/input_items";
  EXPECT_THAT(ids(as("ann", "GET", path + "?order=asc")),
              ElementsAre("msg_1_i0", "msg_1_i1", "mine", "fco_1_i3", "msg_1_i4"));
  EXPECT_THAT(ids(as("ann", "GET", path + "?limit=2")), ElementsAre("msg_1_i4", "fco_1_i3"));
  const auto page = as("ann", "GET", path + "?limit=2&after=fco_1_i3");
  EXPECT_THAT(ids(page), ElementsAre("mine", "msg_1_i1"));
  EXPECT_TRUE(json::bool_or(page.json(), "has_more", false));
  EXPECT_EQ(json::text_or(page.json(), "last_id", ""), "msg_1_i1");
  EXPECT_THAT(ids(as("ann", "GET", path + "?order=asc&before=mine")), ElementsAre("msg_1_i0", "msg_1_i1"));
  EXPECT_THAT(page.text, HasSubstr(R"({"id":"msg_1_i1","type":"message","role":"assistant","content":)"
                                   R"([{"type":"output_text","text":"b","annotations":[]}],"status":"completed"})"));
  for (const std::string wrong : {"limit=0", "limit=101", "limit=x", "order=up", "after=none", "before=none"}) {
    const auto answer = as("ann", "GET", path + "?" + wrong);
    EXPECT_EQ(answer.status, 400u) << wrong;
    EXPECT_EQ(answer.error("param"), wrong.substr(0, wrong.find('='))) << wrong;
  }
}

TEST_F(ResponsesTest, ACountLooksBackToo) {
  responded("ann", R"("input":"Hello")");
  const auto before = engine().requests().size();
  auto asking =
      ask_as("ann", "POST", "/v1/responses/input_tokens", body(R"("input":"x","previous_response_id":"resp_1")"));
  reached(before).answer(200, R"({"object":"response.input_tokens","input_tokens":7})");
  EXPECT_EQ(finish(*asking).status, 200u);
  EXPECT_THAT(messages(), HasSubstr("Hi there"));
}

TEST_F(ResponsesTest, SwitchedOffNothingIsKeptOrFound) {
  responded("ann", R"("input":"Hello")");
  set("store_responses", false);
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
  const auto made = responded("ann", R"("input":"Hello","store":true)");
  EXPECT_FALSE(json::bool_or(made, "store", true)) << "nobody is refused for wanting it";
  for (const std::string more :
       {R"("previous_response_id":"resp_1")", R"("conversation":"c")", R"("background":true)"}) {
    const auto answer = as("ann", "POST", "/v1/responses", body(R"("input":"x",)" + more));
    EXPECT_EQ(answer.status, 400u) << more;
    EXPECT_EQ(answer.error("code"), "nothing_kept") << more;
    EXPECT_EQ(answer.error("param"), more.substr(1, more.find('"', 1) - 1));
  }
  EXPECT_EQ(as("ann", "POST", "/v1/conversations", "{}").error("code"), "nothing_kept");
  set("store_responses", true);
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 200u);
}

TEST_F(ResponsesTest, WithAFullDiskOnlyThoseAreRefusedWhoSaidThatTheyWantItKept) {
  store::Store full(clock, small("full.sqlite"));
  use(full);
  // Which is noticed when it is written; from then on it is known.
  const auto first = responded("ann", R"("store":true,"input":")" + std::string(300'000, 'x') + "\"");
  EXPECT_EQ(json::text_or(first, "status", ""), "completed");
  EXPECT_FALSE(json::bool_or(first, "store", true)) << "it said that it was stored";
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1").status, 404u);
  const auto made = responded("ann", R"("input":"Hello")");
  EXPECT_FALSE(json::bool_or(made, "store", true)) << "it isn't, and says so";
  for (const std::string more : {R"("store":true)", R"("background":true)", R"("conversation":"c")"}) {
    const auto answer = as("ann", "POST", "/v1/responses", body(R"("input":"x",)" + more));
    EXPECT_EQ(answer.status, 503u) << more;
    EXPECT_EQ(answer.error("code"), "store_unavailable") << more;
    EXPECT_EQ(answer.headers.get("Retry-After"), "10") << more;
  }
  EXPECT_TRUE(full.finish_within(Millis(60'000)));
  use(store);
}

TEST_F(ResponsesTest, AStreamSaysAtItsEndThatTheDiskWasFull) {
  store::Store full(clock, small("full.sqlite"));
  for (auto* there : {&full, &store}) {
    use(*there);
    const auto before = engine().requests().size();
    auto asking = ask_as(
        "ann", "POST", "/v1/responses",
        body(R"("stream":true,"metadata":{"said":"\"store\":true"},"input":")" + std::string(300'000, 'x') + "\""));
    auto& request = reached(before);
    stream_answer(request, "Hi");
    const auto answer = finish(*asking);
    EXPECT_THAT(answer.text, HasSubstr(R"("store":true)")) << "it was unknown when the answer began";
    const auto last = answer.text.substr(answer.text.find("event: response.completed"));
    const auto stored = last.contains(R"("store":true)");
    EXPECT_EQ(stored, there == &store) << last;
    EXPECT_NE(stored, last.contains(R"("store":false)")) << last;
    EXPECT_THAT(last, HasSubstr(R"({"said":"\"store\":true"})"));
    const auto id = "/v1/responses/resp_" + std::to_string(asked_);
    EXPECT_EQ(as("ann", "GET", id).status, stored ? 200u : 404u);
  }
  EXPECT_TRUE(full.finish_within(Millis(60'000)));
}

// It said that it was stored.
TEST_F(ResponsesTest, InTheBackgroundAFullDiskIsTold) {
  for (const bool stream : {false, true}) {
    const auto file = fmt::format("full-{}.sqlite", stream);
    store::Store full(clock, small(file));
    use(full);
    const auto before = engine().requests().size();
    auto asking = ask_as("ann", "POST", "/v1/responses",
                         body(R"("input":"x","background":true,"stream":)" + std::string(stream ? "true" : "false")));
    const auto path = "/v1/responses/resp_" + std::to_string(asked_);
    auto& request = reached(before);
    const std::string text(300'000, 'x');
    if (stream) {
      stream_answer(request, text);
    } else {
      request.answer(200, answer_with(text));
    }
    const auto done = ended("ann", path).json();
    EXPECT_EQ(json::text_or(done, "status", ""), "completed");
    EXPECT_FALSE(json::bool_or(done, "store", true));
    if (stream) {
      // The last event alone is larger than what is kept of events.
      std::string last = "response_events_gone";
      for (int n = 0; last.contains("response_events_gone"); ++n)
        last = as("ann", "GET", fmt::format("{}?stream=true&starting_after={}", path, n)).text;
      EXPECT_THAT(last, testing::StartsWith("event: response.completed"));
      EXPECT_THAT(last, HasSubstr(R"("store":false)"));
      EXPECT_THAT(last, testing::Not(HasSubstr(R"("store":true)")));
    }
    asking.reset();
    settle();
    EXPECT_TRUE(full.finish_within(Millis(60'000)));
    // No row is left that says that it is queued.
    store::Store again(clock, {.file = dir.path() / file, .limits = {.response_age = kAges}});
    use(again);
    context.responses.background = nullptr;
    handler = make_api(context);
    EXPECT_EQ(as("ann", "GET", path).status, 404u);
    EXPECT_TRUE(again.finish_within(Millis(60'000)));
  }
  use(store);
}

TEST_F(ResponsesTest, ADiskThatDoesNotRespondIsWaitedForFiveSeconds) {
  std::promise<void> responds;
  store.capture("req-0", 0, 1, [gate = responds.get_future().share()] {
    gate.wait();
    return std::string("{}");
  });
  const auto before = engine().requests().size();
  auto asking = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x")"));
  reached(before).answer(200, answer_with("Hi"));
  settle();
  pass(4'950ms);
  const auto early = got(*asking);
  pass(50ms);
  const auto late = got(*asking);
  responds.set_value();
  EXPECT_FALSE(early);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 200u);
  EXPECT_EQ(json::text_or(late->json(), "status", ""), "completed");
  EXPECT_FALSE(json::bool_or(late->json(), "store", true));
}

TEST_F(ResponsesTest, AConversationHoldsWhatIsSaidInIt) {
  const auto made = as("ann", "POST", "/v1/conversations",
                       R"({"metadata":{"topic":"names"},"items":[{"role":"user","content":"I am Ann."}]})");
  EXPECT_EQ(made.status, 200u) << made.text;
  EXPECT_EQ(made.text, R"({"id":"conv_1","object":"conversation","created_at":86400,"updated_at":86400,)"
                       R"("metadata":{"topic":"names"}})");
  EXPECT_EQ(as("bob", "GET", "/v1/conversations/conv_1").status, 404u);
  const auto response = responded("ann", R"("input":"Who am I?","conversation":{"id":"conv_1"},"store":false)", "Ann");
  EXPECT_EQ(json::serialize(*json::find(response, "conversation")), R"({"id":"conv_1"})");
  EXPECT_THAT(messages(), HasSubstr(R"("content":"I am Ann.\nWho am I?")"));
  const std::string items = "/v1/conversations/conv_1/items";
  EXPECT_THAT(ids(as("ann", "GET", items + "?order=asc")), ElementsAre("msg_1_i0", "msg_3_i0", "msg_3_0"));
  EXPECT_THAT(ids(as("ann", "GET", items + "?limit=1&after=msg_3_0")), ElementsAre("msg_3_i0"));
  EXPECT_THAT(ids(as("ann", "GET", items + "?before=msg_3_i0")), ElementsAre("msg_3_0"));
  const auto added = as("ann", "POST", items, R"({"items":[{"role":"user","content":"Sure?"}]})");
  EXPECT_THAT(ids(added), ElementsAre("msg_7_i0")) << added.text;
  EXPECT_THAT(as("ann", "GET", items + "/msg_7_i0").text, HasSubstr("Sure?"));
  EXPECT_EQ(as("bob", "GET", items + "/msg_7_i0").status, 404u);
  responded("ann", R"("input":"Please.","conversation":"conv_1")");
  EXPECT_THAT(messages(),
              HasSubstr(R"({"role":"assistant","content":"Ann"},{"role":"user","content":"Sure?\nPlease."})"));
  EXPECT_EQ(id_of(as("ann", "DELETE", items + "/msg_7_i0").json()), "conv_1");
  EXPECT_EQ(as("ann", "GET", items + "/msg_7_i0").status, 404u);
  const auto changed = as("ann", "POST", "/v1/conversations/conv_1", R"({"metadata":{"topic":"none"}})");
  EXPECT_THAT(changed.text, HasSubstr(R"("metadata":{"topic":"none"})"));
  const auto gone = as("ann", "DELETE", "/v1/conversations/conv_1");
  EXPECT_EQ(gone.text, R"({"id":"conv_1","object":"conversation.deleted","deleted":true})");
  EXPECT_EQ(as("ann", "GET", items).status, 404u);
}

TEST_F(ResponsesTest, ConversationsAreListedForTheirKeyAlone) {
  EXPECT_EQ(as("ann", "GET", "/v1/conversations").text,
            R"({"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false})");
  for (const std::string title : {"A", "B", "C"})
    as("ann", "POST", "/v1/conversations", R"({"metadata":{"title":")" + title + R"("}})");
  as("bob", "POST", "/v1/conversations", "{}");
  const auto list = as("ann", "GET", "/v1/conversations?limit=2");
  EXPECT_EQ(list.status, 200u);
  const auto value = list.json();
  // The time of the store is the system's.
  const auto shown = [&](std::size_t at, std::string_view id, std::string_view title) {
    return fmt::format(
        R"({{"id":"{}","object":"conversation","created_at":86400,"updated_at":{},"metadata":{{"title":"{}"}}}})", id,
        json::serialize(value.at("data").at(at).at("updated_at")), title);
  };
  EXPECT_EQ(list.text, R"({"object":"list","data":[)" + shown(0, "conv_4", "C") + "," + shown(1, "conv_3", "B") +
                           R"(],"first_id":"conv_4","last_id":"conv_3","has_more":true})");
  EXPECT_THAT(ids(as("ann", "GET", "/v1/conversations?after=conv_3")), ElementsAre("conv_2"));
  EXPECT_THAT(ids(as("ann", "GET", "/v1/conversations?order=asc&limit=2")), ElementsAre("conv_2", "conv_3"));
  EXPECT_THAT(ids(as("bob", "GET", "/v1/conversations")), ElementsAre("conv_5"));
  EXPECT_THAT(ids(as("", "GET", "/v1/conversations")), ElementsAre());
}

TEST_F(ResponsesTest, AWrongQueryOfTheListOfConversationsIsNamed) {
  as("bob", "POST", "/v1/conversations", "{}");
  struct Case {
    std::string query;
    unsigned status;
    std::string message;
  };
  for (const auto& [query, status, message] :
       {Case{"limit=101", 400, "'limit' must be a whole number from 1 to 100, not '101'"},
        Case{"order=up", 400, "'order' must be asc or desc, not 'up'"},
        Case{"before=conv_1", 400, "'before' must be absent (use 'after'), not 'conv_1'"},
        Case{"after=" + std::string(513, 'x'), 400,
             "'after' must be an ID of at most 512 bytes, not '" + std::string(60, 'x') + "'"},
        Case{"after=conv_1", 404, "unknown conversation 'conv_1': it was never stored, was deleted or has expired"}}) {
    const auto answer = as("ann", "GET", "/v1/conversations?" + query);
    EXPECT_EQ(answer.status, status) << query;
    EXPECT_EQ(answer.error("message"), message);
  }
  set("store_responses", false);
  const auto off = as("bob", "GET", "/v1/conversations");
  EXPECT_EQ(off.status, 400u);
  EXPECT_EQ(off.error("code"), "nothing_kept");
  EXPECT_EQ(off.error("message"),
            "a conversation needs stored data of earlier requests, but this server stores nothing: enable "
            "store_responses, or send the whole conversation in 'input'");
}

TEST_F(ResponsesTest, BodiesOfConversationsAreChecked) {
  as("ann", "POST", "/v1/conversations", "{}");
  struct Case {
    std::string path, body, param;
  };
  std::string many;
  for (int n = 0; n < 21; ++n) many += (n > 0 ? "," : "") + std::string(R"({"role":"user","content":"x"})");
  for (const auto& [path, body, param] :
       {Case{"", R"({"items":[{"role":"robot","content":"x"}]})", "items[0].role"},
        Case{"", R"({"items":[{"type":"item_reference","id":"x"}]})", "items[0].type"},
        Case{"", R"({"items":[)" + many + "]}", "items"}, Case{"", R"({"metadata":"x"})", "metadata"},
        Case{"/conv_1", "{}", "metadata"}, Case{"/conv_1/items", R"({"items":[]})", "items"}}) {
    const auto answer = as("ann", "POST", "/v1/conversations" + path, body);
    EXPECT_EQ(answer.status, 400u) << body;
    EXPECT_EQ(answer.error("param"), param) << body;
  }
}

TEST_F(ResponsesTest, InTheBackgroundAnAnswerIsMadeWhoeverWaits) {
  const auto queued = begun("ann");
  EXPECT_EQ(json::text_or(queued, "status", ""), "queued");
  EXPECT_TRUE(json::bool_or(queued, "background", false));
  reached(0);
  const auto path = "/v1/responses/" + id_of(queued);
  EXPECT_EQ(json::text_or(as("ann", "GET", path).json(), "status", ""), "in_progress");
  EXPECT_EQ(as("bob", "GET", path).status, 404u);
  const auto early =
      as("ann", "POST", "/v1/responses", body(R"("input":"x","previous_response_id":")" + id_of(queued) + "\""));
  EXPECT_THAT(early.error("message"), HasSubstr("still running"));
  engine().request().answer(200, answer_with("Done"));
  const auto done = ended("ann", path);
  EXPECT_EQ(json::text_or(done.json(), "status", ""), "completed");
  EXPECT_THAT(done.text, HasSubstr(R"("text":"Done")"));
  EXPECT_EQ(as("ann", "POST", path + "/cancel").json(), done.json()) << "it has ended, which changes nothing";
  responded("ann", R"("input":"x","previous_response_id":")" + id_of(queued) + "\"");
  EXPECT_THAT(messages(), HasSubstr("Done"));
}

TEST_F(ResponsesTest, InTheBackgroundItIsCancelledOrDeletedWhileItRuns) {
  const auto one = begun("ann");
  reached(0);
  const auto path = "/v1/responses/" + id_of(one);
  const auto cancelled = as("ann", "POST", path + "/cancel");
  EXPECT_EQ(json::text_or(cancelled.json(), "status", ""), "cancelled") << cancelled.text;
  EXPECT_TRUE(engine().request().dropped());
  EXPECT_EQ(as("ann", "GET", path).json(), cancelled.json());
  const auto two = begun("ann");
  reached(1);
  EXPECT_EQ(as("ann", "DELETE", "/v1/responses/" + id_of(two)).status, 200u);
  settle();
  EXPECT_TRUE(engine().request().dropped());
  EXPECT_EQ(as("ann", "GET", "/v1/responses/" + id_of(two)).status, 404u);
  const auto made = responded("ann", R"("input":"Hello")");
  const auto refused = as("ann", "POST", "/v1/responses/" + id_of(made) + "/cancel");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(refused.error("code"), "response_not_in_background");
}

TEST_F(ResponsesTest, InTheBackgroundAFailureIsItsAnswer) {
  const auto one = begun("ann");
  reached(0).answer(400, R"({"error":{"message":"too long","code":"context_length_exceeded"}})");
  const auto failed = ended("ann", "/v1/responses/" + id_of(one));
  EXPECT_EQ(json::text_or(failed.json(), "status", ""), "failed");
  EXPECT_THAT(failed.text, HasSubstr(R"("error":{"code":"context_length_exceeded","message":"too long"})"));
  const auto unknown = as("ann", "POST", "/v1/responses", R"({"model":"none","input":"x","background":true})");
  EXPECT_EQ(unknown.status, 404u) << "what can be known at once is";
}

TEST_F(ResponsesTest, InTheBackgroundNobodyHasTooMany) {
  begun("ann");
  const auto second = begun("ann");
  const auto third = as("ann", "POST", "/v1/responses", body(R"("input":"x","background":true)"));
  EXPECT_EQ(third.status, 429u);
  EXPECT_EQ(third.headers.get("Retry-After"), "10");
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_3").status, 404u) << "it isn't kept as one that waits";
  begun("bob");
  EXPECT_EQ(as("cyd", "POST", "/v1/responses", body(R"("input":"x","background":true)")).status, 429u);
  as("ann", "POST", "/v1/responses/" + id_of(second) + "/cancel");
  begun("cyd");
}

TEST_F(ResponsesTest, InTheBackgroundAStreamIsGoneOnWith) {
  auto first = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x","background":true,"stream":true)"));
  auto& request = reached(0);
  request.begin_stream();
  request.send(
      "data: "
      R"({"choices":[{"index":0,"delta":{"content":"Hel"}}]})"
      "\n\n");
  settle();
  first.reset();
  settle();
  EXPECT_FALSE(request.dropped()) << "it goes on when its client leaves";
  auto again = ask_as("ann", "GET", "/v1/responses/resp_1?stream=true&starting_after=4");
  EXPECT_EQ(as("bob", "GET", "/v1/responses/resp_1?stream=true").status, 404u);
  request.send(
      "data: "
      R"({"choices":[{"index":0,"delta":{"content":"lo"}}]})"
      "\n\n");
  pass(6000ms);
  request.send(
      "data: "
      R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
      "\n\ndata: [DONE]\n\n");
  request.end();
  const auto rest = finish(*again);
  const auto whole = as("ann", "GET", "/v1/responses/resp_1?stream=true");
  EXPECT_THAT(whole.text, testing::StartsWith("event: response.created\n"));
  EXPECT_THAT(whole.text, HasSubstr("event: response.queued\n"));
  EXPECT_THAT(whole.text, HasSubstr(R"("status":"queued")"));
  EXPECT_THAT(whole.text, HasSubstr("event: response.completed\n"));
  EXPECT_THAT(rest.text, testing::Not(HasSubstr("response.created")));
  EXPECT_THAT(rest.text, HasSubstr(R"("sequence_number":5)"));
  EXPECT_THAT(rest.text, HasSubstr(": ping\n\n"));
  EXPECT_THAT(rest.text, HasSubstr("event: response.completed\n"));
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1?stream=x").error("param"), "stream");
  EXPECT_EQ(as("ann", "GET", "/v1/responses/resp_1?stream=true&starting_after=-1").error("param"), "starting_after");
  const auto made = responded("ann", R"("input":"Hello")");
  EXPECT_EQ(as("ann", "GET", "/v1/responses/" + id_of(made) + "?stream=true").error("code"), "response_events_gone");
}

TEST_F(ResponsesTest, InTheBackgroundEventsAreBounded) {
  auto first = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x","background":true,"stream":true)"));
  auto& request = reached(0);
  first.reset();
  request.begin_stream();
  const auto event = R"({"choices":[{"index":0,"delta":{"content":")" + std::string(1000, 'a') + R"("}}]})";
  for (int n = 0; n < 30; ++n) request.send("data: " + event + "\n\n");
  settle();
  const auto late = as("ann", "GET", "/v1/responses/resp_1?stream=true");
  EXPECT_THAT(late.text, HasSubstr("response_events_gone"));
}

TEST_F(ResponsesTest, InTheBackgroundAStreamThatNeverBeginsEndsWithItsFailure) {
  auto asking = ask_as("ann", "POST", "/v1/responses", body(R"("input":"x","background":true,"stream":true)"));
  reached(0).answer(500, R"({"error":{"message":"no luck","code":"oops"}})");
  const auto streamed = finish(*asking);
  EXPECT_THAT(streamed.text, testing::StartsWith("event: response.created\n"));
  EXPECT_THAT(streamed.text, HasSubstr("event: response.failed\n"));
  EXPECT_THAT(streamed.text, HasSubstr("no luck"));
}

TEST_F(ResponsesTest, WhatTheEndOfTheServerComesUponWasInterrupted) {
  const store::StoreOptions options{.file = dir.path() / "end.sqlite", .limits = {.response_age = kAges}};
  store::Store last(clock, options);
  use(last);
  const auto one = begun("ann");
  reached(0);
  async::SpawnedTask<bool> ending(loop.executor(), "end", wound_down());
  settle();
  EXPECT_EQ(as("ann", "POST", "/v1/responses", body(R"("input":"x","background":true)")).error("code"),
            "server_stopping");
  pass(1500ms);
  EXPECT_TRUE(engine().request().dropped());
  const auto path = "/v1/responses/" + id_of(one);
  EXPECT_EQ(json::text_or(as("ann", "GET", path).json(), "status", ""), "incomplete");
  // And the one that starts then finds it so, too.
  EXPECT_TRUE(last.finish_within(Millis(60'000)));
  store::Store next(clock, options);
  use(next);
  context.responses.background = nullptr;
  const auto later = as("ann", "GET", path).json();
  EXPECT_EQ(json::text_or(later, "status", ""), "incomplete");
  EXPECT_EQ(json::serialize(*json::find(later, "incomplete_details")), R"({"reason":"interrupted"})");
  EXPECT_TRUE(next.finish_within(Millis(60'000)));
  use(store);
}

}  // namespace
}  // namespace corral::api
