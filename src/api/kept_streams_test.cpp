// Streams that go on when their client is away.
#include "api/api_fixture_for_tests.h"
#include "api/base/errors.h"

namespace corral::api {
namespace {

class KeptStreamsTest : public ApiTest {
 protected:
  std::unique_ptr<Pending> begin_stream(std::string_view conversation, std::string_view more = R"(,"stream":true)") {
    http::Request request;
    request.head.method = "POST";
    request.head.target = "/v1/chat/completions";
    request.head.headers.add(kConversationId, conversation);
    request.body =
        http::Body(R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}])" + std::string(more) + "}");
    request.id = RequestId("req-" + std::to_string(++requests_));
    return start(std::move(request));
  }
  backends::FakeRequest& asked() { return backend.server("tiny-llama").request(); }
  Answer stream(std::string_view conversation, int from = 0) {
    return get("/v1/stream?conv_id=" + std::string(conversation) + "&from=" + std::to_string(from));
  }
  // What is kept for five minutes has a sleeper.
  void forget(std::string_view conversation) {
    EXPECT_EQ(ask("DELETE", "/v1/stream?conv_id=" + std::string(conversation)).status, 204u);
    settle();
  }

 private:
  int requests_ = 0;
};

TEST_F(KeptStreamsTest, AClientThatComesBackReadsAllOfIt) {
  have("tiny-llama");
  auto client = begin_stream("a");
  asked().begin_stream();
  asked().send("data: 1\n\n");
  settle();
  client.reset();
  settle();
  EXPECT_FALSE(asked().dropped());
  asked().send("data: 2\n\n");
  settle();
  auto back = send("GET", "/v1/stream?conv_id=a");
  EXPECT_FALSE(got(*back)) << "it goes on";
  asked().send("data: [DONE]\n\n");
  asked().end();
  settle();
  const auto whole = got(*back);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->status, 200u);
  EXPECT_EQ(whole->text, "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n");
  EXPECT_EQ(stream("a", 9).text, "data: 2\n\ndata: [DONE]\n\n");
  forget("a");
  EXPECT_EQ(stream("a").error("code"), "stream_not_found");
}

TEST_F(KeptStreamsTest, WithoutTheHeaderALeavingClientEndsItsRequest) {
  have("tiny-llama");
  auto client = send("POST", "/v1/chat/completions",
                     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"stream":true})");
  client.reset();
  settle();
  EXPECT_TRUE(asked().dropped());
  auto whole = begin_stream("a", "");
  whole.reset();
  settle();
  EXPECT_TRUE(asked().dropped()) << "it doesn't stream";
  EXPECT_EQ(stream("a").status, 404u);
}

TEST_F(KeptStreamsTest, StoppingItEndsTheRequest) {
  have("tiny-llama");
  auto client = begin_stream("a");
  asked().begin_stream();
  asked().send("data: 1\n\n");
  settle();
  forget("a");
  EXPECT_TRUE(asked().dropped());
  const auto answer = got(*client);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, HasSubstr("cancelled"));
  forget("a");
}

TEST_F(KeptStreamsTest, BeforeTheModelIsThereItIsToBeAskedAgainOrStopped) {
  auto client = begin_stream("a");
  const auto early = stream("a");
  EXPECT_EQ(early.status, 503u);
  EXPECT_EQ(early.headers.get("Retry-After"), "1");
  forget("a");
  const auto answer = got(*client);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400u);
  EXPECT_THAT(answer->error("message"), HasSubstr("cancelled"));
}

TEST_F(KeptStreamsTest, AClientThatLeavesDuringTheLoadFindsItsAnswer) {
  auto client = begin_stream("a");
  client.reset();
  settle();
  backend.server("tiny-llama").finish_load();
  settle();
  asked().begin_stream();
  asked().send("data: 1\n\n");
  asked().end();
  settle();
  EXPECT_EQ(stream("a").text, "data: 1\n\n");
  forget("a");
}

TEST_F(KeptStreamsTest, TheNextTurnOfAConversationEndsTheOneBefore) {
  have("tiny-llama");
  auto first = begin_stream("a");
  auto& one = asked();
  one.begin_stream();
  one.send("data: 1\n\n");
  settle();
  auto second = begin_stream("a");
  settle();
  EXPECT_TRUE(one.dropped());
  asked().begin_stream();
  asked().send("data: 2\n\n");
  asked().end();
  settle();
  EXPECT_EQ(got(*second)->text, "data: 2\n\n");
  EXPECT_EQ(stream("a").text, "data: 2\n\n");
  forget("a");
}

TEST_F(KeptStreamsTest, WhatNobodyReadsEnds) {
  have("tiny-llama");
  auto client = begin_stream("a");
  asked().begin_stream();
  asked().send("data: 1\n\n");
  settle();
  client.reset();
  pass(300'100ms);
  asked().send("data: 2\n\n");
  settle();
  EXPECT_TRUE(asked().dropped());
  forget("a");
}

TEST_F(KeptStreamsTest, FiveMinutesAfterItsEndItIsForgotten) {
  have("tiny-llama");
  auto client = begin_stream("a");
  asked().begin_stream();
  asked().send("data: 1\n\n");
  asked().end();
  settle();
  pass(299'000ms);
  EXPECT_EQ(stream("a").status, 200u);
  pass(2'000ms);
  EXPECT_EQ(stream("a").status, 404u);
}

TEST_F(KeptStreamsTest, LookingUpTellsOfThoseThatAreAskedFor) {
  have("tiny-llama");
  auto one = begin_stream("a::m"), other = begin_stream("ab");
  for (const auto& request : backend.server("tiny-llama").requests()) {
    request->begin_stream();
    request->send("data: 1\n\n");
  }
  settle();
  const auto found = post("/v1/streams/lookup", R"({"conversation_ids":["a","nobody"]})").json();
  ASSERT_EQ(found.get_array().size(), 1u);
  EXPECT_EQ(json::text_or(found.get_array()[0], "conversation_id", ""), "a::m");
  EXPECT_EQ(json::number_or(found.get_array()[0], "total_bytes", 0), 9);
  EXPECT_EQ(post("/v1/streams/lookup", "{}").status, 400u);
  forget("a::m");
  forget("ab");
}

TEST_F(KeptStreamsTest, WhatIsWrongWithAPlaceIsSaid) {
  EXPECT_EQ(get("/v1/stream").error("param"), "conv_id");
  EXPECT_EQ(get("/v1/stream?conv_id=a&from=x").error("param"), "from");
  EXPECT_EQ(ask("DELETE", "/v1/stream").status, 400u);
}

// By themselves, with smaller limits.
class FewStreamsTest : public ApiTest {
 protected:
  struct Text final : http::BodySource {
    std::vector<std::string> pieces;
    std::size_t at = 0;
    bool ends = true;
    async::Event never;
    Text(async::Executor executor, std::vector<std::string> texts, bool with_end)
        : pieces(std::move(texts)), ends(with_end), never(executor) {}
    async::Task<Result<std::string_view>> read() override {
      if (at == pieces.size() && !ends) co_await never.wait();
      co_return at < pieces.size() ? std::string_view(pieces[at++]) : std::string_view();
    }
  };
  async::Task<http::Response> answer(std::vector<std::string> pieces, bool ends) {
    co_return http::Response::event_stream(std::make_unique<Text>(loop.executor(), std::move(pieces), ends));
  }
  static async::Task<Answer> whole(KeptStreams& streams, KeptStreams::Name name, async::Task<http::Response> task) {
    auto response = co_await streams.keep(std::move(name), std::move(task));
    auto text = co_await response.body.read_all(1 << 20);
    co_return Answer{response.head.status, {}, text ? *text : text.error().message};
  }
  static constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz";
  static std::vector<std::string> alphabet() { return {"abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx", "yz"}; }
  // What a client gets that rests for that time after each piece; then the message of an error, if any.
  static async::Task<std::string> read_all(http::Response response, Millis rest, async::Timers& clock) {
    std::string text;
    while (true) {
      const auto piece = co_await response.body.source()->read();
      if (!piece) co_return text + piece.error().message;
      if (piece->empty()) co_return text;
      text += *piece;
      if (rest > 0ms) co_await clock.sleep_for(rest);
    }
  }
  async::Task<std::string> keep_and_read(KeptStreams::Name name, Millis rest) {
    auto response = co_await streams.keep(std::move(name), answer(alphabet(), true));
    auto reading = read_all(std::move(response), rest, timers);
    co_return co_await std::move(reading);
  }
  std::unique_ptr<Pending> keep(KeptStreams::Name name, std::vector<std::string> pieces, bool ends = true) {
    auto pending = std::make_unique<Pending>(loop.executor(), "kept",
                                             whole(streams, std::move(name), answer(std::move(pieces), ends)));
    settle();
    return pending;
  }
  void stop_streams() {
    async::TaskGroup group(loop.executor());
    group.spawn("stop", streams.stop());
    settle();
    EXPECT_EQ(group.running(), 0u);
  }

  KeptStreams streams{timers, {.bytes = 8, .streams = 3, .of_one_key = 2, .age = 1000ms, .patience = 1000ms}};
};

TEST_F(FewStreamsTest, OnlyTheLastBytesAreKept) {
  auto asked = keep({"", "a"}, {"12345", "67890"});
  EXPECT_EQ(streams.read({"", "a"}, 0).error().code, errc::stream_lost);
  EXPECT_TRUE(streams.read({"", "a"}, 2));
  stop_streams();
}

TEST_F(FewStreamsTest, TheOldestThatHasEndedMakesRoomAndTheOthersDont) {
  auto a = keep({"k", "a"}, {"1"}, false), b = keep({"k", "b"}, {"1"}, false);
  auto c = keep({"k", "c"}, {"1"});
  EXPECT_EQ(got(*c)->text, "1") << "it has its answer";
  EXPECT_FALSE(streams.read({"k", "c"}, 0)) << "but isn't kept: both run";
  auto d = keep({"l", "d"}, {"1"});
  EXPECT_TRUE(streams.read({"l", "d"}, 0));
  EXPECT_FALSE(streams.read({"k", "d"}, 0)) << "somebody else's";
  auto e = keep({"l", "e"}, {"1"});
  EXPECT_FALSE(streams.read({"l", "d"}, 0)) << "there are three";
  EXPECT_TRUE(streams.read({"l", "e"}, 0));
  stop_streams();
  EXPECT_TRUE(got(*a)) << "its client is told";
}

// Many more bytes than are kept, at once; read in more time than a stream without a reader has.
TEST_F(FewStreamsTest, AReaderThatIsSlowGetsAllOfIt) {
  async::SpawnedTask<std::string> client(loop.executor(), "slow client", keep_and_read({"", "a"}, 400ms));
  settle();
  pass(400ms);
  // A second one, which comes back.
  auto again = streams.read({"", "a"}, 6);
  ASSERT_TRUE(again) << again.error().message;
  async::SpawnedTask<std::string> other(loop.executor(), "other client", read_all(std::move(*again), 400ms, timers));
  pass(3'000ms);
  stop_streams();
  EXPECT_EQ(client.take(), kAlphabet);
  EXPECT_EQ(other.take(), kAlphabet.substr(6));
}

TEST_F(FewStreamsTest, AFastReaderWaitsForASlowOne) {
  async::SpawnedTask<std::string> slow(loop.executor(), "slow client", keep_and_read({"", "a"}, 400ms));
  settle();
  auto second = streams.read({"", "a"}, 0);
  ASSERT_TRUE(second) << second.error().message;
  async::SpawnedTask<std::string> fast(loop.executor(), "fast client", read_all(std::move(*second), 0ms, timers));
  pass(4'000ms);
  stop_streams();
  EXPECT_EQ(slow.take(), kAlphabet);
  EXPECT_EQ(fast.take(), kAlphabet);
}

// A dead connection held up the stream of the client that had come back.
TEST_F(FewStreamsTest, AReaderThatTakesNothingHoldsUpNoOther) {
  async::SpawnedTask<http::Response> keeping(loop.executor(), "dead client",
                                             streams.keep({"", "a"}, answer(alphabet(), true)));
  settle();
  auto dead = keeping.take();
  auto second = streams.read({"", "a"}, 0);
  ASSERT_TRUE(second) << second.error().message;
  async::SpawnedTask<std::string> alive(loop.executor(), "client", read_all(std::move(*second), 0ms, timers));
  pass(900ms);
  EXPECT_EQ(streams.find("", std::vector<std::string>{"a"}).front().bytes, 6u) << "it may still read";
  pass(200ms);
  EXPECT_TRUE(streams.find("", std::vector<std::string>{"a"}).front().ended);
  EXPECT_EQ(alive.take(), kAlphabet);
  async::SpawnedTask<std::string> late(loop.executor(), "late client", read_all(std::move(dead), 0ms, timers));
  settle();
  EXPECT_EQ(late.take(), "the first 18 bytes of the stream are no longer stored: use from=18");
  stop_streams();
}

TEST_F(FewStreamsTest, TheOnlyReaderIsWaitedFor) {
  async::SpawnedTask<std::string> client(loop.executor(), "slow client", keep_and_read({"", "a"}, 5'000ms));
  settle();
  pass(30'000ms);
  stop_streams();
  EXPECT_EQ(client.take(), kAlphabet);
}

TEST_F(KeptStreamsTest, AStreamIsKeptForFiveMinutesFromTheMomentItsLastReaderLeft) {
  have("tiny-llama");
  auto client = begin_stream("a");
  asked().begin_stream();
  asked().send("data: 1\n\n");
  settle();
  pass(299'000ms);
  client.reset();
  settle();
  pass(2'000ms);
  asked().send("data: 2\n\n");
  settle();
  EXPECT_FALSE(asked().dropped()) << "its client left two seconds ago";
  pass(299'000ms);
  asked().send("data: 3\n\n");
  settle();
  EXPECT_TRUE(asked().dropped());
  forget("a");
}

TEST_F(FewStreamsTest, NothingIsKeptOnceTheServerStops) {
  stop_streams();
  auto a = keep({"", "a"}, {"1"});
  EXPECT_EQ(got(*a)->text, "1");
  EXPECT_FALSE(streams.read({"", "a"}, 0));
}

}  // namespace
}  // namespace corral::api
