// Requests for models that several nodes hold together: they wait for the group, and are told why when it comes to
// nothing.
#include "fleet/requests/fleet_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::fleet {
namespace {

using State = SplitStatus::State;

class SplitLeaseProviderTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    a = &add("a");
    b = &add("b");
    route(*b, "m", {a});
    a->own("m");
  }
  // Its engine runs, and its group no longer holds the model.
  void stand() {
    a->group_held.clear();
    a->have("m");
    a->split("m", State::standing);
  }
  static std::string message(http::Response& response) { return response.body.text(); }

  Node* a = nullptr;
  Node* b = nullptr;
};

TEST_F(SplitLeaseProviderTest, ARequestWaitsForItsGroup) {
  a->split("m", State::making);
  auto answer = forward(*a, a->own("m"));
  pass(20'000ms);
  EXPECT_FALSE(answer.done());
  EXPECT_THAT(a->backend.servers(), IsEmpty()) << "nothing is loaded here alone";
  EXPECT_EQ(a->splits.waiting(), 1u);
  stand();
  pass(200ms);
  a->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, AStreamIsPingedMeanwhile) {
  a->split("m", State::making);
  auto answer = forward(*a, a->own("m"), true);
  pass(1200ms);
  ASSERT_TRUE(answer.done());
  auto client = reader(answer);
  pass(2000ms);
  EXPECT_THAT(client.text(), HasSubstr(": ping"));
  stand();
  pass(1500ms);
  a->request("m").send("data: 1\n\n");
  a->request("m").end();
  settle();
  EXPECT_THAT(client.text(), HasSubstr("data: 1"));
}

TEST_F(SplitLeaseProviderTest, WhatComesToNothingIsTold) {
  a->split("m", State::stuck, "b lends less than the 4.1 GiB that its share takes");
  auto answer = forward(*a, a->own("m"));
  pass(4000ms);
  EXPECT_FALSE(answer.done()) << "another try may do";
  pass(1500ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_EQ(answer.get().head.headers.get("Retry-After"), "5");
  EXPECT_THAT(text(answer), testing::AllOf(HasSubstr("no_capacity"), HasSubstr("b lends less than the 4.1 GiB")));
  // Who comes later needn't wait to hear it.
  auto late = forward(*a, a->own("m"));
  ASSERT_TRUE(late.done());
  EXPECT_EQ(late.get().head.status, 503u);
}

TEST_F(SplitLeaseProviderTest, AStreamThatWaitsInVainEndsWithOneFramedError) {
  a->split("m", State::making);
  auto answer = forward(*a, a->own("m"), true);
  pass(1200ms);
  auto client = reader(answer);
  a->split("m", State::stuck, "there is no link to b");
  pass(6000ms);
  const auto output = client.text();
  EXPECT_THAT(output, HasSubstr("there is no link to b"));
  EXPECT_EQ(output.find("\"error\""), output.rfind("\"error\""));
  EXPECT_THAT(output, testing::Not(HasSubstr("[DONE]")));
}

TEST_F(SplitLeaseProviderTest, NobodyWaitsForEver) {
  a->split("m", State::making);
  auto answer = forward(*a, a->own("m"));
  pass(95'000ms, 500ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_THAT(text(answer), HasSubstr("isn't ready yet"));
}

TEST_F(SplitLeaseProviderTest, AClientThatLeavesLeavesNothing) {
  a->split("m", State::making);
  {
    auto answer = forward(*a, a->own("m"));
    auto stream = forward(*a, a->own("m"), true);
    pass(3000ms);
    EXPECT_EQ(a->splits.waiting(), 2u);
  }
  settle();
  EXPECT_EQ(a->splits.waiting(), 0u);
}

TEST_F(SplitLeaseProviderTest, OnlySoManyWait) {
  a->split("m", State::making);
  std::vector<Pending<http::Response>> all;
  for (std::size_t i = 0; i < SplitTable::kMaxWaiting + 20; ++i) all.push_back(forward(*a, a->own("m")));
  pass(200ms);
  const auto refused = std::ranges::count_if(all, [](const auto& one) { return one.done(); });
  EXPECT_EQ(refused, 20);
  for (auto& one : all)
    if (one.done()) EXPECT_EQ(one.get().head.status, 503u);
  a->split("m", State::stuck, "it comes to nothing");
  pass(6000ms);
  for (auto& one : all) {
    ASSERT_TRUE(one.done());
    text(one);
  }
  EXPECT_EQ(a->splits.waiting(), 0u);
}

TEST_F(SplitLeaseProviderTest, OtherModelsDontWait) {
  a->split("m", State::making);
  a->have("n");
  auto answer = forward(*a, a->own("n"));
  a->request("n").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  text(answer);
}

TEST_F(SplitLeaseProviderTest, WhenItsEngineEndsARequestThatHeardNothingGoesToTheNext) {
  stand();
  auto answer = forward(*a, a->own("m"));
  // As it is: the router knows at once, the book a moment later.
  a->group_held.insert("m");
  a->server_of("m").die();
  settle();
  pass(500ms);
  EXPECT_FALSE(answer.done());
  EXPECT_EQ(a->backend.servers().size(), 1u) << "nobody loads it alone";
  a->split("m", State::making);
  pass(5000ms);
  EXPECT_FALSE(answer.done());
  stand();
  pass(300ms);
  ASSERT_FALSE(answer.done());
  a->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, AStreamThatHadBegunEndsWithOneFramedError) {
  stand();
  auto answer = forward(*a, a->own("m"), true);
  a->request("m").send("data: 1\n\n");
  settle();
  auto client = reader(answer);
  a->group_held.insert("m");
  a->server_of("m").die();
  settle();
  a->split("m", State::making);
  pass(3000ms);
  const auto output = client.text();
  EXPECT_THAT(output, HasSubstr("data: 1"));
  EXPECT_THAT(output, HasSubstr("backend_died"));
  EXPECT_EQ(a->splits.waiting(), 0u);
}

TEST_F(SplitLeaseProviderTest, AnEngineThatIsGoneThoughItIsSaidToStandIsntWaitedForLong) {
  a->split("m", State::standing);
  auto answer = forward(*a, a->own("m"));
  pass(3500ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, AGroupThatEndsLeavesTheModelToTheRouter) {
  a->split("m", State::making);
  a->backend.load_at_once = true;
  a->backend.reply = backends::FakeBackend::echo;
  auto answer = forward(*a, a->own("m"));
  pass(1000ms);
  EXPECT_FALSE(answer.done());
  a->group_held.clear();
  a->splits.set({});
  pass(500ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, TheRouterHearsOfTheEndAMomentLater) {
  a->split("m", State::making);
  auto answer = forward(*a, a->own("m"));
  a->splits.set({});  // and still it is held
  pass(500ms);
  EXPECT_FALSE(answer.done());
  a->backend.load_at_once = true;
  a->backend.reply = backends::FakeBackend::echo;
  a->group_held.clear();
  pass(500ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, RequestsOfOtherNodesWaitAtTheHost) {
  a->split("m", State::making);
  auto answer = forward(*b, far("m"));
  pass(10'000ms);
  EXPECT_FALSE(answer.done());
  EXPECT_EQ(a->splits.waiting(), 1u);
  stand();
  pass(300ms);
  a->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

// The host has a limit of requests of one node; more of them wait at their entry node. Some of them were refused at
// once, while earlier and later ones waited.
TEST_F(SplitLeaseProviderTest, AllRequestsOfANodeWaitHereOrThere) {
  a->split("m", State::making);
  b->set_host("m", *a);
  std::vector<Pending<http::Response>> all;
  for (std::size_t i = 0; i < PeerRequestLimits().max_requests + 4; ++i) all.push_back(forward(*b, far("m")));
  pass(1000ms);
  EXPECT_EQ(a->splits.waiting(), PeerRequestLimits().max_requests);
  EXPECT_EQ(b->splits.waiting(), 4u);
  EXPECT_EQ(std::ranges::count_if(all, [](const auto& one) { return one.done(); }), 0);
  all.clear();
  pass(500ms);
}

TEST_F(SplitLeaseProviderTest, AHostThatDiesWhileRequestsWaitThere) {
  a->split("m", State::making);
  auto answer = forward(*b, far("m"));
  pass(2000ms);
  EXPECT_EQ(a->splits.waiting(), 1u);
  kill(*a);
  pass(3000ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  text(answer);
  EXPECT_EQ(a->splits.waiting(), 0u);
}

// At nodes other than the host all of them were refused at once, and as too large where the file is.
TEST_F(SplitLeaseProviderTest, RequestsOfOtherNodesThatHeardNothingGoToTheNextEngine) {
  auto& c = add("c");
  c.own("m");
  c.backend.refused.emplace("m", Error(make_error_code(residency::errc::insufficient_memory), "too large"));
  route(c, "m", {a});
  stand();
  for (auto* entry : {b, &c}) entry->split("m", State::coming);
  std::vector<Pending<http::Response>> all;
  for (int i = 0; i < 8; ++i) {
    auto* entry = i % 2 == 0 ? b : &c;
    all.push_back(forward(*entry, i % 2 == 0 ? far("m") : c.own("m"), false, fmt::format(R"({{"n":{}}})", i)));
  }
  ASSERT_EQ(a->server_of("m").running(), 8u);
  a->group_held.insert("m");
  a->server_of("m").die();
  settle();
  a->split("m", State::making);
  pass(4000ms);
  for (const auto& one : all) EXPECT_FALSE(one.done());
  stand();
  pass(300ms);
  ASSERT_EQ(a->server_of("m").running(), 8u);
  for (const auto& request : a->server_of("m").requests())
    if (!request->over()) request->answer(200, "{}");
  settle();
  for (auto& one : all) {
    ASSERT_TRUE(one.done());
    EXPECT_EQ(one.get().head.status, 200u);
    text(one);
  }
}

// Its group is nowhere for a moment, and then at another host.
TEST_F(SplitLeaseProviderTest, WhenItsHostIsLostARequestWaitsForTheNextHost) {
  auto& c = add("c");
  stand();
  b->split("m", State::coming);
  auto answer = forward(*b, far("m"));
  kill(*a);
  route(*b, "m", {});
  pass(4000ms);
  EXPECT_FALSE(answer.done());
  c.have("m");
  route(*b, "m", {&c});
  pass(500ms);
  c.request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

// It was taken for a refusal, and the next host was not waited for.
TEST_F(SplitLeaseProviderTest, AHostThatHasJustLostItsGroupHasRefusedNothing) {
  auto& c = add("c");
  a->group_held.insert("m");  // and its book no longer has it
  b->set_host("m", *a);
  auto answer = forward(*b, far("m"));
  pass(500ms);
  EXPECT_FALSE(answer.done());
  c.have("m");
  route(*b, "m", {&c});
  pass(500ms);
  c.request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

TEST_F(SplitLeaseProviderTest, WhatItsHostRefusesIsToldAtOnce) {
  a->split("m", State::stuck, "b lends less than the 4.1 GB that its share takes");
  b->set_host("m", *a);
  pass(6000ms);
  auto answer = forward(*b, far("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_THAT(text(answer), HasSubstr("b lends less than the 4.1 GB"));
}

// Nobody's requests start a group, so none of them counts as a load.
TEST_F(SplitLeaseProviderTest, GroupsThatStartAgainAreNoLoadsOfANode) {
  for (int i = 0; i < 8; ++i) {
    a->split("m", State::making);
    auto answer = forward(*b, far("m"));
    pass(200ms);
    EXPECT_FALSE(answer.done()) << i;
  }
  pass(500ms);
}

// ---- before there is a group

TEST_F(SplitLeaseProviderTest, APlanThatIsComingIsWaitedForAWhile) {
  b->split("m", State::coming);
  route(*b, "m", {});
  auto answer = forward(*b, far("m"));
  pass(2000ms);
  EXPECT_FALSE(answer.done());
  // Members lend memory to what is asked for: so it is asked for while it waits, and counts once.
  ASSERT_EQ(b->demand.announced().size(), 1u);
  const auto asked = b->demand.announced().front().per_hour;
  route(*b, "m", {a});  // a hosts it now
  a->split("m", State::making);
  pass(1000ms);
  EXPECT_FALSE(answer.done());
  stand();
  pass(300ms);
  a->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
  EXPECT_LE(b->demand.announced().front().per_hour, asked);
}

TEST_F(SplitLeaseProviderTest, APlanThatDoesntComeIsntWaitedForLong) {
  b->split("m", State::coming);
  route(*b, "m", {});
  auto answer = forward(*b, far("m"));
  pass(11'000ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  text(answer);
}

// It isn't too large, and it isn't for ever.
TEST_F(SplitLeaseProviderTest, AModelOfThisNodeWhosePlanDoesntComeMayBeAskedForAgain) {
  route(*a, "m", {});
  a->split("m", State::coming);
  a->backend.refused.emplace("m", Error(make_error_code(residency::errc::insufficient_memory), "too large"));
  auto answer = forward(*a, a->own("m"));
  pass(11'000ms);
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_EQ(answer.get().head.headers.get("Retry-After"), "5");
  EXPECT_THAT(text(answer), HasSubstr("'m' is split over several nodes, and its group isn't ready yet"));
}

TEST_F(SplitLeaseProviderTest, WhatIsShortForAllTogetherIsTold) {
  b->split("m", State::unavailable, "it needs 40 GiB, 2 nodes lend 30 GiB together: 10 GiB short");
  route(*b, "m", {});
  auto answer = forward(*b, far("m"));
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 503u);
  EXPECT_THAT(text(answer), testing::AllOf(HasSubstr("no_capacity"), HasSubstr("10 GiB short")));
}

TEST_F(SplitLeaseProviderTest, AModelOfThisNodeThatFitsNowhereWaitsForItsPlan) {
  route(*a, "m", {});
  a->split("m", State::coming);
  a->backend.refused.emplace("m", Error(make_error_code(residency::errc::insufficient_memory), "too large"));
  auto answer = forward(*a, a->own("m"));
  pass(1000ms);
  EXPECT_FALSE(answer.done());
  a->backend.refused.clear();
  a->split("m", State::making);
  pass(1000ms);
  EXPECT_FALSE(answer.done());
  stand();
  pass(500ms);
  ASSERT_FALSE(answer.done());
  a->request("m").answer(200, "{}");
  settle();
  ASSERT_TRUE(answer.done());
  EXPECT_EQ(answer.get().head.status, 200u);
  text(answer);
}

}  // namespace
}  // namespace corral::fleet
