// Whole lives of groups between nodes of one process.
#include "fleet/groups/group_engines.h"
#include "fleet/groups/group_fixture_for_tests.h"

namespace corral::fleet {
namespace {

TEST_F(GroupTest, AGroupStandsAndIsGivenBack) {
  auto &a = add(), &b = add();
  EXPECT_TRUE(a.want({&b}));
  EXPECT_TRUE(a.stands());
  ASSERT_TRUE(b.processes.worker);
  EXPECT_EQ(b.processes.worker->host, a.id);
  EXPECT_EQ(b.processes.worker->model_name, "m");
  EXPECT_EQ(b.processes.worker->bytes, 12u);
  EXPECT_FALSE(a.processes.worker) << "the host's own share is its engine's";
  EXPECT_EQ(b.noted(), mesh::to_text(a.id));
  EXPECT_EQ(a.noted(), "") << "what a node gives itself ends with it";
  ASSERT_EQ(a.processes.engines.size(), 1u);
  const auto& order = a.processes.engines.begin()->second.order;
  ASSERT_EQ(order.parts.size(), 1u);
  EXPECT_EQ(order.parts[0].remote.name, b.name);
  EXPECT_EQ(order.parts[0].remote.endpoint, "127.0.0.1:1");
  EXPECT_EQ(order.parts[0].remote.share, 10);
  EXPECT_EQ(order.own_share, 11);
  EXPECT_EQ(order.own_bytes, 12u);
  EXPECT_EQ(order.own_cache, 2u);
  EXPECT_THAT(a.processes.held, testing::ElementsAre("m.gguf"));
  ASSERT_TRUE(b.runner->shared());
  EXPECT_EQ(b.runner->shared()->host, a.id);
  EXPECT_TRUE(b.runner->shared()->ready);
  EXPECT_FALSE(a.runner->shared());
  pass(30'000ms);
  EXPECT_TRUE(a.stands()) << "its leases are renewed";
  EXPECT_EQ(a.processes.starts, 1);

  a.runner->end(a.plan({}).model);
  settle();
  EXPECT_EQ(a.state(), "none");
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
  EXPECT_TRUE(tunnels.empty());
  EXPECT_EQ(b.noted(), "nobody");
  EXPECT_FALSE(b.runner->shared());
}

TEST_F(GroupTest, OneOfThreeNodes) {
  auto &a = add(), &b = add(), &c = add();
  b.want({&a, &c});
  EXPECT_TRUE(b.stands());
  EXPECT_EQ(b.processes.engines.begin()->second.order.parts.size(), 2u);
  EXPECT_EQ(tunnels.size(), 2u);
  EXPECT_TRUE(a.processes.worker && c.processes.worker);
  EXPECT_EQ(a.processes.received_members.size(), 1u) << "who asks nobody knows nobody";
}

TEST_F(GroupTest, WhoIsToldIsToldOfEachChange) {
  auto &a = add(), &b = add();
  int changes = 0;
  a.runner->on_change([&] { ++changes; });
  a.want({&b});
  EXPECT_GT(changes, 0);
  changes = 0;
  pass(20'000ms);
  EXPECT_EQ(changes, 0) << "nothing changes in a group that stands";
  a.runner->on_change({});
}

TEST_F(GroupTest, AnEngineStartsWhenAllItsTunnelsAreOpen) {
  auto &a = add(), &b = add();
  b.processes.works = false;
  a.want({&b});
  EXPECT_EQ(a.state(), "standing");
  EXPECT_FALSE(a.stands());
  EXPECT_TRUE(a.hosted()->under_way);
  EXPECT_EQ(a.processes.starts, 0);
  b.processes.make_ready();
  pass(100ms, 25ms);
  EXPECT_EQ(a.processes.starts, 1);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupTest, AllTunnelsOfAnEngineAreOpenedAtTheSameTime) {
  auto &a = add(), &b = add(), &c = add();
  b.processes.works = c.processes.works = false;
  a.want({&b, &c});
  EXPECT_EQ(tunnels_asked, 2);
  c.processes.make_ready();
  pass(100ms, 25ms);
  EXPECT_EQ(tunnels.size(), 1u);
  EXPECT_EQ(a.processes.starts, 0);
  b.processes.make_ready();
  pass(100ms, 25ms);
  ASSERT_EQ(a.processes.starts, 1);
  const auto& parts = a.processes.engines.begin()->second.order.parts;
  ASSERT_EQ(parts.size(), 2u) << "in the order of their layers, whichever was open first";
  EXPECT_EQ(parts[0].remote.name, b.name);
  EXPECT_EQ(parts[1].remote.name, c.name);
}

TEST_F(GroupTest, WhenOneTunnelCantBeHadNoneIsLeft) {
  auto &a = add(), &b = add(), &c = add(), &d = add();
  b.processes.works = false;  // its tunnel is still being opened
  d.processes.worker_fails = "namespaces are forbidden here";
  a.want({&b, &c, &d});
  EXPECT_EQ(tunnels_asked, 3);
  for (int steps = 0; steps < 100 && a.hosted()->refusal.empty(); ++steps) pass(100ms, 25ms);
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n4: namespaces are forbidden here"));
  EXPECT_EQ(a.processes.starts, 0);
  EXPECT_TRUE(tunnels.empty()) << "nobody waits for the others";
  EXPECT_TRUE(c.processes.worker);
}

// It would be waited for until the server ends.
TEST_F(GroupTest, ATunnelWhoseOpeningThrowsCountsAsOneThatCantBeHad) {
  auto &a = add(), &b = add(), &c = add();
  c.processes.works = false;
  tunnels_throw = true;
  a.want({&b, &c});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("something odd"));
  EXPECT_EQ(a.processes.starts, 0);
  EXPECT_TRUE(tunnels.empty());
  tunnels_throw = false;
  c.processes.works = true;
  c.processes.make_ready();
  for (int steps = 0; steps < 100 && !a.stands(); ++steps) pass(1000ms);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupTest, AnEngineGetsTheContextAndTheTimeThatItsPlanForetells) {
  auto &a = add(), &b = add();
  auto plan = a.plan({&b});
  plan.split.context = 32'768;
  plan.split.load_s = 100;
  a.runner->want(plan, mesh::PlanCause::ordered);
  settle();
  ASSERT_EQ(a.processes.engines.size(), 1u);
  const auto& order = a.processes.engines.begin()->second.order;
  EXPECT_EQ(order.context, 32'768u);
  EXPECT_EQ(order.deadline, 360s);
}

TEST(LoadDeadline, IsThatOfADiskOrOfThreeTimesWhatIsForetold) {
  mesh::SplitPlan plan;
  plan.host = mesh::test_key(1).id();
  EXPECT_EQ(load_deadline(plan), 60s);
  plan.shares = {{mesh::test_key(2).id(), 1, 1'000'000'000}, {plan.host, 1, 500'000'000}};
  EXPECT_EQ(load_deadline(plan), 90s) << "as a model of 1.5 GB has alone";
  plan.load_s = 50;  // over a slow link
  EXPECT_EQ(load_deadline(plan), 220s);
  plan.load_s = 1e300;
  EXPECT_LT(load_deadline(plan), std::chrono::hours(25));
}

TEST_F(GroupTest, TheLoadIsShown) {
  auto &a = add(), &b = add();
  a.processes.loads = false;
  a.want({&b});
  const auto of = a.hosted()->of;
  a.runner->reports().engine_progress(a.plan({}).model, of, 0.5);
  EXPECT_EQ(a.hosted()->load_progress, 0.5);
  a.processes.load_all();
  EXPECT_FALSE(a.hosted()->load_progress);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupTest, AWorkerThatDiesIsStartedAgainForTheNextEngine) {
  auto &a = add(), &b = add();
  a.want({&b});
  pass(61'000ms);
  b.processes.kill_worker();
  settle();
  EXPECT_FALSE(a.stands());
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("its connection broke"));
  pass(1000ms, 25ms);
  EXPECT_TRUE(a.stands());
  EXPECT_EQ(a.processes.starts, 2);
  EXPECT_EQ(b.processes.opens, 2);
  EXPECT_EQ(a.hosted()->of.term, 1u) << "nobody had to claim anew";
}

TEST_F(GroupTest, AWorkerThatCannotStartIsToldInItsOwnWords) {
  auto &a = add(), &b = add();
  b.processes.worker_fails = "namespaces are forbidden here";
  a.want({&b});
  pass(40'000ms, 100ms);
  EXPECT_FALSE(a.stands());
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n2: namespaces are forbidden here"));
  EXPECT_TRUE(a.hosted()->wrong_since);
  EXPECT_EQ(a.processes.starts, 0);
  EXPECT_LT(b.processes.opens, 16) << "not without end";
  b.processes.worker_fails.clear();
  pass(60'000ms, 100ms);
  EXPECT_TRUE(a.stands());
  EXPECT_FALSE(a.hosted()->wrong_since);
}

TEST_F(GroupTest, AnEngineThatCannotLoadIsGivenUpAfterAWhile) {
  auto &a = add(), &b = add();
  a.processes.fails = "the files are damaged";
  a.want({&b});
  pass(30'000ms);
  EXPECT_EQ(a.state(), "waiting");
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("its engine ended each time it was started: the files are damaged"));
  EXPECT_FALSE(b.processes.worker) << "others may have it";
}

TEST_F(GroupTest, AModelThatIsntOnTheDiskAnyMoreSaysSo) {
  auto &a = add(), &b = add();
  a.own_name.clear();
  a.want({&b});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("'m' is no longer on this node's disk"));
  EXPECT_EQ(a.processes.starts, 0);
}

TEST_F(GroupTest, ABlipCostsTheEngineAndNothingElse) {
  auto &a = add(), &b = add();
  a.want({&b});
  pass(61'000ms);
  cut(a, b);
  EXPECT_FALSE(a.stands());
  pass(3000ms);
  EXPECT_TRUE(b.processes.worker);
  EXPECT_TRUE(a.runner->lost(a.plan({}).model).empty());
  heal(a, b);
  pass(500ms);
  EXPECT_TRUE(a.stands());
  EXPECT_EQ(a.hosted()->of.term, 1u);
}

// An order for what stands already wasn't remembered, and was given back for idleness.
TEST_F(GroupTest, WhatIsOrderedWhileItStandsIsRememberedAndGoesOn) {
  auto &a = add(), &b = add();
  a.want({&b});
  ASSERT_TRUE(a.stands());
  EXPECT_FALSE(a.hosted()->by_hand);
  bool changed = false;
  a.runner->on_change([&] { changed = true; });
  EXPECT_FALSE(a.runner->want(a.plan({&b}), mesh::PlanCause::ordered, true));
  settle();
  EXPECT_TRUE(a.hosted()->by_hand);
  EXPECT_TRUE(changed);
  EXPECT_FALSE(a.runner->want(a.plan({&b}), mesh::PlanCause::demand));
  EXPECT_TRUE(a.hosted()->by_hand);
  EXPECT_EQ(a.processes.starts, 1);
  EXPECT_TRUE(a.stands());
  a.runner->on_change({});
}

TEST_F(GroupTest, ALongCutFreesTheWorkersNode) {
  auto &a = add(), &b = add();
  a.want({&b});
  cut(a, b);
  pass(11'000ms);
  EXPECT_FALSE(b.processes.worker);
  EXPECT_EQ(b.noted(), "nobody");
  EXPECT_EQ(a.runner->lost(a.plan({}).model), std::vector{b.id});
  EXPECT_EQ(a.runner->lost(), std::vector{b.id});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("no link to n2"));
  heal(a, b);
  pass(10'000ms);
  EXPECT_TRUE(a.stands());
  EXPECT_EQ(a.hosted()->of.term, 2u);
}

TEST_F(GroupTest, AHostThatEndsFreesItsNodesAtOnce) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  kill(a);
  EXPECT_FALSE(b.processes.worker);
  c.want({&b});
  EXPECT_TRUE(c.stands());
}

TEST_F(GroupTest, AHostThatIsOnlyCutOffKeepsItsNodes) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  cut(a, b);
  c.want({&b});
  EXPECT_FALSE(c.stands());
  EXPECT_THAT(c.hosted()->refusal, HasSubstr("another group has the memory of n2"));
}

TEST_F(GroupTest, WhatTheEndOfALinkSays) {
  using enum mesh::CloseReason;
  using mesh::LinkEnd;
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  // It said that it stops.
  cut(a, b, {stopping, true, {}});
  EXPECT_FALSE(b.processes.worker);
  heal(a, b);
  pass(5000ms);
  ASSERT_TRUE(a.stands());
  // Its connection broke long after it was heard last: this node stood still, say.
  stood_still += 5s;
  cut(a, b, {lost, false, {}});
  EXPECT_TRUE(b.processes.worker);
  (void)c;
}

TEST_F(GroupTest, TheOwnerGetsItsMemoryBack) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  const auto of = a.hosted()->of;
  b.runner->reports().recalled(a.id, of);
  settle();
  EXPECT_TRUE(b.runner->recalled());
  EXPECT_EQ(a.state(), "draining");
  EXPECT_FALSE(a.stands());
  EXPECT_TRUE(b.processes.worker) << "what runs may end";
  a.processes.requests = 0;
  a.processes.look_at_drains();
  settle();
  EXPECT_FALSE(b.processes.worker);
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("the owner of n2 wants its memory back"));
  pass(30'000ms);
  EXPECT_FALSE(b.processes.worker);
  EXPECT_TRUE(b.runner->recalled());
  b.runner->lend(50);  // says nothing against the owner
  settle();
  EXPECT_TRUE(b.runner->recalled());
  pass(120'000ms);
  EXPECT_FALSE(b.runner->recalled());
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupTest, WhatTheOwnerWantedBackIsLentAgainAfterAMinute) {
  auto &a = add(), &b = add();
  a.want({&b});
  b.runner->reports().recalled(a.id, a.hosted()->of);
  settle();
  EXPECT_FALSE(b.processes.worker);
  pass(59'000ms);
  EXPECT_TRUE(b.runner->recalled());
  EXPECT_FALSE(a.stands());
  EXPECT_EQ(b.processes.opens, 1);
  pass(2000ms);
  EXPECT_FALSE(b.runner->recalled());
  pass(60'000ms);  // who was refused asks again by lot
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupTest, WhatIsTakenBackMayBeHadAgain) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  b.runner->take_back();
  settle();
  EXPECT_FALSE(b.processes.worker);
  EXPECT_FALSE(b.runner->recalled()) << "it isn't its owner who wants it";
  pass(500ms);
  c.want({&b});
  pass(10'000ms);
  EXPECT_TRUE(a.stands() || c.stands());
}

TEST_F(GroupTest, WhoDoesntGiveItBackLosesIt) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  a.processes.stops = false;
  b.runner->reports().recalled(a.id, a.hosted()->of);
  pass(31'000ms);
  EXPECT_FALSE(b.processes.worker);
}

TEST_F(GroupTest, AnotherPlanDrainsFirst) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  a.processes.requests = 1;
  EXPECT_FALSE(a.want({&b})) << "it is the same plan";
  EXPECT_TRUE(a.want({&b, &c}));
  EXPECT_EQ(a.state(), "draining");
  EXPECT_TRUE(a.hosted()->under_way);
  pass(5000ms);
  EXPECT_EQ(a.processes.starts, 1);
  a.processes.requests = 0;
  a.processes.look_at_drains();
  settle();
  pass(5000ms);
  EXPECT_TRUE(a.stands());
  EXPECT_EQ(a.processes.engines.begin()->second.order.parts.size(), 2u);
}

TEST_F(GroupTest, WhatTheOwnerGaveUpIsntStartedAgain) {
  auto &a = add(), &b = add();
  a.want({&b});
  pass(61'000ms);
  a.processes.end(a.hosted()->of, EngineEnd::given_up, "unloaded");
  settle();
  EXPECT_EQ(a.state(), "none");
  EXPECT_FALSE(b.processes.worker);
  EXPECT_TRUE(a.processes.held.empty());
  pass(5000ms);
  EXPECT_EQ(a.processes.starts, 1);
}

TEST_F(GroupTest, AnEngineThatEndsIsForgottenByTheEndOfAnother) {
  auto &a = add(), &b = add();
  a.want({&b});
  const auto of = a.hosted()->of;
  a.processes.crash_all();
  a.runner->reports().engine_ended(a.plan({}).model, of, EngineEnd::crashed, "again");
  a.runner->reports().engine_started(a.plan({}).model, of);
  a.runner->reports().worker_reaped(b.id, of);
  settle();
  EXPECT_FALSE(a.stands());
}

// ---- time

TEST_F(GroupTest, AHostThatStoodStillStopsFirst) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.stops = false;
  stood_still += 15s;   // suspended: its clock goes on, its timers don't
  a.runner->lend(100);  // whatever happens first
  EXPECT_EQ(a.state(), "stopping");
  EXPECT_FALSE(a.stands());
}

TEST_F(GroupTest, ALifeThatIsLearntLateCounts) {
  auto &a = add(), &b = add();
  a.boot.epoch = 7;
  a.peers.listener->epoch_changed(a.boot);
  a.want({&b});
  EXPECT_TRUE(a.stands());
  EXPECT_EQ(a.hosted()->of.epoch, 7u);
}

// ---- who asks for too much

TEST_F(GroupTest, WhatIsRefusedIsSaidInWords) {
  auto &a = add(), &b = add();
  b.runner->lend(5);
  a.want({&b});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n2 lends less than the 12 B that its share takes"));
  EXPECT_FALSE(a.hosted()->under_way);
  a.runner->end(a.plan({}).model);
  settle();
  b.runner->lend(100);
  a.runner->lend(0);
  a.want({&b});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n1 lends less"));
}

TEST_F(GroupTest, ANodeThatSaysNothingIsNamed) {
  auto &a = add(), &b = add();
  deliver = false;
  a.want({&b});
  pass(3500ms);
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n2 gave no answer"));
  deliver = true;
}

TEST_F(GroupTest, PlansOfOthersArentHosted) {
  auto &a = add(), &b = add();
  EXPECT_FALSE(a.runner->want(b.plan({&a}), mesh::PlanCause::ordered));
  auto without = a.plan({&b});
  without.split.shares.pop_back();
  EXPECT_FALSE(a.runner->want(without, mesh::PlanCause::ordered));
  EXPECT_TRUE(a.runner->hosted().empty());
}

TEST_F(GroupTest, NonsenseIsPassedOver) {
  auto &a = add(), &b = add();
  for (const auto* bytes : {"", "x", "\x01\x02\x03"}) a.peers.listener->frame(b.id, {mesh::FrameKind::grant, bytes});
  a.peers.listener->frame(b.id, {mesh::FrameKind::pages, "x"});
  settle();
  EXPECT_FALSE(a.runner->shared());
}

TEST_F(GroupTest, NobodyGetsAWorkerThatIsAnothers) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  const auto of = a.hosted()->of;
  const auto ask = [&](mesh::NodeId host, mesh::PlanTerm term, const mesh::ContentKey& model) {
    auto answer = std::make_shared<std::optional<Result<std::string>>>();
    async::asio::co_spawn(loop.executor(), b.runner->worker_for(host, model, term),
                          [answer](const std::exception_ptr&, Result<std::string> got) { *answer = std::move(got); });
    settle();
    return *answer;
  };
  EXPECT_TRUE(ask(a.id, of, a.plan({}).model)->has_value());
  EXPECT_FALSE(ask(c.id, of, a.plan({}).model)->has_value());
  EXPECT_FALSE(ask(a.id, {of.epoch, of.term + 1}, a.plan({}).model)->has_value());
  EXPECT_FALSE(ask(a.id, of, {sha256({std::string_view("n")}), false})->has_value());
}

}  // namespace
}  // namespace corral::fleet
