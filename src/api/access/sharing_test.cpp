// How keys share a server: places of each, who may wait, and what a true Retry-After says.
#include "api/access/sharing.h"

#include "api/access/rights.h"
#include "api/api_fixture_for_tests.h"
#include "protocol/client_tag.h"

namespace corral::api {
namespace {

class SharingTest : public ApiTest {
 protected:
  SharingTest() {
    two_ = config::create_key(keys_file_, "two", {.inference = true}, 0, {.max_in_flight = 2})->key.id;
    slow_ = config::create_key(keys_file_, "slow", {.inference = true}, 0, {.background = true})->key.id;
    free_ = config::create_key(keys_file_, "free", {.inference = true}, 0)->key.id;
    store_ = std::move(*KeyStore::open(keys_file_, dir.path() / "uses.json", ""));
    context.access.keys = store_.get();
    have("tiny-llama");
  }
  std::unique_ptr<Pending> chat(const std::string& key, bool stream = false, http::Headers headers = {}) {
    http::Request request;
    request.head = {"POST", "/v1/chat/completions", std::move(headers)};
    request.body = http::Body(std::string(R"({"model":"tiny-llama","messages":[{"role":"user","content":"Hi"}])") +
                              (stream ? R"(,"stream":true})" : "}"));
    request.caller = {.rights = kInference, .key = key};
    return start(std::move(request));
  }
  backends::FakeServer& engine() { return backend.server("tiny-llama"); }

  const std::filesystem::path keys_file_ = dir.path() / "keys.json";
  std::string two_, slow_, free_;
  std::unique_ptr<KeyStore> store_;
};

TEST_F(SharingTest, AKeyHasNoMoreRequestsThanItMay) {
  auto first = chat(two_), second = chat(two_), third = chat(two_);
  const auto refused = got(*third);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429u);
  EXPECT_EQ(refused->error("code"), "too_many_requests");
  EXPECT_EQ(refused->error("type"), "rate_limit_error");
  EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  EXPECT_EQ(engine().requests().size(), 2u) << "it was asked nothing";
  auto others = chat(free_);
  EXPECT_EQ(engine().requests().size(), 3u);
  engine().requests().front()->answer(200, "{}");
  settle();
  EXPECT_EQ(got(*first)->status, 200u);
  third = chat(two_);
  EXPECT_FALSE(got(*third));
  second.reset();  // a client that leaves makes room as well
  settle();
  auto fourth = chat(two_);
  EXPECT_FALSE(got(*fourth));
  for (const auto& request : engine().requests()) request->answer(200, "{}");
  settle();
  EXPECT_EQ(context.access.places.held(two_), 0u);
}

TEST_F(SharingTest, RetryAfterIsWhatIsKnown) {
  for (int i = 0; i < 12; ++i) {
    auto asking = chat(two_);
    timers.advance(30s);
    engine().request().answer(200, "{}");
    settle();
  }
  auto first = chat(two_);
  timers.advance(10s);
  auto second = chat(two_), third = chat(two_);
  EXPECT_EQ(got(*third)->headers.get("Retry-After"), "20");
  for (const auto& request : engine().requests()) request->answer(200, "{}");
  settle();
}

// Whoever reads nothing of its answers still has them under way.
TEST_F(SharingTest, AClientThatNeverReadsHoldsItsPlaces) {
  http::Request request;
  context.access.max_in_flight_per_key = 1;
  request.head = {"POST", "/v1/chat/completions", {}};
  request.body = http::Body(R"({"model":"tiny-llama","stream":true,"messages":[{"role":"user","content":"Hi"}]})");
  request.caller = {.rights = kInference, .key = free_};
  std::optional<http::Response> unread;
  auto take = [](http::Handler& by, http::Request asked, std::optional<http::Response>& into) -> async::Task<bool> {
    into = co_await by.handle(std::move(asked));
    co_return true;
  };
  async::SpawnedTask<bool> asking(loop.executor(), "unread", take(*handler, std::move(request), unread));
  settle();
  engine().request().begin_stream();
  settle();
  ASSERT_TRUE(unread);
  auto more = chat(free_);
  EXPECT_EQ(got(*more)->status, 429u);
  unread.reset();
  settle();
  more = chat(free_);
  EXPECT_FALSE(got(*more));
  engine().request().answer(200, "{}");
  settle();
}

TEST_F(SharingTest, TheSettingCountsForKeysWithoutANumberOfTheirOwn) {
  context.access.max_in_flight_per_key = 1;
  auto first = chat(free_), second = chat(free_);
  EXPECT_EQ(got(*second)->status, 429u);
  auto own = chat(two_), own_second = chat(two_), own_third = chat(two_);
  EXPECT_FALSE(got(*own_second));
  EXPECT_EQ(got(*own_third)->status, 429u);
  // Where no key is asked for there is none to count by.
  auto open = chat(""), open_second = chat("");
  EXPECT_FALSE(got(*open_second));
  for (const auto& request : engine().requests()) request->answer(200, "{}");
  settle();
}

TEST_F(SharingTest, WhoMayWaitSaysSoByItsKeyOrByItsRequest) {
  const auto priority = [&](const std::string& key, http::Headers headers = {}) {
    auto asking = chat(key, false, std::move(headers));
    auto sent = std::string(engine().request().head().headers.get(protocol::kPriority));
    engine().request().answer(200, "{}");
    settle();
    return sent;
  };
  const auto with = [](std::string_view name, std::string_view value) {
    http::Headers headers;
    headers.add(name, value);
    return headers;
  };
  EXPECT_EQ(priority(slow_), "background");
  EXPECT_EQ(priority(free_), "");
  EXPECT_EQ(priority(free_, with("Priority", "u=7")), "background");
  EXPECT_EQ(priority(free_, with("Priority", "i , u=7")), "background");
  for (const auto* other : {"u=3", "u=1, i", "u=70", "u", "", "i", "u=7, u=1"})
    EXPECT_EQ(priority(free_, with("Priority", other)), "") << other;
  EXPECT_EQ(priority(slow_, with("Priority", "u=0")), "background") << "no request is more than its key";
  EXPECT_EQ(priority(free_, with(protocol::kPriority, protocol::kBackground)), "") << "that is said between processes";
  EXPECT_EQ(priority(free_, with("Priority", std::string(8192, ','))), "");
}

TEST_F(SharingTest, KeysAreMadeWithTheirTerms) {
  config::Inputs inputs;
  const auto keys = config::read_key_file(keys_file_);
  ASSERT_TRUE(keys && *keys);
  EXPECT_EQ((*keys)->find(two_)->terms, (config::KeyTerms{.max_in_flight = 2}));
  EXPECT_EQ((*keys)->find(slow_)->terms, (config::KeyTerms{.background = true}));
  EXPECT_EQ((*keys)->find(free_)->terms, config::KeyTerms());
  EXPECT_EQ(store_->table()->terms("nobody"), config::KeyTerms());
}

// What was never a key takes no memory here, however many names there are.
TEST(KeyPlaces, AreOfKeysThatHaveALimit) {
  async::Loop loop;
  async::ManualTimers timers(loop.executor());
  KeyPlaces places(timers);
  EXPECT_EQ(*places.enter("a", 0), nullptr);
  EXPECT_EQ(*places.enter("", 5), nullptr);
  std::shared_ptr<const void> held;
  {
    auto one = places.enter("a", 1);
    ASSERT_TRUE(one && *one);
    held = *one;
  }
  EXPECT_EQ(places.held("a"), 1u);
  EXPECT_FALSE(places.enter("a", 1));
  EXPECT_TRUE(places.enter("b", 1));
  held.reset();
  EXPECT_TRUE(places.enter("a", 1));
}

TEST(Sharing, SessionsByTheHeadersOfAgents) {
  http::Headers headers;
  EXPECT_EQ(session_of(headers), "");
  headers.add("X-Conversation-Id", "c");
  EXPECT_EQ(session_of(headers), "c");
  headers.add("session_id", "codex");
  EXPECT_EQ(session_of(headers), "codex");
  headers.add("x-session-id", "");
  headers.add("X-Session-Affinity", "opencode");
  EXPECT_EQ(session_of(headers), "opencode");
}

}  // namespace
}  // namespace corral::api
