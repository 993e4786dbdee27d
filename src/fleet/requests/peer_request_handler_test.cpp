// What peers may ask: canonical requests, so many of them, and nothing else.
#include "fleet/requests/fleet_fixture_for_tests.h"
#include "http/client.h"
#include "protocol/client_tag.h"

namespace corral::fleet {
namespace {

class PeerRequestHandlerTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    a = &add("a");
    b = &add("b");
    b->backend.reply = backends::FakeBackend::echo;
    b->have("m");
  }
  // As a member may send that says what it likes.
  Pending<http::Response> ask(std::string path, std::vector<http::Headers::Field> fields, std::string method = "POST",
                              std::string body = "{}") {
    http::Request request;
    request.head = {std::move(method), std::move(path), {}};
    request.head.headers.add("Content-Type", "application/json");
    for (const auto& [name, value] : fields) request.head.headers.set(name, value);
    request.body = http::Body(std::move(body));
    request.id = RequestId("from-a");
    request.peer = mesh::to_text(a->id());
    return run(b->handler->handle(std::move(request)));
  }
  unsigned status(std::string path, std::vector<http::Headers::Field> fields, std::string method = "POST") {
    auto answer = ask(std::move(path), std::move(fields), std::move(method));
    EXPECT_TRUE(answer.done());
    return answer.done() ? answer.get().head.status : 0;
  }
  const std::vector<http::Headers::Field> peer_fields{{"X-Corral-Held", "7"}, {"X-Corral-Model", "m"}};
  Node* a = nullptr;
  Node* b = nullptr;
};

TEST_F(PeerRequestHandlerTest, OpensForInferenceAlone) {
  EXPECT_EQ(status("/v1/chat/completions", peer_fields), 200u);
  EXPECT_EQ(status("/v1/tokenize", peer_fields), 200u);
  for (const auto* path : {"/v1/load", "/api/v1/load", "/v1/unload", "/internal/shutdown", "/v1/models", "/v1/mesh",
                           "/", "/v1/keys", "/metrics", "/v1/chat/completions/x", "/api/v1/chat/completions"}) {
    EXPECT_EQ(status(path, peer_fields), 404u) << path;
  }
  EXPECT_EQ(status("/v1/chat/completions", peer_fields, "GET"), 405u);
}

TEST_F(PeerRequestHandlerTest, WantsAnErrandThatMakesSense) {
  using Fields = std::vector<http::Headers::Field>;
  EXPECT_EQ(status("/v1/chat/completions", {}), 400u);
  EXPECT_EQ(status("/v1/chat/completions", Fields{{"X-Corral-Held", "7"}}), 400u);
  EXPECT_EQ(status("/v1/chat/completions", Fields{{"X-Corral-Held", "-7"}, {"X-Corral-Model", "m"}}), 400u);
  EXPECT_EQ(status("/v1/chat/completions",
                   Fields{{"X-Corral-Held", "7"}, {"X-Corral-Model", "m"}, {"X-Corral-Content", "../../etc"}}),
            400u);
  EXPECT_EQ(status("/v1/chat/completions",
                   Fields{{"X-Corral-Held", "7"}, {"X-Corral-Model", "m"}, {"X-Corral-Ping", "99999999999"}}),
            400u);
  EXPECT_EQ(status("/v1/chat/completions", Fields{{"X-Corral-Held", "7"}, {"X-Corral-Model", "/etc/passwd"}}), 421u);
  EXPECT_EQ(status("/v1/embeddings", peer_fields), 421u);  // another type of model
}

TEST_F(PeerRequestHandlerTest, OnlyWhatIsCanonicalReachesTheBackend) {
  b->backend.reply = {};
  auto answer = ask("/v1/chat/completions", {peer_fields[0],
                                             peer_fields[1],
                                             {"Authorization", "Bearer x"},
                                             {"X-Forwarded-For", "1.2.3.4"},
                                             {std::string(protocol::kClientTag), std::string(10'000, 't')}});
  auto& asked = b->request("m");
  EXPECT_FALSE(asked.head().headers.has("Authorization"));
  EXPECT_FALSE(asked.head().headers.has("X-Forwarded-For"));
  EXPECT_FALSE(asked.head().headers.has("X-Corral-Held"));
  EXPECT_EQ(asked.head().headers.get(protocol::kClientTag).size(), 16u);
  EXPECT_EQ(b->handler->requests().list().at(0).owner.value(), mesh::to_text(a->id()) + "/" + std::string(64, 't'));
  asked.answer(200, "{}");
  settle();
}

TEST_F(PeerRequestHandlerTest, APeerNeverDecidesHowAModelIsLoaded) {
  auto fields = peer_fields;
  fields.push_back({"X-Corral-Context", "1000000"});
  auto answer = ask("/v1/chat/completions", fields);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_EQ(answer.get().head.headers.get("X-Corral-Mishap"), "unbegun");
  EXPECT_EQ(b->backend.loads("m"), 1u);
}

TEST_F(PeerRequestHandlerTest, ANodeHasSoManyRequestsAtATime) {
  b->backend.reply = {};
  std::vector<Pending<http::Response>> running;
  for (int i = 0; i < 32; ++i) running.push_back(ask("/v1/chat/completions", peer_fields));
  auto refused = ask("/v1/chat/completions", peer_fields);
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().head.status, 503u);
  EXPECT_EQ(refused.get().head.headers.get("Retry-After"), "1");
  EXPECT_EQ(refused.get().head.headers.get("X-Corral-Mishap"), "unbegun");
  running.clear();
  settle();
  b->backend.reply = backends::FakeBackend::echo;
  EXPECT_EQ(status("/v1/chat/completions", peer_fields), 200u);
}

TEST_F(PeerRequestHandlerTest, ANodeHasSoManyModelsLoadedInAMinute) {
  b->backend.load_at_once = true;
  for (int i = 0; i < 6; ++i) {
    const auto name = fmt::format("model {}", i);
    b->own(name);
    http::Headers headers;
    write(headers, PeerRequestInfo{.held = 1, .model = name});
    const std::vector<http::Headers::Field> fields(headers.begin(), headers.end());
    auto answer = ask("/v1/chat/completions", fields);
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.get().head.status, i < 4 ? 200u : 503u) << i;
    if (i >= 4) EXPECT_EQ(answer.get().head.headers.get("X-Corral-Mishap"), "unbegun");
  }
  // Those that are in memory are asked as before.
  EXPECT_EQ(status("/v1/chat/completions", peer_fields), 200u);
}

TEST_F(PeerRequestHandlerTest, ManyWhoWaitForOneLoadAreOneLoad) {
  b->own("big");
  std::vector<Pending<http::Response>> waiting;
  for (int i = 0; i < 10; ++i)
    waiting.push_back(ask("/v1/chat/completions", {{"X-Corral-Held", "1"}, {"X-Corral-Model", "big"}}));
  EXPECT_EQ(b->peers.loads[a->id()], 1);
  b->server_of("big").finish_load();
  settle();
  for (auto& one : waiting) {
    ASSERT_TRUE(one.done());
    EXPECT_EQ(one.get().head.status, 200u);
  }
}

TEST_F(PeerRequestHandlerTest, TwoAtOnceForOneModelAreNoWayAroundTheAllowance) {
  b->own("big");
  b->peers.loads[a->id()] = 4;
  auto one = ask("/v1/chat/completions", {{"X-Corral-Held", "1"}, {"X-Corral-Model", "big"}});
  auto two = ask("/v1/chat/completions", {{"X-Corral-Held", "2"}, {"X-Corral-Model", "big"}});
  ASSERT_TRUE(one.done() && two.done());
  EXPECT_EQ(one.get().head.status, 503u);
  EXPECT_EQ(two.get().head.status, 503u);
  EXPECT_EQ(b->backend.loads("big"), 0u);
}

TEST_F(PeerRequestHandlerTest, ABodyThatIsTooLargeLoadsNothing) {
  b->own("cold");
  auto answer = ask("/v1/chat/completions", {{"X-Corral-Held", "1"}, {"X-Corral-Model", "cold"}}, "POST",
                    std::string((32 << 20) + 1, ' '));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 413u);
  EXPECT_EQ(b->backend.loads("cold"), 0u);
}

TEST_F(PeerRequestHandlerTest, AStrangerIsNobody) {
  http::Request request;
  request.head = {"POST", "/v1/chat/completions", {}};
  request.peer = "unix";
  auto answer = run(b->handler->handle(std::move(request)));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 404u);
}

}  // namespace
}  // namespace corral::fleet
