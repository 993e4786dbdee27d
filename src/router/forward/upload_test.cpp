// Requests and answers that aren't JSON: a form that is pulled as the backend reads it, sound and pictures that pass as
// the client takes them.
#include "http/errors.h"
#include "http/passing.h"
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

// What a client sends, piece by piece; knows how much was taken.
class Sender final : public http::BodySource {
 public:
  struct State {
    std::vector<Result<std::string>> pieces;
    std::size_t taken = 0;
    bool dropped = false;
  };
  explicit Sender(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Sender() override { state_->dropped = true; }
  async::Task<Result<std::string_view>> read() override {
    auto& state = *state_;
    if (state.taken == state.pieces.size()) co_return std::string_view();
    const auto& piece = state.pieces[state.taken++];
    if (!piece) co_return std::unexpected(piece.error());
    co_return std::string_view(*piece);
  }

 private:
  const std::shared_ptr<State> state_;
};

class UploadTest : public RouterTest {
 protected:
  static constexpr const char* kForm = "multipart/form-data; boundary=x";

  auto upload(std::vector<Result<std::string>> pieces) {
    sent = std::make_shared<Sender::State>();
    sent->pieces = std::move(pieces);
    ForwardRequest request{.model = model("w"),
                           .ask = protocol::Ask::transcription,
                           .id = RequestId("req-1"),
                           .content_type = kForm,
                           .upload = std::make_unique<Sender>(sent)};
    return run(answered(forwarder->forward(std::move(request))));
  }
  auto speech() {
    ForwardRequest request{
        .model = model("w"), .ask = protocol::Ask::speech, .body = R"({"input":"hi"})", .id = RequestId("req-1")};
    return run(answered(forwarder->forward(std::move(request))));
  }
  backends::FakeRequest& request() { return server("w").request(); }
  // The backend reads one more piece.
  void read_more() {
    request().read_more();
    settle();
  }
  std::size_t leases() { return report().instances.at(0).view.leases; }

  std::shared_ptr<Sender::State> sent;
};

TEST_F(UploadTest, AFormIsPulledAsItIsReadAndSoundComesBackAsItIsTaken) {
  have("w");
  auto response = upload({"--x\r\n", "sound", "--x--"});
  EXPECT_EQ(request().head().target, "/v1/audio/transcriptions");
  EXPECT_EQ(request().head().headers.get("Content-Type"), kForm);
  EXPECT_EQ(sent->taken, 0u) << "nothing is read ahead of the backend";
  read_more();
  EXPECT_EQ(sent->taken, 1u);
  read_more();
  read_more();
  read_more();
  EXPECT_TRUE(request().upload_ended());
  EXPECT_THAT(request().uploaded(), ElementsAre("--x\r\n", "sound", "--x--"));

  const std::string bytes("\0\xff\r\n", 4);
  request().begin_stream(200, "audio/wav");
  request().send(bytes);
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.headers.get("Content-Type"), "audio/wav");
  auto client = reader(response);
  EXPECT_THAT(client.pieces(), ElementsAre(bytes));
  EXPECT_EQ(leases(), 1u);
  request().end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(leases(), 0u);
}

TEST_F(UploadTest, WaitsForItsModelBeforeAnythingIsPulled) {
  auto response = upload({"a"});
  pass(5000ms);
  EXPECT_FALSE(response.done());
  EXPECT_EQ(sent->taken, 0u);
  server("w").finish_load();
  settle();
  read_more();
  EXPECT_EQ(sent->taken, 1u);
  request().answer(200, R"({"text":"hi"})");
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().body.text(), R"({"text":"hi"})");
}

TEST_F(UploadTest, AnAnswerBeforeTheEndIsTheAnswer) {
  have("w");
  auto response = upload({"a", "b"});
  read_more();
  request().answer(413, R"({"error":{"message":"too long"}})");
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 413u);
  EXPECT_EQ(sent->taken, 1u);
  EXPECT_TRUE(sent->dropped);
  EXPECT_EQ(leases(), 0u);
}

TEST_F(UploadTest, WhatIsWrongWithTheClientsBytesIsntTheBackendsFault) {
  have("w");
  auto response = upload({"a", fail(http::errc::too_large, "the body has more than 1 bytes")});
  read_more();
  read_more();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 413u);
  EXPECT_TRUE(request().dropped());
}

TEST_F(UploadTest, IsNeverSentTwice) {
  have("w");
  auto response = upload({"a", "b"});
  read_more();
  server("w").die();
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 502u);
  EXPECT_THAT(response.get().body.text(), HasSubstr("backend_died"));
  EXPECT_EQ(backend.loads("w"), 1u);
}

// An upload that is kept.
class KeptSender final : public http::ReplayableBody {
 public:
  explicit KeptSender(std::string key) : key_(std::move(key)) {}
  async::Task<Result<std::string_view>> read() override { co_return at_ < 2 ? kPieces[at_++] : std::string_view(); }
  void rewind() override { at_ = 0; }
  std::string_view key() const override { return key_; }

 private:
  static constexpr std::string_view kPieces[] = {"a", "b"};
  const std::string key_;
  std::size_t at_ = 0;
};

TEST_F(UploadTest, OneThatIsKeptIsSentOnceMoreAndNotForEver) {
  const auto upload_kept = [this] {
    ForwardRequest request{.model = model("w"),
                           .ask = protocol::Ask::transcription,
                           .id = RequestId("req-1"),
                           .content_type = kForm,
                           .upload = std::make_unique<KeptSender>("sound=1")};
    return run(answered(forwarder->forward(std::move(request))));
  };
  have("w");
  auto response = upload_kept();
  read_more();
  server("w").die();
  settle();
  EXPECT_FALSE(response.done()) << "a fresh process is asked";
  server("w").finish_load();
  settle();
  read_more();
  read_more();
  EXPECT_THAT(server("w").request().uploaded(), ElementsAre("a", "b")) << "from its beginning";
  server("w").die();
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 502u);
  EXPECT_EQ(backend.loads("w"), 2u);

  have("w");
  auto again = upload_kept();
  ASSERT_TRUE(again.done());
  EXPECT_EQ(again.get().head.status, 503u) << "it ended two processes";
  EXPECT_THAT(again.get().body.text(), HasSubstr("request_ended_backend"));
}

TEST_F(UploadTest, ManyThatEndedProcessesKeepNobodyOff) {
  for (int i = 0; i < 2; ++i) {
    have("w");
    auto response = upload({"a"});
    server("w").die();
    settle();
  }
  have("w");
  auto response = upload({"another one"});
  read_more();
  request().answer(200, "{}");
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 200u);
}

TEST_F(UploadTest, CanBeCancelled) {
  have("w");
  auto response = upload({"a", "b"});
  read_more();
  forwarder->requests().cancel(RequestId("req-1"));
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 499u);
  EXPECT_TRUE(request().dropped());
  EXPECT_TRUE(sent->dropped);

  auto answered = upload({"a"});
  request().begin_stream(200, "audio/wav");
  request().send("1");
  settle();
  auto client = reader(answered);
  forwarder->requests().cancel(RequestId("req-1"));
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), testing::StartsWith("1BROKEN")) << "a file that was cut doesn't look whole";
  EXPECT_TRUE(request().dropped());
  EXPECT_EQ(leases(), 0u);
}

TEST_F(UploadTest, WhoLeavesTakesTheRequestAlong) {
  have("w");
  {
    auto response = upload({"a", "b"});
    read_more();
    response.cancel();
    settle();
    EXPECT_TRUE(request().dropped());
    EXPECT_TRUE(sent->dropped);
  }
  auto response = speech();
  request().begin_stream(200, "audio/mpeg");
  request().send("1");
  settle();
  auto client = reader(response);
  client.leave();
  settle();
  EXPECT_TRUE(request().dropped());
  EXPECT_EQ(leases(), 0u);
}

TEST_F(UploadTest, AJsonRequestMayBeAnsweredWithBytes) {
  have("w");
  auto response = speech();
  EXPECT_EQ(request().head().target, "/v1/audio/speech");
  EXPECT_EQ(request().head().headers.get("Content-Type"), "application/json");
  request().begin_stream(200, "audio/mpeg");
  settle();
  ASSERT_TRUE(response.done()) << "bytes aren't collected";
  EXPECT_TRUE(report().instances.at(0).streaming);
  auto client = reader(response);
  request().send("1");
  settle();
  EXPECT_THAT(client.pieces(), ElementsAre("1"));
  request().break_off();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(leases(), 0u);
}

}  // namespace
}  // namespace corral::router
