// Requests through the forwarder: what the client sees, whatever happens to the backend meanwhile.
#include "router/forward/forwarder.h"

#include "backends/errors.h"
#include "http/sse.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class ForwarderTest : public RouterTest {
 protected:
  static constexpr bool kStream = true;

  backends::FakeRequest& request(const std::string& name) { return server(name).request(); }
  std::size_t leases() {
    std::size_t count = 0;
    for (const auto& entry : report().instances) count += entry.view.leases;
    return count;
  }
  static bool is_error_event(const std::string& piece) { return piece.starts_with("data: {\"error\":"); }
};

TEST_F(ForwarderTest, BodyAndPathPassUntouchedAndTheAnswerComesBack) {
  have("a");
  auto response = forward("a", !kStream, R"({"model": "a" ,"x":1})");
  EXPECT_EQ(request("a").body(), R"({"model": "a" ,"x":1})");
  EXPECT_EQ(request("a").head().target, "/v1/chat/completions");
  EXPECT_EQ(request("a").head().headers.get("X-Request-Id"), "req-1");
  EXPECT_EQ(request("a").head().headers.get("X-Corral-Client").size(), 16u);
  EXPECT_FALSE(response.done());
  EXPECT_EQ(leases(), 1u);
  request("a").answer(200, R"({"ok":true})");
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 200u);
  EXPECT_EQ(response.get().body.text(), R"({"ok":true})");
  EXPECT_EQ(leases(), 0u);
}

TEST_F(ForwarderTest, ErrorOfTheBackendPassesWithItsStatus) {
  have("a");
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    request("a").answer(400, R"({"error":{"message":"too long"}})");
    settle();
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 400u);
    EXPECT_EQ(response.get().body.text(), R"({"error":{"message":"too long"}})");
    EXPECT_EQ(leases(), 0u);
  }
}

TEST_F(ForwarderTest, StreamArrivesPieceByPieceAndHoldsItsLeaseToTheEnd) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\n");
  settle();
  ASSERT_TRUE(response.done());
  auto client = reader(response);
  EXPECT_THAT(client.pieces(), ElementsAre("data: 1\n\n"));
  request("a").send("data: 2\n\n");
  settle();
  EXPECT_THAT(client.pieces(), SizeIs(2));
  EXPECT_EQ(leases(), 1u);
  EXPECT_TRUE(report().instances.at(0).streaming);
  request("a").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(leases(), 0u);
  EXPECT_FALSE(report().instances.at(0).streaming);
}

TEST_F(ForwarderTest, WholeAnswerToAStreamRequestPassesToo) {
  have("a");
  auto response = forward("a", kStream);
  request("a").answer(200, "{}");
  settle();
  EXPECT_EQ(reader(response).text(), "{}");
}

// ---- waiting

TEST_F(ForwarderTest, LongLoadPingsEverySecondFromTheFirstOn) {
  auto response = forward("a", kStream);
  pass(900ms);
  EXPECT_FALSE(response.done());
  pass(100ms);
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 200u);
  EXPECT_EQ(response.get().head.headers.get("Content-Type"), "text/event-stream");
  auto client = reader(response);
  EXPECT_THAT(client.pieces(), ElementsAre(http::kSsePing));
  pass(2000ms);
  EXPECT_THAT(client.pieces(), SizeIs(3));

  server("a").finish_load();
  settle();
  request("a").send("data: 1\n\n");
  settle();
  EXPECT_TRUE(report().instances.at(0).streaming) << "a stream that had to wait for its load is one all the same";
  request("a").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.text(), ": ping\n\n: ping\n\n: ping\n\ndata: 1\n\n");
  EXPECT_FALSE(report().instances.at(0).streaming);
}

TEST_F(ForwarderTest, PingsComeAsOftenAsTheRequestWantsThem) {
  auto response = forward("a", kStream, "{}", 3000ms);
  pass(2900ms);
  EXPECT_FALSE(response.done());
  pass(100ms);
  ASSERT_TRUE(response.done());
  auto client = reader(response);
  pass(5900ms);
  EXPECT_THAT(client.pieces(), SizeIs(2));
  pass(100ms);
  EXPECT_EQ(client.text(), ": ping\n\n: ping\n\n: ping\n\n");
}

TEST_F(ForwarderTest, ARequestThatWantsNoPingsWaitsForItsStatus) {
  auto response = forward("a", kStream, "{}", 0ms);
  pass(60'000ms, 1000ms);
  EXPECT_FALSE(response.done());
  server("a").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 404u);
}

// Whatever an engine sends to keep a stream alive.
TEST_F(ForwarderTest, CommentsOfTheBackendPassUntouched) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send(": ping\n\n");
  settle();
  ASSERT_TRUE(response.done());
  auto client = reader(response);
  request("a").send(":\n\ndata: 1\n\n");
  request("a").end();
  settle();
  EXPECT_EQ(client.text(), ": ping\n\n:\n\ndata: 1\n\n");
}

TEST_F(ForwarderTest, FailureBeforeTheFirstByteHasAStatus) {
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    server("a").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
    settle();
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 404u);
    EXPECT_THAT(response.get().body.text(), HasSubstr("the file is gone"));
  }
}

TEST_F(ForwarderTest, FailureAfterPingsIsOneFramedErrorWithoutDone) {
  auto response = forward("a", kStream);
  pass(1000ms);
  auto client = reader(response);
  server("a").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
  settle();
  EXPECT_TRUE(client.ended());
  ASSERT_THAT(client.pieces(), SizeIs(2));
  EXPECT_TRUE(is_error_event(client.pieces()[1])) << client.pieces()[1];
  EXPECT_THAT(client.text(), testing::Not(HasSubstr("[DONE]")));
}

TEST_F(ForwarderTest, ErrorOfTheBackendAfterPingsIsAnEvent) {
  auto response = forward("a", kStream);
  pass(1000ms);
  auto client = reader(response);
  server("a").finish_load();
  settle();
  request("a").answer(400, R"({"error":{"message":"too long","code":"context_length_exceeded"}})");
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(is_error_event(client.pieces().back()));
  EXPECT_THAT(client.text(), HasSubstr("context_length_exceeded"));
}

// ---- a server that stops

TEST_F(ForwarderTest, WhatIsInterruptedSaysSo) {
  have("a");
  auto running = forward("a", kStream);
  request("a").send("data: 1\n\n");
  settle();
  auto middle = reader(running);
  auto whole = forward("a", false);
  auto waiting = forward("b", kStream);  // for what is busy
  pass(1000ms);
  auto reading = reader(waiting);
  forwarder->requests().interrupt();
  auto late = forward("a", false);
  settle();
  for (auto* const client : {&reading, &middle}) {
    EXPECT_TRUE(client->ended());
    ASSERT_FALSE(client->pieces().empty());
    EXPECT_TRUE(is_error_event(client->pieces().back()));
    EXPECT_THAT(client->text(), HasSubstr("shutting_down"));
  }
  for (auto* const answer : {&whole, &late}) {
    ASSERT_FALSE(answer->running());
    EXPECT_EQ(answer->get().head.status, 503u);
  }
}

// ---- clients that leave

TEST_F(ForwarderTest, ClientGoneWhileLoadingAbortsTheLoad) {
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    EXPECT_THAT(backend.alive(), ElementsAre("a"));
    response.cancel();
    settle();
    EXPECT_FALSE(response.running());
    EXPECT_THAT(backend.alive(), IsEmpty());
  }
}

TEST_F(ForwarderTest, ClientGoneBetweenPingsAbortsTheLoad) {
  auto response = forward("a", kStream);
  pass(1000ms);
  auto client = reader(response);
  pass(1500ms);
  client.leave();
  settle();
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ForwarderTest, ClientGoneCancelsTheRequestAtTheBackend) {
  have("a");
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    EXPECT_EQ(server("a").running(), 1u);
    response.cancel();
    settle();
    EXPECT_TRUE(request("a").dropped());
    EXPECT_EQ(leases(), 0u);
  }
}

TEST_F(ForwarderTest, ClientGoneInTheMiddleOfAStreamCancelsIt) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\n");
  settle();
  auto client = reader(response);
  client.leave();
  settle();
  EXPECT_TRUE(request("a").dropped());
  EXPECT_EQ(leases(), 0u);
}

TEST_F(ForwarderTest, AnswerThatNobodyReadsGivesItsLeaseBack) {
  have("a");
  {
    auto response = forward("a", kStream);
    request("a").send("data: 1\n\n");
    settle();
    EXPECT_EQ(leases(), 1u);
  }
  settle();
  EXPECT_TRUE(request("a").dropped());
  EXPECT_EQ(leases(), 0u);
}

// ---- backends that die

TEST_F(ForwarderTest, WholeRequestIsAskedOnceMoreWhenItsBackendDies) {
  have("a");
  auto response = forward("a");
  server("a").die();
  settle();
  EXPECT_FALSE(response.done());
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  request("a").answer(200, "{}");
  settle();
  EXPECT_EQ(response.get().head.status, 200u);
}

TEST_F(ForwarderTest, WholeRequestWhoseBackendDiesTwiceIsTold) {
  have("a");
  auto response = forward("a");
  server("a").die();
  settle();
  server("a").finish_load();
  settle();
  server("a").die();
  settle();
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 502u);
  EXPECT_THAT(response.get().body.text(), HasSubstr("backend_died"));
  EXPECT_EQ(backend.loads("a"), 2u);
}

TEST_F(ForwarderTest, StreamIsAskedOnceMoreWhenNoByteWentOut) {
  have("a");
  auto response = forward("a", kStream);
  server("a").die();
  settle();
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  request("a").send("data: 1\n\n");
  request("a").end();
  settle();
  EXPECT_EQ(reader(response).text(), "data: 1\n\n");
}

TEST_F(ForwarderTest, StreamWhoseHeadWentOutIsAskedOnceMoreToo) {
  have("a");
  auto response = forward("a", kStream);
  request("a").begin_stream();
  settle();
  auto client = reader(response);
  server("a").die();
  settle();
  server("a").finish_load();
  settle();
  request("a").send("data: 1\n\n");
  request("a").end();
  settle();
  EXPECT_EQ(client.text(), "data: 1\n\n");
  EXPECT_TRUE(client.ended());
}

TEST_F(ForwarderTest, StreamIsNeverAskedAThirdTime) {
  have("a");
  auto response = forward("a", kStream);
  for (int i = 0; i < 3 && !response.done(); ++i) {
    server("a").die();
    settle();
    if (server("a").state() == backends::FakeServer::State::loading) server("a").finish_load();
    settle();
  }
  EXPECT_EQ(backend.loads("a"), 2u);
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 502u);
}

TEST_F(ForwarderTest, StreamThatWasAskedAgainAfterItsHeadIsNotAskedAThirdTime) {
  have("a");
  auto response = forward("a", kStream);
  server("a").die();
  settle();
  server("a").finish_load();
  settle();
  request("a").begin_stream();
  settle();
  auto client = reader(response);
  server("a").die();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(is_error_event(client.pieces().back()));
  EXPECT_EQ(backend.loads("a"), 2u);
}

TEST_F(ForwarderTest, StreamThatBreaksAfterBytesEndsInOneFramedError) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\n");
  settle();
  auto client = reader(response);
  server("a").die();
  settle();
  EXPECT_TRUE(client.ended());
  ASSERT_THAT(client.pieces(), SizeIs(2));
  EXPECT_TRUE(is_error_event(client.pieces()[1]));
  EXPECT_THAT(client.pieces()[1], HasSubstr("backend_died"));
  EXPECT_THAT(backend.alive(), IsEmpty());
}

// A backend was killed between [DONE] and the end of the transfer: an error behind [DONE] would be one too much.
TEST_F(ForwarderTest, StreamThatBreaksBehindDoneHasLostNothing) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\ndata: [DO");
  settle();
  auto client = reader(response);
  request("a").send("NE]\n\n");
  settle();
  server("a").die();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.pieces(), ElementsAre("data: 1\n\n", "data: [DONE]\n\n"));
}

// The bytes of an event may come in two reads.
TEST_F(ForwarderTest, AnErrorNeverStandsInTheMiddleOfAnEvent) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\ndata: {\"id\":\"x");
  settle();
  auto client = reader(response);
  request("a").send("y\"}\n");
  settle();
  request("a").send("\ndata: {\"id\"");
  settle();
  server("a").die();
  settle();
  EXPECT_TRUE(client.ended());
  ASSERT_THAT(client.pieces(), SizeIs(3));
  EXPECT_EQ(client.pieces()[0], "data: 1\n\n");
  EXPECT_EQ(client.pieces()[1], "data: {\"id\":\"xy\"}\n\n");
  EXPECT_TRUE(is_error_event(client.pieces()[2]));
}

TEST_F(ForwarderTest, WhatEndsWithoutTheEndOfAnEventIsPassedOn) {
  have("a");
  auto response = forward("a", kStream);
  request("a").send("data: 1\n\ndata: 2\n");
  settle();
  auto client = reader(response);
  request("a").end();
  settle();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.text(), "data: 1\n\ndata: 2\n");
}

TEST_F(ForwarderTest, EightStreamsEndAtOnceWhenTheirBackendDies) {
  have("a");
  std::vector<Reader> clients;
  for (int i = 0; i < 8; ++i) {
    auto response = forward("a", kStream);
    request("a").send("data: 1\n\n");
    settle();
    clients.push_back(reader(response));
  }
  server("a").die();
  settle();
  for (const auto& client : clients) {
    EXPECT_TRUE(client.ended());
    EXPECT_TRUE(is_error_event(client.pieces().back()));
  }
}

// ---- connections that break while the process lives

TEST_F(ForwarderTest, BrokenConnectionOfALivingBackendIsToldAfterAShortWait) {
  have("a");
  for (const bool stream : {false, true}) {
    auto response = forward("a", stream);
    request("a").break_off();
    settle();
    EXPECT_FALSE(response.done());
    pass(2000ms);
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 502u);
    EXPECT_THAT(response.get().body.text(), HasSubstr("backend_unreachable"));
    EXPECT_THAT(backend.alive(), ElementsAre("a"));
  }
}

TEST_F(ForwarderTest, DeathThatIsNoticedAfterTheBrokenConnectionCountsAsOne) {
  have("a");
  auto response = forward("a");
  request("a").break_off();
  pass(500ms);
  server("a").die();
  settle();
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  request("a").answer(200, "{}");
  settle();
  EXPECT_EQ(response.get().head.status, 200u);
}

TEST_F(ForwarderTest, ErrorAnswerThatBreaksOffIsNotTakenForAnEmptyOne) {
  have("a");
  auto response = forward("a", kStream);
  request("a").begin_stream(503);
  request("a").send("{\"err");
  settle();
  request("a").break_off();
  settle();
  pass(2000ms);
  ASSERT_TRUE(response.done());
  EXPECT_EQ(response.get().head.status, 502u);
}

}  // namespace
}  // namespace corral::router
