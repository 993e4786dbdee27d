// What requests have come to: rows of the log, whose they are, and captures.
#include "api/access/rights.h"
#include "api/activity/activity_note.h"
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

// The clock of requests begins in 1970.
constexpr std::int64_t kLong = 500ll * 365 * 24 * 3'600 * 1'000;
constexpr std::string_view kFinish = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":)"
                                     R"({"cache_n":2,"prompt_n":5,"predicted_n":3}})";
constexpr std::string_view kWhole =
    R"({"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":)"
    R"({"completion_tokens":4,"prompt_tokens":9,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":1}}})";

class ActivityTest : public ApiTest {
 protected:
  ActivityTest() {
    context.core.store = &store;
    inputs_.environment = [this](std::string_view name) {
      return name == "HOME" ? std::optional(dir.path().string()) : std::nullopt;
    };
    live_ = std::move(*config::LiveSettings::open(inputs_));
    context.core.settings = live_.get();
    ann_ = config::create_key(keys_file_, "ann", {.inference = true}, 0)->key.id;
    bob_ = config::create_key(keys_file_, "bob", {.inference = true}, 0)->key.id;
    keys_ = std::move(*KeyStore::open(keys_file_, dir.path() / "uses.json", ""));
    context.access.keys = keys_.get();
    handler = make_api(context);
    have("tiny-llama");
  }
  ~ActivityTest() override { EXPECT_TRUE(store.finish_within(Millis(60'000))); }

  http::Request request(std::string path, std::string body, const std::string& key = {}) {
    http::Request request;
    request.head = {"POST", std::move(path), {}};
    request.head.headers.add("User-Agent", "OpenAI/JS 6.10.0\x01");
    request.head.headers.add("Authorization", "Bearer SECRET");
    request.id = RequestId("req-9");
    request.body = http::Body(std::move(body));
    if (!key.empty()) request.caller = {.rights = kInference, .key = key};
    return request;
  }
  static std::string chat(std::string more = {}) {
    return R"({"model":"tiny-llama","messages":[{"role":"user","content":"Hi"}])" + more + "}";
  }
  // Which is answered at once.
  Answer chatted(const std::string& key = {}, std::string more = {}) {
    auto asking = start(request("/v1/chat/completions", chat(std::move(more)), key));
    engine().request().answer(200, std::string(kWhole));
    settle();
    return *got(*asking);
  }
  backends::FakeRequest& event(std::string_view data) {
    engine().request().send("data: " + std::string(data) + "\n\n");
    settle();
    return engine().request();
  }
  Answer as(const std::string& key, std::string path) {
    http::Request request;
    request.head = {"GET", std::move(path), {}};
    request.caller = {.rights = kInference, .key = key};
    return finish(*start(std::move(request)));
  }
  json::Array rows(std::string query = {}) {
    const auto body = get("/v1/activity" + query).json();
    const auto* list = json::find(body, "activity");
    return list != nullptr && list->is_array() ? list->get_array() : json::Array();
  }
  json::Value row() {
    const auto all = rows();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? json::Value() : all.front();
  }
  backends::FakeServer& engine() { return backend.server("tiny-llama"); }

  void set(const std::string& name, json::Value value) {
    config::SetValues values;
    values[name] = std::move(value);
    EXPECT_TRUE(live_->set(values));
  }

  store::Store store{clock,
                     {.file = dir.path() / "kept.sqlite", .limits = {.activity_age = kLong, .capture_bytes = 1 << 20}}};
  config::Inputs inputs_;
  std::unique_ptr<config::LiveSettings> live_;
  const std::filesystem::path keys_file_ = dir.path() / "keys.json";
  std::string ann_, bob_;
  std::unique_ptr<KeyStore> keys_;
};

TEST_F(ActivityTest, AWholeAnswerIsARow) {
  auto asking = start(request("/v1/chat/completions", chat(), ann_));
  pass(1500ms);
  engine().request().answer(200, std::string(kWhole));
  settle();
  EXPECT_EQ(got(*asking)->status, 200u);
  const auto found = row();
  for (const auto& [name, value] :
       {std::pair{"id", "req-9"}, std::pair{"model", "tiny-llama"}, std::pair{"key", ann_.c_str()},
        std::pair{"key_name", "ann"}, std::pair{"dialect", "openai"}, std::pair{"path", "/v1/chat/completions"},
        std::pair{"client", "OpenAI/JS 6.10.0?"}, std::pair{"code", "ok"}})
    EXPECT_EQ(json::text_or(found, name, "?"), value) << name;
  for (const auto& [name, value] :
       {std::pair{"prompt_tokens", 9}, std::pair{"cached_tokens", 1}, std::pair{"output_tokens", 4},
        std::pair{"duration_ms", 1500}, std::pair{"status", 200}})
    EXPECT_EQ(json::number_or(found, name, -1), value) << name;
  EXPECT_TRUE(json::find(found, "first_token_ms")->is_null());
}

TEST_F(ActivityTest, AStreamIsListedWhileItComesAndARowAtItsEnd) {
  auto asking = start(request("/v1/messages", chat(R"(,"max_tokens":9,"stream":true)"), ann_));
  engine().request().begin_stream();
  event(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})");
  pass(1000ms);
  event(R"({"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]})");
  event(R"({"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]})");
  const auto listed = get("/v1/requests").json();
  const auto& under_way = json::find(listed, "requests")->get_array().at(0);
  for (const auto& [name, value] : {std::pair{"key", ann_.c_str()}, std::pair{"dialect", "anthropic"},
                                    std::pair{"client", "OpenAI/JS 6.10.0?"}, std::pair{"status", "running"}})
    EXPECT_EQ(json::text_or(under_way, name, "?"), value) << name;
  EXPECT_EQ(json::number_or(under_way, "output_tokens", -1), 2);
  EXPECT_EQ(json::number_or(under_way, "first_token_ms", -1), 1000);
  EXPECT_EQ(json::number_or(under_way, "since", -1), static_cast<double>(epoch_millis(timers.wall_now()) - 1000));
  EXPECT_THAT(rows(), IsEmpty());
  pass(500ms);
  event(kFinish).send("data: [DONE]\n\n");
  engine().request().end();
  settle();
  EXPECT_EQ(got(*asking)->status, 200u);
  const auto found = row();
  EXPECT_EQ(json::text_or(found, "code", ""), "ok");
  for (const auto& [name, value] :
       {std::pair{"prompt_tokens", 7}, std::pair{"cached_tokens", 2}, std::pair{"output_tokens", 3},
        std::pair{"first_token_ms", 1000}, std::pair{"duration_ms", 1500}})
    EXPECT_EQ(json::number_or(found, name, -1), value) << name;
}

TEST_F(ActivityTest, RefusalsAreRowsWithTheirCode) {
  struct Case {
    std::string path, body;
    int status;
    std::string code, model;
  };
  for (const auto& [path, body, status, code, model] :
       {Case{"/v1/chat/completions", "{", 400, "invalid_json", ""},
        Case{"/v1/chat/completions", R"({"model":"none","messages":[{"role":"user","content":"x"}]})", 404,
             "model_not_found", "none"},
        Case{"/api/chat", R"({"model":"tiny-embed","messages":[{"role":"user","content":"x"}]})", 400,
             "wrong_model_type", "tiny-embed"}}) {
    finish(*start(request(path, body)));
    const auto last = rows("?limit=1").at(0);
    EXPECT_EQ(json::number_or(last, "status", 0), status) << body;
    EXPECT_EQ(json::text_or(last, "code", ""), code) << body;
    EXPECT_EQ(json::text_or(last, "model", "?"), model) << body;
  }
  auto asking = start(request("/v1/chat/completions", chat()));
  engine().request().answer(400, R"({"error":{"message":"too long","code":"context_length_exceeded"}})");
  settle();
  EXPECT_EQ(json::text_or(rows("?limit=1").at(0), "code", ""), "context_length_exceeded");
}

TEST_F(ActivityTest, WhoLeavesIsARowToo) {
  auto early = start(request("/v1/chat/completions", chat()));
  early.reset();
  settle();
  auto late = start(request("/v1/chat/completions", chat(R"(,"stream":true)")));
  engine().request().begin_stream();
  event(R"({"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]})");
  late.reset();
  settle();
  auto ended = start(request("/v1/chat/completions", chat(R"(,"stream":true)")));
  engine().request().begin_stream();
  event(R"({"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]})");
  EXPECT_EQ(post("/v1/requests/req-9/cancel", "").status, 200u);
  settle();
  std::vector<std::string> found;
  for (const auto& one : rows())
    found.push_back(std::to_string(static_cast<int>(json::number_or(one, "status", 0))) + " " +
                    std::string(json::text_or(one, "code", "")) + " " +
                    std::to_string(static_cast<int>(json::number_or(one, "output_tokens", -1))));
  EXPECT_THAT(found, ElementsAre("200 cancelled 1", "200 cancelled 1", "499 cancelled -1"));
}

TEST_F(ActivityTest, AnEngineThatDiesInAStreamIsARowWithItsCause) {
  auto asking = start(request("/v1/chat/completions", chat(R"(,"stream":true)")));
  engine().request().begin_stream();
  event(R"({"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]})");
  engine().die();
  settle();
  ASSERT_TRUE(got(*asking));
  EXPECT_EQ(json::text_or(row(), "code", ""), "backend_died");
}

TEST_F(ActivityTest, AKeySeesItsOwnAlone) {
  chatted(ann_);
  chatted(bob_);
  const auto own = as(bob_, "/v1/activity").json();
  ASSERT_EQ(json::find(own, "activity")->get_array().size(), 1u);
  EXPECT_EQ(json::text_or(json::find(own, "activity")->get_array().at(0), "key_name", ""), "bob");
  EXPECT_EQ(json::find(own, "lost"), nullptr);
  const auto others = as(bob_, "/v1/activity?key=ann").json();
  EXPECT_THAT(json::find(others, "activity")->get_array(), IsEmpty());
  EXPECT_EQ(rows().size(), 2u);
  EXPECT_EQ(rows("?key=ann").size(), 1u);
  EXPECT_EQ(rows("?key=" + ann_).size(), 1u);
}

TEST_F(ActivityTest, FiltersAndPages) {
  chatted(ann_);
  chatted(bob_);
  finish(*start(request("/v1/chat/completions", "{")));
  EXPECT_EQ(rows("?model=tiny-llama").size(), 2u);
  EXPECT_EQ(rows("?model=tiny").size(), 0u);
  EXPECT_EQ(rows("?status=200").size(), 2u);
  EXPECT_EQ(rows("?status=4xx").size(), 1u);
  EXPECT_EQ(rows("?code=invalid_json").size(), 1u);
  EXPECT_EQ(rows("?since=99999999999999").size(), 0u);
  EXPECT_EQ(rows("?limit=0").size(), 0u);
  const auto first = get("/v1/activity?limit=2").json();
  const auto next = static_cast<int>(json::number_or(first, "next", 0));
  EXPECT_EQ(next, 2);
  EXPECT_EQ(rows("?before=" + std::to_string(next)).size(), 1u);
  for (const std::string wrong : {"limit=-1", "limit=1001", "limit=x", "since=", "before=1.5", "status=40",
                                  "status=xxx", "status=4x4", "limit=99999999999999999999"}) {
    const auto answer = get("/v1/activity?" + wrong);
    EXPECT_EQ(answer.status, 400u) << wrong;
    EXPECT_EQ(answer.error("code"), "invalid_value") << wrong;
    EXPECT_EQ(answer.error("param"), wrong.substr(0, wrong.find('='))) << wrong;
  }
}

TEST_F(ActivityTest, SwitchedOffNothingIsKept) {
  set("max_activity_rows", 0);
  chatted();
  EXPECT_THAT(rows(), IsEmpty());
  set("max_activity_rows", 10);
  chatted();
  EXPECT_EQ(rows().size(), 1u);
}

TEST_F(ActivityTest, BodiesAreCapturedOnlyWhereThatIsWanted) {
  chatted();
  EXPECT_EQ(get("/v1/activity/req-9/capture").status, 404u);
  set("capture_bodies", true);
  chatted({}, R"(,"user":"x","metadata":{"api_key":"SECRET"})");
  const auto whole = get("/v1/activity/req-9/capture");
  EXPECT_EQ(whole.status, 200u);
  EXPECT_THAT(whole.text, testing::Not(HasSubstr("SECRET")));
  EXPECT_THAT(whole.text, HasSubstr(R"("metadata":{"api_key":"[struck out]"})"));
  EXPECT_THAT(whole.text, HasSubstr(R"("content":"Hi"},"finish_reason":"stop")"));
  auto asking = start(request("/v1/chat/completions", chat(R"(,"stream":true)")));
  engine().request().begin_stream();
  event(R"({"choices":[{"index":0,"delta":{"content":"streamed"},"finish_reason":null}]})");
  event(kFinish).send("data: [DONE]\n\n");
  engine().request().end();
  settle();
  const auto streamed = get("/v1/activity/req-9/capture").json();
  const auto* capture = json::find(streamed, "capture");
  ASSERT_NE(capture, nullptr);
  EXPECT_EQ(json::text_or(*capture, "answer_type", ""), "text/event-stream");
  EXPECT_EQ(json::find(*capture, "answer")->get_array().size(), 2u);
}

TEST_F(ActivityTest, CapturesAreForAdmins) {
  set("capture_bodies", true);
  chatted(bob_);
  EXPECT_EQ(get("/v1/activity/req-9/capture").status, 200u);
  const auto* row = find_rights("GET", "/v1/activity/{id}/capture");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->needs, kAdmin);
  EXPECT_EQ(as(bob_, "/v1/activity/req-9/capture").status, 403u);
  ASSERT_NE(find_rights("GET", "/v1/activity"), nullptr);
  EXPECT_EQ(find_rights("GET", "/v1/activity")->needs, kInference | kAdmin);
}

TEST(ClientName, IsShortAndPrintable) {
  http::Headers headers;
  EXPECT_EQ(client_name(headers), "");
  headers.add("User-Agent", std::string(500, 'x'));
  EXPECT_EQ(client_name(headers).size(), 80u);
  headers.set("User-Agent", "caf\xC3\xA9\r\n");
  EXPECT_EQ(client_name(headers), "caf????");
}

}  // namespace
}  // namespace corral::api
