// Nodes that go, lose a request, or say no: a request is asked again once before its first byte, passed to the next
// node when it wasn't begun, or ends with one error. It never hangs.
#include "fleet/requests/fleet_fixture_for_tests.h"
#include "fleet/requests/mesh_gateway.h"
#include "http/sse.h"

namespace corral::fleet {
namespace {

class FailureTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    a = &add("a");
    b = &add("b");
    c = &add("c");
    route(*a, "m", {b, c});
    b->own("m");
    c->own("m");
    beat();
  }
  void have_all() {
    b->have("m");
    c->have("m");
  }
  static async::Task<bool> closed(MeshGateway& traffic) {
    auto closing = traffic.close(0ms);
    co_await std::move(closing);
    co_return true;
  }
  static async::Task<bool> stopped_traffic(MeshGateway& traffic) {
    auto stopping = traffic.stop();
    co_await std::move(stopping);
    co_return true;
  }
  static void die(Node& node) { node.backend.server("m").die(); }

  Node* a = nullptr;
  Node* b = nullptr;
  Node* c = nullptr;
};

TEST_F(FailureTest, WhoDoesntHaveItIsPassedBy) {
  c->have("m");
  b->local_models.models.clear();
  for (const bool stream : {false, true}) {
    auto answer = forward(*a, far("m"), stream);
    c->request("m").answer(200, R"({"at":"c"})");
    settle();
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(text(answer), R"({"at":"c"})");
  }
  EXPECT_THAT(b->backend.servers(), IsEmpty());
}

TEST_F(FailureTest, AnotherContentOfThatNameIsPassedBy) {
  have_all();
  b->local_models.contents["m"] = std::string(64, 'b');
  c->local_models.contents["m"] = std::string(64, 'c');
  for (auto& chosen : a->selector.nodes["m"]) chosen.content = std::string(64, 'c');
  auto answer = forward(*a, far("m"));
  EXPECT_THAT(b->server_of("m").requests(), IsEmpty());
  c->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

// Whoever came second was told that another model loads, though nothing but that was in the way, and nobody else had
// it.
TEST_F(FailureTest, TwoPeersMayWantTwoModelsOfOneNodeAtOnce) {
  auto& d = add("d");
  b->own("n");
  route(*a, "m", {b});
  route(d, "n", {b});
  auto first = forward(*a, far("m"));
  auto second = forward(d, far("n"), true);
  pass(3000ms);
  EXPECT_EQ(b->backend.loads("n"), 0u);
  auto client = reader(second);
  EXPECT_THAT(client.text(), HasSubstr(": ping"));
  b->server_of("m").finish_load();
  pass(500ms);
  EXPECT_FALSE(client.ended());
  b->server_of("n").finish_load();
  settle();
  b->request("m").answer(200, "{}");
  b->request("n").answer(200, R"({"at":"b"})");
  settle();
  ASSERT_TRUE(first.done());
  EXPECT_EQ(first.get().head.status, 200u);
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), HasSubstr(R"({"at":"b"})"));
}

TEST_F(FailureTest, NobodyWaitsForAnothersLoadWhereAnotherNodeCan) {
  auto& d = add("d");
  for (auto* node : {b, c}) node->own("n");
  route(*a, "m", {b});
  route(d, "n", {b, c});
  auto first = forward(*a, far("m"));
  auto second = forward(d, far("n"));
  c->server_of("n").finish_load();
  settle();
  c->request("n").answer(200, "{}");
  settle();
  ASSERT_TRUE(second.done());
  EXPECT_EQ(second.get().head.status, 200u);
  EXPECT_EQ(b->backend.loads("n"), 0u);
}

TEST_F(FailureTest, SomebodyElsesLoadIsWaitedForAMinuteAtMost) {
  auto& d = add("d");
  auto large = std::make_shared<models::ModelInfo>(*b->own("m"));
  large->size = Bytes(100'000'000'000);  // it may load for long
  b->local_models.models["m"] = large;
  b->own("n");
  route(*a, "m", {b});
  route(d, "n", {b});
  auto first = forward(*a, far("m"));
  auto second = forward(d, far("n"));
  pass(59'000ms, 250ms);
  EXPECT_FALSE(second.done());
  pass(2'000ms);
  ASSERT_TRUE(second.done());
  EXPECT_EQ(second.get().head.status, 503u);
  EXPECT_EQ(second.get().head.headers.get("Retry-After"), "5");
  EXPECT_THAT(text(second), HasSubstr("another model loads"));
}

TEST_F(FailureTest, NobodyWaitsBehindALoadOfTheOwners) {
  b->own("n");
  route(*a, "n", {b});
  auto own = forward(*b, b->own("m"));
  auto asked = forward(*a, far("n"));
  ASSERT_TRUE(asked.done());
  EXPECT_EQ(asked.get().head.status, 503u);
}

TEST_F(FailureTest, WhenNobodyTakesItTheLastOneSaysWhy) {
  b->local_models.models.clear();
  c->backend.never_fit.emplace("m", Error(make_error_code(residency::errc::insufficient_memory), "3 GB short at c"));
  auto answer = forward(*a, far("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_THAT(text(answer), HasSubstr("3 GB short at c"));

  route(*a, "m", {});
  auto no_node = forward(*a, far("m"));
  ASSERT_TRUE(no_node.done());
  EXPECT_EQ(no_node.get().head.status, 503u);
  EXPECT_EQ(no_node.get().head.headers.get("Retry-After"), "7");
}

TEST_F(FailureTest, ALoadThatFailsBehindPingsIsTriedAtTheNextNode) {
  c->have("m");
  auto answer = forward(*a, far("m"), true);
  pass(2000ms);
  ASSERT_TRUE(answer.done());
  auto client = reader(answer);
  while (b->server_of("m").state() == backends::FakeServer::State::loading) {
    b->server_of("m").fail_load(Error(make_error_code(backends::errc::load_failed), "the file is no model"));
    settle();
  }
  ASSERT_EQ(c->server_of("m").running(), 1u) << client.text();
  c->request("m").begin_stream();
  c->request("m").send("data: c\n\n");
  c->request("m").send(std::string(http::kSseDone));
  c->request("m").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), testing::EndsWith("data: c\n\ndata: [DONE]\n\n"));
  EXPECT_THAT(client.text(), testing::Not(HasSubstr("error")));
  EXPECT_THAT(client.text(), testing::Not(HasSubstr("corral")));
}

TEST_F(FailureTest, ANodeThatGoesBeforeTheFirstByteIsReplaced) {
  have_all();
  for (const bool stream : {false, true}) {
    links.down.clear();
    b->alive = true;
    auto answer = forward(*a, far("m"), stream);
    EXPECT_EQ(b->server_of("m").running(), 1u);
    kill(*b);
    links.down.erase({c->id(), b->id()});
    settle();
    EXPECT_EQ(b->server_of("m").running(), 0u);  // it hears of it, too
    ASSERT_EQ(c->server_of("m").running(), 1u);
    c->request("m").answer(200, "{}");
    settle();
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.get().head.status, 200u);
    if (answer.get().body.streaming()) (void)reader(answer);
  }
}

// Told that it shuts down, the clients of others had that for an answer, though another node would do.
TEST_F(FailureTest, ANodeThatStopsIsReplacedBeforeTheFirstByte) {
  have_all();
  b->transport.detach();
  for (const bool stream : {false, true}) {
    MeshGatewayOptions options;
    options.server.timers = &timers;
    MeshGateway traffic(loop.executor(), pool, timers, *b->router, b->local_models, [] { return nullptr; }, options);
    traffic.transport().attach(b->peers);
    auto answer = forward(*a, far("m"), stream);
    EXPECT_EQ(b->server_of("m").running(), 1u);
    auto closing = run(closed(traffic));
    // What is left is cut by the system's clock.
    for (const auto limit = MonoClock::now() + 20s; !closing.done() && MonoClock::now() < limit;) settle();
    ASSERT_TRUE(closing.done());
    settle();
    EXPECT_EQ(b->server_of("m").running(), 0u);
    ASSERT_EQ(c->server_of("m").running(), 1u);
    c->request("m").answer(200, "{}");
    settle();
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.get().head.status, 200u);
    EXPECT_EQ(text(answer), "{}");
    settle();
    traffic.transport().detach();
    auto stopping = run(stopped_traffic(traffic));
    EXPECT_TRUE(stopping.done());
  }
  b->transport.attach(b->peers);
}

TEST_F(FailureTest, PingsAreNoBytes) {
  have_all();
  auto answer = forward(*a, far("m"), true);
  b->request("m").begin_stream();
  b->request("m").send(": ping\n\n");
  settle();
  auto client = reader(answer);
  EXPECT_EQ(client.text(), ": ping\n\n");
  kill(*b);
  settle();
  ASSERT_EQ(c->server_of("m").running(), 1u);
  c->request("m").begin_stream();
  c->request("m").send("data: c\n\n");
  c->request("m").send(std::string(http::kSseDone));
  c->request("m").end();
  settle();
  EXPECT_EQ(client.text(), ": ping\n\ndata: c\n\ndata: [DONE]\n\n");
}

TEST_F(FailureTest, AfterTheFirstByteThereIsOneFramedError) {
  have_all();
  auto answer = forward(*a, far("m"), true);
  b->request("m").begin_stream();
  b->request("m").send("data: b\n\n");
  settle();
  auto client = reader(answer);
  kill(*b);
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), testing::StartsWith("data: b\n\ndata: {\"error\""));
  EXPECT_THAT(client.text(), testing::Not(HasSubstr("[DONE]")));
  EXPECT_EQ(c->server_of("m").running(), 0u);
}

TEST_F(FailureTest, ThereIsOneReplayMeshWide) {
  have_all();
  auto answer = forward(*a, far("m"));
  kill(*b);
  settle();
  EXPECT_EQ(c->server_of("m").running(), 1u);
  kill(*c);
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 502u);
}

TEST_F(FailureTest, ARequestThatAPeerLostIsNoticedThoughTheLinkIsUp) {
  have_all();
  auto answer = forward(*a, far("m"));
  b->peers.holds.clear();  // it says so
  pass(1900ms);
  EXPECT_EQ(b->server_of("m").running(), 1u);
  pass(1200ms);
  EXPECT_EQ(b->server_of("m").running(), 0u);
  ASSERT_EQ(c->server_of("m").running(), 1u);
  c->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

TEST_F(FailureTest, ALongPrefillIsNoLoss) {
  have_all();
  auto answer = forward(*a, far("m"), true);
  pass(60'000ms, 500ms);
  EXPECT_EQ(b->server_of("m").running(), 1u);
  EXPECT_FALSE(answer.done());
  b->request("m").begin_stream();
  b->request("m").send("data: b\n\n");
  settle();
  auto client = reader(answer);
  pass(10'000ms, 500ms);
  b->request("m").send(std::string(http::kSseDone));
  b->request("m").end();
  settle();
  EXPECT_EQ(client.text(), "data: b\n\ndata: [DONE]\n\n");
}

// The peer has long forgotten what a slow reader hasn't read yet.
TEST_F(FailureTest, ASlowReaderLosesNothing) {
  have_all();
  auto answer = forward(*a, far("m"), true);
  b->request("m").begin_stream();
  for (int i = 0; i < 3; ++i) b->request("m").send("data: b\n\n");
  b->request("m").send(std::string(http::kSseDone));
  b->request("m").end();
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(b->leftovers(), "");
  pass(10'000ms, 500ms);
  EXPECT_THAT(text(answer), testing::EndsWith(http::kSseDone));
}

TEST_F(FailureTest, AnEngineThatDiesThereIsReplacedElsewhereAndCountsForTheRequest) {
  have_all();
  auto answer = forward(*a, far("m"), false, R"({"poison":1})");
  die(*b);
  settle();
  ASSERT_EQ(c->server_of("m").running(), 1u);
  die(*c);
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 502u);
  // Two ends: it is kept off, and no other node gets it.
  auto again = forward(*a, far("m"), false, R"({"poison":1})");
  ASSERT_TRUE(again.done());
  EXPECT_EQ(again.get().head.status, 503u);
  EXPECT_THAT(text(again), HasSubstr("request_ended_backend"));
  // Others aren't.
  c->have("m");
  auto other = forward(*a, far("m"), false, R"({"sound":1})");
  EXPECT_FALSE(other.done());
  for (auto* node : {b, c}) {
    if (node->backend.servers().back()->alive() && node->server_of("m").running() > 0)
      node->request("m").answer(200, "{}");
  }
  if (!other.done() && b->server_of("m").alive() && b->server_of("m").requests().empty()) {
    b->server_of("m").finish_load();
    settle();
    b->request("m").answer(200, "{}");
  }
  settle();
  ASSERT_TRUE(other.done());
  EXPECT_EQ(other.get().head.status, 200u);
}

// There was nobody else to ask, so it was refused, though the node loads it again at once.
TEST_F(FailureTest, AnEngineThatDiesAtTheOnlyNodeIsLoadedAgain) {
  b->have("m");
  route(*a, "m", {b});
  auto answer = forward(*a, far("m"), false, R"({"sound":2})");
  die(*b);
  settle();
  ASSERT_FALSE(answer.done());
  b->server_of("m").finish_load();
  settle();
  b->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

TEST_F(FailureTest, AnEngineThatDiesInAStreamCountsToo) {
  have_all();
  for (auto* node : {b, c}) {
    auto answer = forward(*a, far("m"), true, R"({"poison":2})");
    auto& asked = node->request("m");
    asked.begin_stream();
    asked.send("data: x\n\n");
    settle();
    auto client = reader(answer);
    die(*node);
    settle();
    EXPECT_TRUE(client.ended());
    EXPECT_THAT(client.text(), testing::StartsWith("data: x\n\ndata: {\"error\""));
    EXPECT_THAT(client.text(), testing::Not(HasSubstr(": corral")));
    route(*a, "m", {c});
  }
  auto again = forward(*a, far("m"), true, R"({"poison":2})");
  ASSERT_TRUE(again.done());
  EXPECT_EQ(again.get().head.status, 503u);
}

TEST_F(FailureTest, TheLinkThatIsDownIsPassedBy) {
  c->have("m");
  links.down.insert({a->id(), b->id()});
  auto answer = forward(*a, far("m"));
  c->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

TEST_F(FailureTest, AnUploadThatNobodyPulledGoesToTheNextNode) {
  class Form final : public http::BodySource {
   public:
    explicit Form(int& pulls) : pulls_(pulls) {}
    async::Task<Result<std::string_view>> read() override {
      co_return ++pulls_ == 1 ? std::string_view("form") : std::string_view();
    }

   private:
    int& pulls_;
  };
  c->have("w", ModelType::transcription);
  route(*a, "w", {b, c});
  int pulls = 0;
  auto answer = forward(*a, router::ForwardRequest{.model = far("w", ModelType::transcription),
                                                   .ask = protocol::Ask::transcription,
                                                   .content_type = "multipart/form-data; boundary=x",
                                                   .upload = std::make_unique<Form>(pulls)});
  EXPECT_EQ(pulls, 0);
  auto& form = c->request("w");
  for (int i = 0; i < 9 && !form.upload_ended(); ++i) {
    form.read_more();
    settle();
  }
  EXPECT_THAT(form.uploaded(), testing::Contains("form"));
  form.answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
}

}  // namespace
}  // namespace corral::fleet
