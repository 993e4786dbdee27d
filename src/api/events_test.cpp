// GET events as a client sees it.
#include "api/api_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::api {
namespace {

// A client that reads a stream as it comes, until it is dropped.
class Listener {
 public:
  struct Event {
    std::string name;
    json::Value data;
  };

  Listener(async::Executor executor, http::Handler& handler, std::string path)
      : state_(std::make_shared<State>()), group_(executor) {
    http::Request request;
    request.head.target = std::move(path);
    group_.spawn("listener", listen(state_, handler, std::move(request)));
  }

  bool ended() const { return state_->ended; }
  const std::string& text() const { return state_->text; }
  // What came since the last call.
  std::vector<Event> events() {
    std::vector<Event> all;
    http::SseParser parser([&](std::string_view name, std::string_view data) {
      all.push_back({std::string(name), json::parse(data).value()});
    });
    parser.feed(std::string_view(state_->text).substr(std::exchange(read_, state_->text.size())));
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& event : events()) all.push_back(event.name);
    return all;
  }

 private:
  struct State {
    unsigned status = 0;
    std::string text;
    bool ended = false;
  };
  static async::Task<void> listen(std::shared_ptr<State> state, http::Handler& handler, http::Request request) {
    auto response = co_await handler.handle(std::move(request));
    state->status = response.head.status;
    const auto source = response.body.take_source();
    while (source) {
      const auto piece = co_await source->read();
      if (!piece || piece->empty()) break;
      state->text.append(*piece);
    }
    state->ended = true;
  }

  std::shared_ptr<State> state_;
  std::size_t read_ = 0;
  async::TaskGroup group_;
};

class EventsApiTest : public ApiTest {
 protected:
  std::unique_ptr<Listener> listen(std::string path = "/v1/events") {
    auto made = std::make_unique<Listener>(loop.executor(), *handler, std::move(path));
    settle();
    return made;
  }
};

TEST_F(EventsApiTest, FirstEventIsHealthsPictureUnderEveryPrefix) {
  have("tiny-llama");
  const auto health = get("/health").json();
  for (const auto prefix : kPrefixes) {
    const auto listener = listen(std::string(prefix) + "events");
    const auto events = listener->events();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].name, "snapshot");
    for (const auto* member : {"model_loaded", "checkpoint_loaded", "all_models_loaded", "stopping", "max_models",
                               "pinned_models", "loading", "load_queue"}) {
      ASSERT_TRUE(json::find(events[0].data, member)) << member;
      EXPECT_EQ(*json::find(events[0].data, member), *json::find(health, member)) << member;
    }
    EXPECT_GT(json::number_or(events[0].data, "time", 0), 0);
  }
}

TEST_F(EventsApiTest, ReadersAreBoundedOverAllPrefixesAndViews) {
  std::vector<std::unique_ptr<Listener>> listeners;
  for (std::size_t i = 0; i < context.admin.max_event_readers; ++i)
    listeners.push_back(listen(i % 2 == 0 ? "/v1/events" : "/api/v1/events?view=snapshots"));
  EXPECT_FALSE(listeners.back()->names().empty());
  const auto refused = get("/v1/events");
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.error("code"), "too_many_readers");
  EXPECT_THAT(refused.error("message"), HasSubstr("max_event_readers"));
  listeners.pop_back();
  settle();
  EXPECT_THAT(listen()->names(), ElementsAre("snapshot"));
}

TEST_F(EventsApiTest, ALoadIsToldStepByStep) {
  const auto listener = listen();
  EXPECT_THAT(listener->names(), ElementsAre("snapshot"));
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama","pinned":true})");
  EXPECT_THAT(listener->names(), ElementsAre("queue", "server", "load", "queue"));
  backend.server("tiny-llama").progress(0.5);
  pass(200ms);
  auto events = listener->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(json::text_or(events[0].data, "stage", ""), "progress");
  EXPECT_EQ(json::number_or(events[0].data, "progress", 0), 0.5);
  backend.server("tiny-llama").finish_load();
  settle();
  events = listener->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(json::text_or(events[0].data, "stage", ""), "finished");
  EXPECT_EQ(json::number_or(events[0].data, "load_duration_ms", 0), 200);
  EXPECT_EQ(events[1].name, "server");
  EXPECT_EQ(json::text_or(events[1].data, "model", ""), "tiny-llama");
  EXPECT_EQ(json::text_or(events[1].data, "from", ""), "loading");
  EXPECT_EQ(json::text_or(events[1].data, "status", ""), "ready");
  EXPECT_EQ(events[2].name, "pin");
  EXPECT_TRUE(json::bool_or(events[2].data, "pinned", false));
}

TEST_F(EventsApiTest, AFailedLoadHasItsCodeAndCause) {
  const auto listener = listen();
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  listener->events();
  backend.server("tiny-llama").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
  settle();
  const auto events = listener->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::text_or(events[0].data, "stage", ""), "failed");
  EXPECT_EQ(json::text_or(events[0].data, "code", ""), "model_file_not_found");
  EXPECT_EQ(json::text_or(events[0].data, "cause", ""), "the file is gone");
  EXPECT_EQ(json::text_or(events[1].data, "status", ""), "failed");
}

TEST_F(EventsApiTest, EventsHaveNumbersAndSilenceHasComments) {
  const auto listener = listen();
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  EXPECT_THAT(listener->text(), testing::StartsWith("id: 0\nevent: snapshot\ndata: {"));
  EXPECT_THAT(listener->text(), HasSubstr("\n\nid: 1\nevent: queue\ndata: {"));
  EXPECT_THAT(listener->text(), HasSubstr("\n\nid: 2\nevent: server\ndata: {"));
  EXPECT_THAT(listener->text(), testing::Not(HasSubstr(": ping")));
  pass(15'000ms);
  EXPECT_THAT(listener->text(), testing::EndsWith(": ping\n\n"));
}

TEST_F(EventsApiTest, WhoIsOnItsWayOutSaysWhyInTheSnapshotToo) {
  have("tiny-llama");
  auto chat = send("POST", "/v1/completions", R"({"model":"tiny-llama","prompt":"x"})");
  auto unloading = send("POST", "/v1/unload", R"({"model_name":"tiny-llama"})");
  const auto listener = listen();
  const auto events = listener->events();
  const auto& server = json::find(events.at(0).data, "all_models_loaded")->get_array().at(0);
  EXPECT_EQ(json::text_or(server, "status", ""), "draining");
  EXPECT_EQ(json::text_or(server, "leaving", ""), "unload");
  backend.server("tiny-llama").request().answer(200, "{}");
  settle();
  EXPECT_EQ(got(*unloading)->status, 200u);
  const auto after = listener->events();
  EXPECT_EQ(json::text_or(after.back().data, "status", ""), "gone");
  EXPECT_EQ(json::text_or(after.back().data, "reason", ""), "unload");
}

TEST_F(EventsApiTest, SnapshotsOnlyForWhoShowsTheWhole) {
  const auto listener = listen("/v1/events?view=snapshots");
  EXPECT_THAT(listener->names(), ElementsAre("snapshot"));
  pass(50ms);
  have("tiny-llama");
  EXPECT_THAT(listener->names(), IsEmpty());
  pass(50ms);
  const auto events = listener->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(json::text_or(events[0].data, "model_loaded", ""), "tiny-llama");
  pass(1100ms);
  EXPECT_THAT(listener->names(), ElementsAre("snapshot"));
  EXPECT_EQ(get("/v1/events?view=all").error("param"), "view");
}

TEST_F(EventsApiTest, ShutdownEndsTheStream) {
  const auto listener = listen();
  EXPECT_FALSE(listener->ended());
  async::SpawnedTask<bool> stopped(loop.executor(), "stop", stop());
  settle();
  EXPECT_TRUE(listener->ended());
  EXPECT_THAT(listener->names(), ElementsAre("snapshot", "shutdown"));
}

}  // namespace
}  // namespace corral::api
