// GET logs as a client sees it.
#include <fstream>

#include "api/api_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::api {
namespace {

// A client that follows a log, until it is dropped.
class Follower {
 public:
  Follower(async::Executor executor, http::Handler& handler, std::string path, std::string key = {})
      : state_(std::make_shared<State>()), group_(executor) {
    http::Request request;
    request.head.target = std::move(path);
    request.caller.key = std::move(key);
    group_.spawn("follower", follow(state_, handler, std::move(request)));
  }

  bool ended() const { return state_->ended; }
  const std::string& text() const { return state_->text; }
  // Data of the events that came since the last call.
  std::vector<json::Value> events() {
    std::vector<json::Value> all;
    http::SseParser parser([&](std::string_view name, std::string_view data) {
      EXPECT_EQ(name, "lines");
      all.push_back(json::parse(data).value());
    });
    parser.feed(std::string_view(state_->text).substr(std::exchange(read_, state_->text.size())));
    return all;
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (const auto& event : events())
      for (auto& line : strings(json::find(event, "lines"))) all.push_back(std::move(line));
    return all;
  }

 private:
  struct State {
    std::string text;
    bool ended = false;
  };
  static async::Task<void> follow(std::shared_ptr<State> state, http::Handler& handler, http::Request request) {
    auto response = co_await handler.handle(std::move(request));
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

class LogsApiTest : public ApiTest {
 protected:
  LogsApiTest() { context.bodies.threads = nullptr; }  // files are read on the loop, whose end is known
  std::unique_ptr<Follower> follow(std::string query = "") {
    auto made = std::make_unique<Follower>(loop.executor(), *handler, "/v1/logs?follow=true" + query);
    settle();
    return made;
  }
  void write(std::string_view line) {
    log::set_level(log::Level::info);
    log::info("test", "{}", line);
    log::set_level(log::Level::none);
  }
  std::filesystem::path process_log(const std::string& name, std::string_view text) {
    const auto file = dir / (name + ".log");
    std::ofstream(file, std::ios::app) << text;
    return file;
  }
};

TEST_F(LogsApiTest, TheLatestLinesOfTheServerAsText) {
  write("first");
  write("second");
  for (const auto prefix : kPrefixes) {
    const auto answer = get(std::string(prefix) + "logs?lines=1");
    EXPECT_EQ(answer.status, 200u);
    EXPECT_TRUE(answer.headers.get("Content-Type").starts_with("text/plain"));
    EXPECT_TRUE(answer.text.ends_with("info    [test] second\n")) << answer.text;
    EXPECT_THAT(answer.text, Not(HasSubstr("first")));
  }
  EXPECT_THAT(get("/v1/logs").text, HasSubstr("[test] first\n"));
  EXPECT_EQ(get("/v1/logs?lines=0").text, "");
  EXPECT_EQ(get("/v1/logs?lines=1001").status, 400u);
  EXPECT_EQ(get("/v1/logs?follow=yes").status, 400u);
}

TEST_F(LogsApiTest, AFollowerGetsEachLineOnce) {
  write("old");
  const auto follower = follow("&lines=1");
  auto lines = follower->lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].ends_with("[test] old")) << lines[0];
  write("new");
  write("newer");
  pass(1s);
  lines = follower->lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[1].ends_with("[test] newer")) << lines[1];
  pass(1s);
  EXPECT_THAT(follower->events(), IsEmpty());
  pass(20s);
  EXPECT_TRUE(follower->text().ends_with(http::kSsePing));
  EXPECT_FALSE(follower->ended());
}

TEST_F(LogsApiTest, ASlowFollowerLearnsHowManyLinesItMissed) {
  const auto follower = follow("&lines=0");
  EXPECT_EQ(follower->events().size(), 1u);
  for (int i = 0; i < 1200; ++i) write("many");
  pass(1s);
  const auto events = follower->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(json::number_or(events[0], "missed", 0), 200);
  EXPECT_EQ(strings(json::find(events[0], "lines")).size(), 1000u);
}

TEST_F(LogsApiTest, TheOutputOfAModelsProcessAlsoAfterItsEnd) {
  EXPECT_EQ(get("/v1/logs?model=tiny-llama").text, "");
  have("tiny-llama");
  backend.server("tiny-llama").log_file = process_log("engine-1", "one\ntwo\n");
  EXPECT_EQ(get("/v1/logs?model=tiny-llama").text, "one\ntwo\n");
  EXPECT_EQ(get("/v1/logs?model=tiny-llama&lines=1").text, "two\n");
  EXPECT_EQ(get("/v1/logs?model=tiny-qwen3").text, "");
  backend.server("tiny-llama").die();
  settle();
  EXPECT_EQ(get("/v1/logs?model=tiny-llama").text, "one\ntwo\n");
  EXPECT_EQ(get("/v1/logs?model=unknown").status, 404u);
}

TEST_F(LogsApiTest, AFollowerOfAModelGoesOnWithItsNextProcess) {
  const auto follower = follow("&model=tiny-llama");
  const auto first = follower->events();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(json::serialize(first[0]), R"({"lines":[]})");
  have("tiny-llama");
  backend.server("tiny-llama").log_file = process_log("engine-1", "one\n");
  pass(1s);
  auto events = follower->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(json::serialize(events[0]), R"({"process":"engine-1","lines":["one"]})");
  process_log("engine-1", "last words\n");
  backend.server("tiny-llama").die();
  settle();
  have("tiny-llama");
  backend.server("tiny-llama").log_file = process_log("engine-2", "again\n");
  pass(1s);
  events = follower->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::serialize(events[0]), R"({"process":"engine-1","lines":["last words"]})");
  EXPECT_EQ(json::serialize(events[1]), R"({"process":"engine-2","lines":["again"]})");
}

TEST_F(LogsApiTest, TheLimitOfLinesIsForTheStartNotForTheNextProcess) {
  const auto follower = follow("&model=tiny-llama&lines=1");
  EXPECT_THAT(follower->lines(), IsEmpty());
  have("tiny-llama");
  backend.server("tiny-llama").log_file = process_log("engine-1", "one\ntwo\nthree\n");
  pass(1s);
  EXPECT_THAT(follower->lines(), ElementsAre("one", "two", "three"));
}

TEST_F(LogsApiTest, AKeyThatIsRevokedEndsItsFollowers) {
  const auto file = dir.path() / "keys.json";
  const auto gone = config::create_key(file, "gone", {.admin = true}, 0)->key.id;
  const auto stays = config::create_key(file, "stays", {.admin = true}, 0)->key.id;
  const auto store = std::move(*KeyStore::open(file, dir.path() / "uses.json", ""));
  context.access.keys = store.get();
  const char* const paths[] = {"/v1/logs?follow=true", "/v1/events", "/v1/events?view=snapshots"};
  std::vector<std::unique_ptr<Follower>> revoked, others;
  for (const auto* path : paths) {
    revoked.push_back(std::make_unique<Follower>(loop.executor(), *handler, path, gone));
    others.push_back(std::make_unique<Follower>(loop.executor(), *handler, path, stays));
  }
  settle();
  pass(1s);
  for (const auto& one : revoked) EXPECT_FALSE(one->ended());
  ASSERT_TRUE(store->revoke(gone));
  pass(1s);
  pass(15s);  // of a silent stream of events
  for (const auto& one : revoked) EXPECT_TRUE(one->ended());
  for (const auto& one : others) EXPECT_FALSE(one->ended());
  revoked.clear();
  others.clear();
  context.access.keys = nullptr;
}

TEST_F(LogsApiTest, FollowersAreBoundedAndEndWithTheEvents) {
  context.admin.max_event_readers = 1;
  handler = make_api(context);
  auto follower = follow();
  const auto refused = get("/v1/logs?follow=true");
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.error("code"), "too_many_readers");
  EXPECT_EQ(get("/v1/logs").status, 200u);
  follower.reset();
  settle();
  follower = follow();
  async::SpawnedTask<bool> ending(loop.executor(), "end", [](router::ModelRouter& router) -> async::Task<bool> {
    co_await router.end_events();
    co_return true;
  }(router));
  settle();
  pass(200ms);
  EXPECT_TRUE(follower->ended());
}

}  // namespace
}  // namespace corral::api
