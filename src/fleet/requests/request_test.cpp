// Requests that go from one node to another: what passes, what doesn't, and what is left behind (nothing).
#include <filesystem>

#include "fleet/requests/fleet_fixture_for_tests.h"
#include "http/sse.h"
#include "protocol/client_tag.h"

namespace corral::fleet {
namespace {

class RequestTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    a = &add("a");
    b = &add("b");
    route(*a, "m", {b});
  }
  Node* a = nullptr;
  Node* b = nullptr;
};

TEST_F(RequestTest, IsAnsweredByTheNodeThatHasTheModel) {
  b->have("m");
  auto answer = forward(*a, far("m"), false, R"({"messages":[]})");
  ASSERT_FALSE(answer.done());
  auto& asked = b->request("m");
  EXPECT_EQ(asked.head().target, "/v1/chat/completions");
  EXPECT_EQ(asked.body(), R"({"messages":[]})");
  EXPECT_EQ(asked.head().headers.get("Content-Type"), "application/json");
  EXPECT_EQ(asked.head().headers.get("X-Request-Id"), "req-1");
  EXPECT_EQ(b->leases(), 1u);
  EXPECT_EQ(b->peers.holds[a->id()].size(), 1u);
  EXPECT_EQ(a->calls.busy().at(b->id()), 1u);
  asked.answer(200, R"({"text":"hello"})");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  EXPECT_EQ(text(answer), R"({"text":"hello"})");
  EXPECT_EQ(b->leftovers(), "");
  EXPECT_EQ(a->leftovers(), "");
  EXPECT_THAT(a->backend.servers(), IsEmpty());
}

// Where it came in, and nowhere else: who sums up all nodes counts it once.
TEST_F(RequestTest, CountsAsDemandAtItsEntry) {
  b->backend.reply = backends::FakeBackend::echo;
  b->have("m");
  for (int i = 0; i < 4; ++i) {
    auto answer = forward(*a, far("m"));
    ASSERT_TRUE(answer.done());
    text(answer);
  }
  ASSERT_EQ(a->demand.announced().size(), 1u);
  EXPECT_EQ(a->demand.announced().front(), (mesh::Demand{"m", 8}));
  EXPECT_TRUE(b->demand.announced().empty());
}

TEST_F(RequestTest, StreamsPieceByPiece) {
  b->have("m");
  auto answer = forward(*a, far("m"), true);
  b->request("m").begin_stream();
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.headers.get("Content-Type"), "text/event-stream");
  auto client = reader(answer);
  for (int i = 0; i < 3; ++i) {
    b->request("m").send(http::sse_data(std::to_string(i)));
    settle();
    EXPECT_EQ(client.pieces().size(), static_cast<std::size_t>(i + 1));
  }
  EXPECT_EQ(b->peers.holds[a->id()].size(), 1u);
  b->request("m").send(std::string(http::kSseDone));
  b->request("m").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.text(), "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: [DONE]\n\n");
}

TEST_F(RequestTest, ManyUseTheConnectionsOfOthersBeforeThem) {
  b->backend.reply = backends::FakeBackend::echo;
  b->have("m");
  for (int i = 0; i < 20; ++i) {
    auto answer = forward(*a, far("m"));
    ASSERT_TRUE(answer.done());
    EXPECT_THAT(text(answer), HasSubstr(R"("model":"m")"));
  }
  EXPECT_EQ(a->peers.opened, 1);
}

// They stayed open until the next request to that node, which may never come.
TEST_F(RequestTest, ConnectionsToANodeThatIsGoneAreClosed) {
  b->backend.reply = backends::FakeBackend::echo;
  b->have("m");
  const auto open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open();
  auto answer = forward(*a, far("m"));
  EXPECT_THAT(text(answer), HasSubstr(R"("model":"m")"));
  EXPECT_GT(open(), before);
  EXPECT_EQ(a->calls.ways(), 1u);
  kill(*b);
  settle();
  EXPECT_EQ(open(), before);
  EXPECT_EQ(a->calls.ways(), 0u);
}

TEST_F(RequestTest, LoadsTheModelWherePingsTellOfTheWait) {
  b->own("m");
  auto answer = forward(*a, far("m"), true);
  EXPECT_FALSE(answer.done());
  pass(1100ms);
  ASSERT_TRUE(answer.done());
  auto client = reader(answer);
  pass(2000ms);
  EXPECT_THAT(client.pieces(), testing::Contains(": ping\n\n"));
  EXPECT_GE(client.pieces().size(), 2u);
  b->server_of("m").finish_load();
  settle();
  b->request("m").begin_stream();
  b->request("m").send("data: x\n\n");
  b->request("m").send(std::string(http::kSseDone));
  b->request("m").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), testing::EndsWith("data: x\n\ndata: [DONE]\n\n"));
}

TEST_F(RequestTest, EndsAtThePeerWhenItsClientLeaves) {
  b->have("m");
  {
    auto answer = forward(*a, far("m"));
    EXPECT_FALSE(b->request("m").dropped());
  }
  settle();
  EXPECT_TRUE(b->request("m").dropped());
  EXPECT_EQ(b->leftovers(), "");

  auto streaming = forward(*a, far("m"), true);
  b->request("m").begin_stream();
  b->request("m").send("data: x\n\n");
  settle();
  {
    auto client = reader(streaming);
    EXPECT_EQ(client.text(), "data: x\n\n");
    client.leave();
  }
  settle();
  EXPECT_TRUE(b->request("m").dropped());
}

TEST_F(RequestTest, GivesUpALoadThatNobodyWantsAnyMore) {
  b->own("m");
  {
    auto answer = forward(*a, far("m"));
    EXPECT_EQ(b->server_of("m").state(), backends::FakeServer::State::loading);
  }
  settle();
  EXPECT_EQ(b->server_of("m").state(), backends::FakeServer::State::gone);
}

TEST_F(RequestTest, PassesUploadsAndAnswersThatAreNoJson) {
  b->have("w", ModelType::transcription);
  b->have("s", ModelType::tts);
  route(*a, "w", {b});
  route(*a, "s", {b});
  class Form final : public http::BodySource {
   public:
    async::Task<Result<std::string_view>> read() override {
      co_return left_ > 0 ? std::string_view(left_-- > 1 ? "form " : "end") : std::string_view();
    }

   private:
    int left_ = 3;
  };
  auto answer = forward(*a, router::ForwardRequest{.model = far("w", ModelType::transcription),
                                                   .ask = protocol::Ask::transcription,
                                                   .content_type = "multipart/form-data; boundary=x",
                                                   .upload = std::make_unique<Form>()});
  auto& form = b->request("w");
  for (int i = 0; i < 9 && !form.upload_ended(); ++i) {
    form.read_more();
    settle();
  }
  std::string uploaded;
  for (const auto& piece : form.uploaded()) uploaded += piece;
  EXPECT_EQ(uploaded, "form form end");
  EXPECT_EQ(form.head().headers.get("Content-Type"), "multipart/form-data; boundary=x");
  form.answer(200, R"({"text":"said"})");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(text(answer), R"({"text":"said"})");

  auto speech =
      forward(*a, router::ForwardRequest{
                      .model = far("s", ModelType::tts), .ask = protocol::Ask::speech, .body = R"({"input":"hi"})"});
  b->request("s").begin_stream(200, "audio/wav");
  b->request("s").send("RIFF");
  settle();
  ASSERT_TRUE(speech.done());
  EXPECT_EQ(speech.get().head.headers.get("Content-Type"), "audio/wav");
  auto client = reader(speech);
  EXPECT_EQ(client.text(), "RIFF");
  b->request("s").send(": corral ended 1 1\n\n");  // sound may say anything
  b->request("s").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.text(), "RIFF: corral ended 1 1\n\n");
}

TEST_F(RequestTest, TellsWhoseItIsByNodeAndClient) {
  b->backend.reply = {};
  b->have("m");
  auto& c = add("c");
  route(c, "m", {b});
  const auto tag_of = [&](Node& at, const std::string& owner) {
    auto answer = forward(at, router::ForwardRequest{.model = far("m"), .body = "{}", .owner = router::OwnerId(owner)});
    auto& asked = b->request("m");
    auto tag = std::string(asked.head().headers.get(protocol::kClientTag));
    asked.answer(200, "{}");
    settle();
    return tag;
  };
  const auto first = tag_of(*a, "k1");
  EXPECT_EQ(tag_of(*a, "k1"), first);
  EXPECT_NE(tag_of(*a, "k2"), first);
  EXPECT_NE(tag_of(c, "k1"), first);
  EXPECT_EQ(first.size(), 16u);
}

TEST_F(RequestTest, NothingOfThePeersHeadReachesTheClient) {
  b->backend.reply = [](const auto&, const auto&, auto) {
    auto response = http::Response::json(418, "{}");
    response.head.headers.add("Set-Cookie", "a=b");
    response.head.headers.add("Access-Control-Allow-Origin", "*");
    response.head.headers.add("Retry-After", "3");
    return Result<http::Response>(std::move(response));
  };
  b->have("m");
  auto answer = forward(*a, far("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 418u);
  EXPECT_FALSE(answer.get().head.headers.has("Set-Cookie"));
  EXPECT_FALSE(answer.get().head.headers.has("Access-Control-Allow-Origin"));
  EXPECT_FALSE(answer.get().head.headers.has("X-Corral-Mishap"));
  EXPECT_EQ(answer.get().head.headers.get("Retry-After"), "3");
}

TEST_F(RequestTest, ALargeBodyAndALargeAnswerPass) {
  b->backend.reply = backends::FakeBackend::echo;
  b->have("m");
  const std::string large = "\"" + std::string(3 << 20, 'x') + "\"";
  auto answer = forward(*a, far("m"), false, large);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(text(answer).size(),
            large.size() + std::string_view(R"({"model":"m","path":"/v1/chat/completions","body":})").size());
}

// A reader that takes nothing slows the peer's backend; nothing piles up on the way.
TEST_F(RequestTest, ASlowReaderSlowsThePeer) {
  b->have("m");
  auto answer = forward(*a, far("m"), true);
  auto& asked = b->request("m");
  asked.begin_stream();
  const std::string piece = http::sse_data(std::string(64 * 1024, 'x'));
  for (int i = 0; i < 200; ++i) asked.send(piece);
  asked.end();
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(b->leases(), 1u);  // 13 MB don't fit on the way
  auto client = reader(answer);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.text().size(), 200 * piece.size());
}

TEST_F(RequestTest, OwnModelsAskNobody) {
  a->backend.reply = backends::FakeBackend::echo;
  a->have("m");
  auto answer = forward(*a, a->own("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  EXPECT_EQ(a->selector.asked, 0);
}

TEST_F(RequestTest, AModelThatHasNoRoomHereIsServedElsewhere) {
  b->backend.reply = backends::FakeBackend::echo;
  b->have("m");
  a->backend.never_fit.emplace("m", Error(make_error_code(residency::errc::insufficient_memory), "8 GB short"));
  auto answer = forward(*a, a->own("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  EXPECT_EQ(a->selector.asked, 1);
  // What is short here is said, where nobody has room.
  route(*a, "m", {});
  auto refused = forward(*a, a->own("m"));
  ASSERT_TRUE(refused.done());
  EXPECT_THAT(text(refused), HasSubstr("8 GB short"));
}

}  // namespace
}  // namespace corral::fleet
